"""A command line that has run, and what of its words is the same every time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Done:
    """A command line that has run; it unpacks as exit code, stdout and stderr."""

    command: str
    code: int
    out: str
    err: str

    def __iter__(self) -> Iterator[Any]:
        return iter((self.code, self.out, self.err))

    @property
    def json(self) -> Any:
        """The one object that ``--json`` printed."""
        return json.loads(self.out)

    def text(self) -> str:
        """The snapshot; one more plug-in or verb is no reason for another."""
        err = re.sub(r"(Known|Available commands):[^\n]*(\n    [^\n]*)*", r"\1: ...", self.err)
        return f"$ {self.command}\nexit {self.code}\n--- stdout\n{self.out}--- stderr\n{err}"


def steady(text: str, folder: Path) -> str:
    """A text without what differs between two runs: the folder, seconds and megabytes."""
    text = text.replace(str(folder), "TMP")
    text = re.sub(r"in \d+\.\d s\b", "in 0.0 s", text)
    return re.sub(r"\(\d+\.\d MB", "(0.0 MB", text)
