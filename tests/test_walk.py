"""The walk of an evaluation, traced: data flow one way, nothing comes back to the command line.

import-linter holds what modules import; here it is what they call, whoever handed it to them.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

import openset
from scenes.cli import write_scene

HOME = str(Path(openset.__file__).parent)
PROGRESS = "openset.cli._console"  # what `cli` asked to be called with: a word before each step


@pytest.fixture
def scene(tmp_path, monkeypatch):
    write_scene(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def module_of(frame):
    path = frame.f_code.co_filename
    if not path.startswith(HOME):
        return None
    return "openset" + path[len(HOME) :].removesuffix(".py").replace("/", ".")


def caller_of(frame):
    """The nearest of our own modules up the stack, past what Python does in between."""
    frame = frame.f_back
    while frame is not None and module_of(frame) is None:
        frame = frame.f_back
    return None if frame is None else module_of(frame)


def traced(*arguments):
    """Which of our modules called which during a command line, on any thread."""
    from openset.cli import main

    calls = set()

    def note(frame, event, argument):
        if event == "call" and (here := module_of(frame)) is not None:
            there = caller_of(frame)
            if there is not None and there != here:
                calls.add((there, here))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        assert main(arguments) == 0
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def package(module):
    return module.split(".")[1] if "." in module else ""


def test_nothing_comes_back_to_the_command_line(scene, capsys):
    calls = traced("evaluate", "gt.json", "base.json", "shy.json", "--known", "known.txt")
    packages = {package(here) for _, here in calls}
    assert packages >= {"cli", "evaluation", "formats", "tables", "matching", "metrics", "kernels"}
    assert packages >= {"resampling", "diagnosis"}
    back = {
        (there, here)
        for there, here in calls
        if package(here) == "cli" and package(there) not in ("cli", "", "__main__")
    }
    assert {here for _, here in back} <= {PROGRESS}, back
    assert {there for there, _ in back} <= {"openset.evaluation.run"}
    assert not any(package(here) in ("report", "recognition") for _, here in calls)


def test_each_layer_calls_only_down(scene, capsys):
    """The order of the walk in CONTRIBUTING.md, from what calls to what is called."""
    order = ("cli", "diagnosis", "evaluation", "resampling", "metrics", "matching", "tables")
    rank = {name: place for place, name in enumerate(order)}
    calls = traced("evaluate", "gt.json", "base.json", "--known", "known.txt")
    up = {
        (there, here)
        for there, here in calls
        if here != PROGRESS and rank.get(package(there), -1) > rank.get(package(here), 99)
    }
    assert not up
