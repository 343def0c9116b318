"""The scripts of examples/: each runs as it is, is short, and says what to change."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import openset

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "in_training_loop": "3 {'ap_known':",
    "own_benchmark": "audit of mine\nPASS    Class openness",
    "own_classifier": "OpenAUC: Value(0.98",
    "own_detector": "600 images · 349 known and 1078 unknown objects",
    "own_metric": "95 % interval: 0.1",
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_runs_as_it_is(script, tmp_path):
    source = str(Path(openset.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[script.stem] in done.stdout
    assert "torch" not in {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_it_is_short_and_says_what_to_change(script):
    text = script.read_text("utf-8")
    assert len(text.splitlines()) <= 45
    assert "\nChange: " in (ast.get_docstring(ast.parse(text)) or "")


def test_the_readme_names_every_script():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert all(f"examples/{script.name}" in readme for script in SCRIPTS)


def test_all_are_here():
    assert [script.stem for script in SCRIPTS] == sorted(SAYS)
