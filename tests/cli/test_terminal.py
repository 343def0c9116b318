"""On a real terminal (tmux): the table at 80 and at 140 columns, progress, colour."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cli_scenes import write_scene

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

# Measuring takes longer than a progress bar's patience.
SLOW = (
    "import sys, time; import openset.evaluation.run as r; m = r.measure; "
    "r.measure = lambda *a, **k: (time.sleep(0.8), m(*a, **k))[1]; "
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


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(columns, *arguments, code=SLOW, **environment):
        write_scene(tmp_path)
        command = [sys.executable, "-c", code, *arguments]
        opened.append(Terminal(tmp_path, columns, command, **environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


ASKED = ("evaluate", "gt.json", "base.json", "shy.json", "--known", "known.txt")


@pytest.mark.parametrize("columns", [80, 140])
def test_progress_and_table(columns, terminal):
    screen = terminal(columns, *ASKED)
    assert "/5" in screen.until("measuring base")
    last = screen.until("exit 0")
    assert "measuring" not in last  # the bar is gone
    lines = last.splitlines()
    row = next(line for line in lines if line.startswith("unknown recall"))
    assert row.split()[4].startswith("53.1") and row.rstrip().endswith("*")
    assert any(line.startswith("next:") for line in lines)
    assert max(map(len, lines)) <= columns
    protocol = next(line for line in lines if line.startswith("protocol default"))
    assert ("resamples" in protocol) == (columns == 140)  # at 80 columns it goes on below


def test_no_progress(terminal):
    screen = terminal(80, *ASKED, "--no-progress")
    seen = []
    while "exit 0" not in (seen or [""])[-1]:
        seen.append(screen.screen())
        time.sleep(0.05)
    assert not any("measuring" in one for one in seen)


def test_colour_on_a_terminal_unless_refused(terminal):
    wrong = ("evaluate", "gt.json", "gt.json", "--known", "known.txt")
    assert "\x1b[" in terminal(80, *wrong).until("exit 2", colour=True)
    plain = terminal(80, *wrong, NO_COLOR="1").until("exit 2", colour=True)
    assert "\x1b[" not in plain
