"""A real terminal, by tmux: what is typed into it, and what is on its screen."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

# Measuring takes longer than a progress bar's patience.
SLOW = (
    "import sys, time; import openset.evaluation.run as r; m = r.evaluation_of; "
    "r.evaluation_of = lambda *a, **k: (time.sleep(0.8), m(*a, **k))[1]; "
    "from openset.cli import main; sys.exit(main(sys.argv[1:]))"
)


class Terminal:
    """A terminal of a size, with one command in it."""

    def __init__(self, folder: Path, columns: int, command: list[str], **environment: str) -> None:
        self._tmux = ["tmux", "-L", f"openset-{os.getpid()}-{id(self)}", "-f", "/dev/null"]
        pairs = [f"{key}={value}" for key, value in environment.items()]
        line = shlex.join(["env", "-u", "COLUMNS", "-u", "NO_COLOR", *pairs, *command])
        size = ["-x", str(columns), "-y", "60"]
        script = f"cd {shlex.quote(str(folder))}; {line}; echo exit $?; sleep 60"
        self._run("new-session", "-d", *size, "sh", "-c", script)

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments], capture_output=True, text=True, timeout=20, check=True
        )
        return done.stdout

    def screen(self, *, colour: bool = False) -> str:
        return self._run("capture-pane", "-p", *(["-e"] if colour else []))

    def until(self, words: str, *, colour: bool = False) -> str:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if words in self.screen():
                return self.screen(colour=colour)
            time.sleep(0.05)
        raise AssertionError(f"{words!r} never came:\n{self.screen()}")

    def close(self) -> None:
        self._run("kill-server")
