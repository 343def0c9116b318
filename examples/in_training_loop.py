"""Evaluate while a detector is being trained: batch by batch, in memory.

Change: KNOWN to the labels your detector is taught, `batches` to your validation loader, and
`model` to your detector. Targets and outputs are torchvision's dictionaries; tensors are welcome.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import openset

KNOWN = ["1", "2"]  # labels 1 and 2 are taught; 3 is there, and unknown
rng = np.random.default_rng(0)


def batches() -> Iterator[list[dict[str, Any]]]:
    """Batches of targets: boxes are x1, y1, x2, y2."""
    for start in range(0, 40, 8):
        corner = rng.uniform(0, 50, (8, 3, 2))
        boxes = np.concatenate([corner, corner + 20], axis=2)
        yield [
            {"image_id": start + i, "boxes": boxes[i], "labels": rng.integers(1, 4, 3)}
            for i in range(8)
        ]


def model(target: dict[str, Any], skill: float) -> dict[str, Any]:
    """What a detector says of one image; this one peeks, and places boxes better with skill."""
    moved = np.tile(rng.normal(0, 6 * (1 - skill), (3, 2)), 2)
    labels = np.where(target["labels"] == 3, rng.choice([1, 2], 3), target["labels"])
    said = {"boxes": target["boxes"] + moved, "labels": labels, "scores": rng.uniform(0.1, 1, 3)}
    return {"image_id": target["image_id"], **said}


for epoch in range(4):
    evaluator = openset.Evaluator(known=KNOWN, intervals=False, metrics=["ap_known", "a_ose"])
    for targets in batches():
        evaluator.update(targets, [model(target, skill=epoch / 3) for target in targets])
    result = evaluator.compute()
    print(epoch, {name: round(float(value), 3) for name, value in result.values.items()})
