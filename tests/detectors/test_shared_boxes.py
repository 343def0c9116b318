"""Losses mean the same in any number of processes, however many boxes each of them has.

Those of queries are divided by the boxes of all processes and those of FCOS by the places on them,
as published; those of RetinaNet are means over images, as torchvision has them.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("transformers", reason="the transformers extra is not installed")

from scenes.two_processes import found_by_two, write_found  # noqa: E402

CASES = {
    "rt_detr": "",
    "deformable_detr": "",
    "detr": "",
    "rt_detr prob": "prob",
    "deformable_detr prob": "prob",
    "deformable_detr siren": "siren",
    "fcos": "",
    "retinanet": "",
}
DENSE = ("fcos", "retinanet")
COUNTS = (1, 0, 5, 4)  # objects of each image: the halves of the batch have 1 and 9
LAST = "bbox"  # weights that boxes alone teach: those of the classes are DETR's own mean


def made(case):
    """A detector whose chance is none: no dropout, no noise, norms that stay."""
    from openset.detectors import carry, find

    torch.manual_seed(0)
    small = {"backbone": "small"} if case in DENSE else {"size": "small"}
    one = find(case.split()[0]).build(("a", "b", "c"), device="cpu", **small)
    if CASES[case]:
        torch.manual_seed(1)
        carry(one, CASES[case], {"group": 2})
    for part in one.train().modules():
        for name in ("p", "dropout", "attention_dropout", "activation_dropout"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.eval()
    if case not in DENSE:
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


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    return found_by_two(__file__, tmp_path_factory.mktemp("halves"))


@pytest.mark.parametrize("case", CASES)
def test_two_processes_with_few_and_many_boxes_are_one_with_all(halves, case):
    whole = slopes(case, slice(0, 4))
    mean = sum(torch.tensor(half[case]) for half in halves) / 2
    assert whole.abs().sum() > 0
    assert (mean - whole).norm() < 1e-3 * whole.norm()


if __name__ == "__main__":
    write_found(lambda rank: {c: slopes(c, slice(2 * rank, 2 * rank + 2)).tolist() for c in CASES})
