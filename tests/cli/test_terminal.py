"""On a real terminal (tmux): the table at 80 and at 140 columns, progress, colour."""

from __future__ import annotations

import sys
import time

import pytest

from scenes.cli import write_scene
from scenes.terminal import SLOW, Terminal, needs_tmux

pytestmark = needs_tmux


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
