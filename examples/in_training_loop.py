"""Evaluate while a detector is being trained: batch by batch, in memory.

Change: NAMES to what the numbers of your classes mean, KNOWN to those your detector is taught,
`batches` to your validation loader, and `model` to your detector. Targets and outputs are
torchvision's dictionaries, in one order; tensors are welcome.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import openset

NAMES = {1: "dog", 2: "cat", 3: "zebra"}
KNOWN = ["dog", "cat"]  # zebras are there, and unknown
rng = np.random.default_rng(0)


def batches() -> Iterator[list[dict[str, Any]]]:
    """Batches of targets: boxes are x1, y1, x2, y2."""
    for _ in range(5):
        corner = rng.uniform(0, 50, (8, 3, 2))
        boxes = np.concatenate([corner, corner + 20], axis=2)
        yield [{"boxes": boxes[i], "labels": rng.integers(1, 4, 3)} for i in range(8)]


def model(target: dict[str, Any], skill: float) -> dict[str, Any]:
    """What a detector says of one image; this one peeks, and places boxes better with skill."""
    moved = np.tile(rng.normal(0, 6 * (1 - skill), (3, 2)), 2)
    labels = np.where(target["labels"] == 3, rng.choice([1, 2], 3), target["labels"])
    return {"boxes": target["boxes"] + moved, "labels": labels, "scores": rng.uniform(0.1, 1, 3)}


options = {"intervals": False, "metrics": ["ap_known", "a_ose"]}
evaluator = openset.Evaluator(known=KNOWN, names=NAMES, **options)
for epoch in range(4):
    evaluator.reset()
    for targets in batches():
        evaluator.update(targets, [model(target, skill=epoch / 3) for target in targets])
    result = evaluator.compute()
    print(epoch, {name: round(float(value), 3) for name, value in result.values.items()})
