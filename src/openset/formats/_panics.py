"""Panics: what Rust writes about a damaged file, kept off the screen.

Where the pages of a file contradict each other, polars panics. That is an exception, and becomes a
finding; but by then Rust has written a paragraph to stderr, past Python. So while polars decodes,
the descriptor leads to a file. What anybody else wrote there meanwhile is handed on once it is
over, unless decoding failed: then nobody can tell it from Rust's own words.

Not for what Python writes (`contextlib.redirect_stderr`), and not for a process that dies.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import IO

_STDERR = 2


@dataclass
class _Aside:
    """Stderr led aside as long as any thread asks for it: all of them share the descriptor."""

    lock: Lock = field(default_factory=Lock)
    users: int = 0
    failed: bool = False
    descriptor: int = -1
    file: IO[bytes] | None = None

    def begin(self) -> None:
        with self.lock:
            self.users += 1
            if self.users > 1:
                return
            self.failed = False
            try:
                self.file = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
                self.descriptor = os.dup(_STDERR)
                os.dup2(self.file.fileno(), _STDERR)
            except OSError:  # no room, or no stderr: not worth a refusal
                self._close()

    def end(self, *, failed: bool) -> None:
        with self.lock:
            self.users -= 1
            self.failed |= failed
            if self.users or self.file is None:
                return
            os.dup2(self.descriptor, _STDERR)
            self.file.seek(0)
            held = b"" if self.failed else self.file.read()
            self._close()
        with suppress(OSError):  # nobody listens any more
            while held:
                held = held[os.write(_STDERR, held) :]

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.file, self.descriptor = None, -1


_aside = _Aside()


@contextmanager
def unheard() -> Iterator[None]:
    """Lead stderr aside meanwhile; in several threads at once, until the last is done."""
    _aside.begin()
    failed = True
    try:
        yield
        failed = False
    finally:
        _aside.end(failed=failed)
