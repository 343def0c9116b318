"""T6 on the real step: two processes with half of each batch train as one with all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("transformers", reason="the transformers extra is not installed")

from scenes import halves  # noqa: E402
from scenes.training import log, make_data, weights  # noqa: E402
from scenes.two_processes import TORCHRUN  # noqa: E402


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The trainings of one process, and of two."""
    place = tmp_path_factory.mktemp("halves")
    truth = make_data(place)
    path = os.pathsep.join(
        [str(Path(halves.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    made = []
    for start in ((), TORCHRUN):
        out = place / str(len(start))
        command = [sys.executable, *start, halves.__file__, str(out), str(truth)]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr[-3000:]
        made.append(out)
    return made


def learned(folder, file="model.pt"):
    """How far each weight, and each memory, has moved."""
    began = torch.load(folder / "began.pt", weights_only=True)
    ended = weights(folder, file)
    return {name: ended[name].double() - value.double() for name, value in began.items()}


@pytest.mark.parametrize("file", ["checkpoint.pt", "model.pt"])
@pytest.mark.parametrize("case", halves.CASES)
def test_two_processes_with_half_a_batch_train_as_one_with_all(folders, case, file):
    one, two = (learned(folder / case, file) for folder in folders)
    assert one.keys() == two.keys()
    moved, apart = (
        torch.cat([part.flatten() for part in parts])
        for parts in (one.values(), [two[name] - one[name] for name in one])
    )
    assert moved.norm() > 0.01 and apart.norm() < 1e-3 * moved.norm()
    for name in one:  # what is remembered is the same, row by row
        if name.startswith("method.") and name.rpartition(".")[2] in (
            "held",
            "filled",
            "prototype",
        ):
            torch.testing.assert_close(one[name], two[name], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("case", [c for c in halves.CASES if "method" in halves.CASES[c]])
def test_the_method_takes_part(folders, case):
    last = log(folders[0] / case)[-1]
    assert any(value > 0 for name, value in last.items() if name.startswith("method_"))
