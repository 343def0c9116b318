"""Files for command lines, and what they print compared with snapshots.

A snapshot is a plain file: the command, the exit code, stdout and stderr. With
``OPENSET_SNAPSHOTS=write`` they are written anew; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scenes.cli import write_scene

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.fixture
def scene(here):
    """That working directory, with a ground truth and two detectors' files."""
    write_scene(here)
    return here


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
