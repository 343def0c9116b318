"""One test set whose classes are split in three ways, and a detector for each split."""

import numpy as np

from openset import evaluate
from openset.tables import Annotations, Detections, Images

LABELS = tuple("abcdef")
SPLITS = (LABELS[:2], LABELS[2:4], LABELS[4:])
METRICS = ["ap_known", "ap_unknown", "a_ose"]


def truth(images=60):
    chance = np.random.default_rng(0)
    count = images * 6
    box = np.column_stack([np.tile(np.arange(6) * 50.0, images), np.zeros(count),
                           chance.integers(20, 40, (count, 2))])  # fmt: skip
    sizes = {"width": np.full(images, 400), "height": np.full(images, 100)}
    label = chance.integers(0, 6, count)
    return Annotations(Images(np.arange(images), **sizes), LABELS, np.repeat(range(images), 6),
                       label, box)  # fmt: skip


def detections(known, seed, miss):
    """A detector of some classes that calls others unknown, and misses a share."""
    chance, world = np.random.default_rng(seed), truth()
    names = (*known, "unknown")
    label = [names.index(LABELS[k]) if LABELS[k] in known else len(known) for k in world.label]
    found = Detections(
        world.image, label, world.box + chance.normal(0, 2, world.box.shape).clip(-5, 5),
        chance.random(len(world)), names,
    )  # fmt: skip
    return found.select(chance.random(len(world)) > miss)


def results(miss, seed=0, splits=SPLITS, **options):
    return [
        evaluate(truth(), detections(known, seed + at, miss), known=list(known),
                         metrics=METRICS, **options)
        for at, known in enumerate(splits)
    ]  # fmt: skip
