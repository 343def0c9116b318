"""Runs command lines in this process, and compares what they print with snapshots.

A snapshot is a plain file: the command, the exit code, stdout and stderr. With
``OPENSET_SNAPSHOTS=write`` they are written anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).with_name("snapshots")


@dataclass(frozen=True)
class Done:
    """A command line that has run."""

    command: str
    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one object that ``--json`` printed."""
        return json.loads(self.out)

    def text(self):
        """The snapshot; one more plug-in or verb is no reason for another."""
        err = re.sub(r"(Known|Available commands):[^\n]*(\n    [^\n]*)*", r"\1: ...", self.err)
        return f"$ {self.command}\nexit {self.code}\n--- stdout\n{self.out}--- stderr\n{err}"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory, 80 columns wide, without settings of the user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def openset(here, capsys, monkeypatch):
    """Runs ``openset ...`` in that directory."""
    from openset.cli import main

    def run(*arguments, name="openset"):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        capsys.readouterr()
        code = main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Done(f"openset {' '.join(map(str, arguments))}", code, *map(_plain, (out, err)))

    def _plain(text):
        text = text.replace(str(here), "TMP")
        text = re.sub(r"in \d+\.\d s\b", "in 0.0 s", text)
        return re.sub(r"\(\d+\.\d MB", "(0.0 MB", text)

    return run


@pytest.fixture
def snapshot():
    """Compares a finished command with its snapshot."""

    def compare(name, done):
        path = SNAPSHOTS / f"{name}.txt"
        if os.environ.get("OPENSET_SNAPSHOTS") == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(done.text(), "utf-8")
        assert path.exists(), "no snapshot: run with OPENSET_SNAPSHOTS=write"
        assert done.text() == path.read_text("utf-8")

    return compare
