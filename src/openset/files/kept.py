"""What a command reads: nothing that it writes may take its place.

Readers note what they read, writers ask before they write. Links, other names of one file and
folders around it count.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from openset.findings import UsageError

PICTURES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
_kept: list[_Kept] = []


@dataclass
class _Kept:
    """What a command reads, and the folder that it writes, whose files are its own.

    Of folders in `pictures` it reads whichever pictures a ground truth names. `replaced` says what
    gave way to what it wrote.
    """

    paths: set[str]
    own: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    command: str = ""
    outputs: set[str] = field(default_factory=set)
    replaced: list[str] = field(default_factory=list)

    def holds(self, path: Path) -> bool:
        """Whether a path is one of them, by whatever name, or a folder that holds one."""
        try:
            there = path.stat()
        except (OSError, ValueError):  # nothing is there to be lost
            return False
        if stat.S_ISDIR(there.st_mode):
            inside = os.path.join(os.path.realpath(path), "")  # noqa: PTH118 - ends with a slash
            found = (os.path.realpath(kept) for kept in self.paths if os.path.exists(kept))  # noqa: PTH110
            return any(kept.startswith(inside) for kept in found)
        return any(_is(kept, there) for kept in (*self.paths, *self._pictures(path)))

    def _pictures(self, path: Path) -> Iterator[str]:
        """All files of the folders of pictures, where `path` is one, too: links have two names."""
        if path.suffix.lower() not in PICTURES:
            return
        for folder in self.pictures:
            for where, _, names in os.walk(folder):
                yield from (os.path.join(where, name) for name in names)  # noqa: PTH118 - many


def _is(path: str, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), there)  # noqa: PTH116
    except (OSError, ValueError):
        return False


@contextmanager
def keeping(
    paths: Iterable[str],
    own: Iterable[str] = (),
    pictures: Iterable[str] = (),
    command: str = "",
) -> Iterator[list[str]]:
    """Meanwhile nothing that is read is overwritten; gives a list of what is replaced, as it grows.

    Args:
        paths: What a command was given to read.
        own: What it was given to write; what it reads in there it may replace.
        pictures: Folders in which no picture is replaced.
        command: The command line, which files that are written remember.
    """
    outputs = set(map(os.path.realpath, own))
    inside = tuple(path + os.sep for path in outputs)
    _kept.append(_Kept(set(paths), inside, tuple(pictures), command, outputs))
    try:
        yield _kept[-1].replaced
    finally:
        _kept.pop()


def command_given() -> str:
    """The command line that is being run, if one is."""
    return _kept[-1].command if _kept else ""


def note_output(path: Path) -> None:
    """A file is what a command was asked for, beside those that it was given to write."""
    if _kept:
        _kept[-1].outputs.add(os.path.realpath(path))


def is_output(path: Path) -> bool:
    """Whether a command was asked for this file, by the path that links lead to."""
    return bool(_kept) and os.fspath(path) in _kept[-1].outputs


def note_replaced(said: str) -> None:
    """Something other than the same gives way to what the command writes."""
    if _kept:
        _kept[-1].replaced.append(said)


def note_read(path: Path) -> None:
    """A file is read: the command that reads it must not write over it."""
    if _kept and not os.path.realpath(path).startswith(_kept[-1].own or ("\0",)):
        _kept[-1].paths.add(os.fspath(path))


def refuse_kept(path: Path) -> None:
    """Refuse to write over what is read: through a link, under another name, or around it."""
    if _kept and _kept[-1].holds(path):
        what = "holds an input that" if path.is_dir() else "is an input and"
        raise UsageError(f"{path} {what} would be overwritten; write elsewhere")
