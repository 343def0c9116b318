"""The tutorial: its command lines are right, and the whole way can be gone, here in small."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from openset.cli._app import build

ROOT = Path(__file__).parents[2]
VERBS = ["build", "train", "run", "run", "run", "score", "evaluate", "report"]


def commands():
    """The command lines of ``make tutorial``, without running them."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    shown = subprocess.run([make, "-n", "tutorial"], capture_output=True, text=True, cwd=ROOT)
    lines = shown.stdout.replace("\\\n", " ").splitlines()
    listed = "$(ls openset-tutorial/scored/*.parquet | grep -v /msp.parquet)"
    return [
        shlex.split(line.replace(listed, "other.parquet"))[1:]
        for line in lines
        if line.startswith(".venv/bin/openset")
    ]


def test_every_command_line_is_understood(here):
    found = commands()
    assert [tokens[0] for tokens in found] == VERBS
    app = build()
    for tokens in found:
        app.parse_args(tokens, exit_on_error=False, print_error=False)


@pytest.mark.usefixtures("one_torch_thread")
def test_the_whole_way_in_small(openset, here):
    pytest.importorskip("torchvision")
    unsure = "--minimum-score 0.001 --device cpu"  # as a detector is after six steps
    for line in [
        "build digits -o world --option images=30",
        "train digits-small world -o model --steps 6 --device cpu",
        f"run model world/train.json --evidence all -o train.parquet {unsure}",
        f"run model world/val.json -o val.parquet {unsure}",
        f"run model world/test.json --evidence all -o test.parquet {unsure}",
        "score test.parquet --scorers msp,knn,vim --fit train.parquet --calibrate val.parquet "
        "--minimum-score 0 -o s",
        "evaluate world/test.json s/msp.parquet s/knn.parquet s/vim.parquet -o run --no-intervals",
        "report run --images world",
    ]:
        done = openset(*line.split())
        assert done.code == 0, f"{line}\n{done.err}"
    assert list((here / "run").rglob("*.html"))
