"""Losses of detectors with queries are divided by the boxes of all processes, as published."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("transformers", reason="the transformers extra is not installed")

CASES = {
    "rt_detr": "",
    "deformable_detr": "",
    "detr": "",
    "rt_detr prob": "prob",
    "deformable_detr prob": "prob",
    "deformable_detr siren": "siren",
}
COUNTS = (1, 0, 5, 4)  # objects of each image: the halves of the batch have 1 and 9
LAST = "bbox"  # weights that boxes alone teach: those of the classes are DETR's own mean


def made(case):
    """A detector whose chance is none: no dropout, no noise, norms that stay."""
    from openset.detectors import carry, find

    torch.manual_seed(0)
    one = find(case.split()[0]).build(("a", "b", "c"), device="cpu", size="small")
    if CASES[case]:
        torch.manual_seed(1)
        carry(one, CASES[case], {"group": 2})
    for part in one.train().modules():
        for name in ("p", "dropout", "attention_dropout", "activation_dropout"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.eval()
    one.network.config.num_denoising = 0
    return one


def batch():
    chance = torch.Generator().manual_seed(0)
    images = [torch.rand(3, 128, 128, generator=chance) for _ in COUNTS]
    box = torch.tensor([[8.0, 8, 60, 60], [30, 30, 110, 100], [5, 60, 50, 120], [70, 5, 120, 50],
                        [20, 20, 90, 90]])  # fmt: skip
    return images, [{"boxes": box[:n], "labels": torch.arange(n) % 3} for n in COUNTS]


def slopes(case, which):
    """The slope of each of some weights for some images of the batch."""
    one = made(case)
    images, targets = batch()
    sum(one(images[which], targets[which]).values()).backward()
    named = {name: w.grad for name, w in one.network.named_parameters() if w.grad is not None}
    kept = [name for name in named if (LAST in name if case == "detr" else "bias" in name)]
    return torch.cat([named[name].flatten() for name in sorted(kept)])


def main():
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    mine = slice(2 * rank, 2 * rank + 2)
    found = {case: slopes(case, mine).tolist() for case in CASES}
    Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(found))
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone",
               __file__, str(folder)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("case", CASES)
def test_two_processes_with_few_and_many_boxes_are_one_with_all(halves, case):
    whole = slopes(case, slice(0, 4))
    mean = sum(torch.tensor(half[case]) for half in halves) / 2
    assert whole.abs().sum() > 0
    assert (mean - whole).norm() < 1e-3 * whole.norm()


if __name__ == "__main__":
    main()
