"""Progress of long work: a bar on a terminal, a line now and then elsewhere, time that is left."""

from __future__ import annotations

import sys

import pytest

from openset.cli import _console
from openset.cli._console import Output
from scenes.terminal import Terminal, needs_tmux

SLOW = (
    "import time; from openset.cli._console import Output\n"
    "with Output().track(1000) as at:\n"
    "    for step in range(1, 60): at(step, 'loss 0.5'); time.sleep(0.1)"
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that ticks ten seconds at every look."""
    now = [0.0]

    def tick():
        now[0] += 10
        return now[0]

    monkeypatch.setattr(_console.time, "monotonic", tick)


def test_without_a_terminal_a_line_now_and_then(clock, capsys):
    with Output().track(4) as at:
        for done in (1, 2, 3, 4):
            at(done, "loss 0.5")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "1 of 4: loss 0.5, time left unknown"
    assert lines[1].startswith("2 of 4: loss 0.5, 0:")
    assert lines[-1] == "4 of 4: loss 0.5, 0:00 left"


def test_the_rate_of_what_is_counted(clock, capsys):
    with Output().track(4, "parts") as at:
        at(1, "matched part 1")
        at(2, "matched part 2")
    assert capsys.readouterr().err.splitlines()[1].startswith("2 of 4: matched part 2, 3 parts/min")
    with Output().progress(3, "parts") as step:
        step("reading")
        step("matched part 1")
    assert capsys.readouterr().err.splitlines()[1].startswith("1 of 3: matched part 1, 3 parts/min")


def test_short_work_says_nothing(capsys):
    with Output().track(4) as at:
        at(4, "loss 0.5")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("output", [Output(quiet=True), Output(no_progress=True)])
def test_nothing_if_so_asked(output, clock, capsys):
    with output.track(4) as at:
        at(4, "loss 0.5")
    assert capsys.readouterr().err == ""


@needs_tmux
def test_on_a_terminal_a_bar(tmp_path):
    terminal = Terminal(tmp_path, 80, [sys.executable, "-c", SLOW])
    try:
        screen = terminal.until("left")
        assert "/1000" in screen and "loss 0.5" in screen
    finally:
        terminal.close()
