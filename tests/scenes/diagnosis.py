"""Scenes for the tests of diagnosis: golden files, a hand-made one, and random ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from openset.matching import Protocol, match
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.golden import scene

# The printed definitions know no ignore flag.
PAPER = Protocol.of("paper").but(ignore=())


@cache
def golden(size: str, scenario: str):
    data = scene(size, scenario)
    vocabulary = replace(data.vocabulary, similar=Vocabulary.of("voc20").similar)
    return data.truth, data.detections, vocabulary


@cache
def golden_matches(size: str, scenario: str = "wild"):
    return match(*golden(size, scenario), PAPER)


LABELS = ("dog", "cat", "car", "zebra", "boat")
KNOWN = Vocabulary(tasks=(("dog", "cat", "car"),), similar=(("dog", "cat"),))


def tables(objects, found, images=3, **columns):
    """Tables from (image, label, x, y, w, h) and (image, label, x, y, w, h, score) rows."""
    objects, found = list(objects), list(found)
    names = (*KNOWN.known, "unknown")
    truth = Annotations(
        Images(np.arange(images) + 1),
        LABELS,
        [row[0] - 1 for row in objects],
        [LABELS.index(row[1]) for row in objects],
        np.array([row[2:6] for row in objects], float).reshape(-1, 4),
        **columns,
    )
    detections = Detections(
        [row[0] for row in found],
        [names.index(row[1]) for row in found],
        np.array([row[2:6] for row in found], float).reshape(-1, 4),
        [row[6] for row in found],
        labels=names,
    )
    return truth, detections, KNOWN


# Three images: the second is wild and the third has nothing labelled.
OBJECTS = [
    (1, "dog", 0, 0, 10, 10),
    (1, "car", 40, 0, 10, 10),
    (2, "zebra", 0, 0, 10, 10),
    (2, "zebra", 60, 0, 10, 10),
    (2, "boat", 30, 0, 10, 10),
]
FOUND = [
    (1, "dog", 0, 0, 10, 10, 0.9),  # correct
    (1, "dog", 0, 0, 10, 9, 0.8),  # duplicate: localisation
    (1, "cat", 0, 0, 10, 8, 0.7),  # on a dog: similar (never reaches a recall: no cat)
    (1, "dog", 40, 0, 10, 10, 0.65),  # on a car: other
    (1, "car", 40, 0, 10, 10, 0.6),  # correct
    (1, "unknown", 40, 0, 10, 9, 0.5),  # a car called unknown
    (2, "dog", 0, 0, 10, 10, 0.95),  # zebra called dog
    (2, "dog", 0, 1, 10, 10, 0.3),  # the same zebra again
    (2, "car", 30, 0, 10, 10, 0.7),  # boat called car
    (2, "unknown", 60, 0, 10, 10, 0.9),  # zebra called unknown: correct
    (3, "dog", 5, 5, 10, 10, 0.85),  # nothing there
    (3, "unknown", 70, 70, 9, 9, 0.2),  # nothing there
]


def by_hand():
    return tables(OBJECTS, FOUND)


def random_tables(seed: int, *, images: int = 6, crowded: bool = False):
    """Overlapping objects with flags, detections near and far, coarse scores so that many tie."""
    rng = np.random.default_rng(seed)
    n, m = 4 * images, (150 if crowded else 12) * images
    image = rng.integers(1, images, n)  # the last image stays empty
    objects = [
        (i, LABELS[rng.integers(5)], *rng.integers(0, 40, 2), *rng.integers(8, 30, 2))
        for i in image
    ]
    names = (*KNOWN.known, "unknown")
    found = []
    for _ in range(m):
        _, label, *box = objects[rng.integers(n)]
        at = objects[rng.integers(n)][0] if rng.random() < 0.9 else images
        nudge = rng.integers(-4, 5, 4) * (rng.random() < 0.8)
        box = np.maximum(np.array(box) + nudge, [0, 0, 3, 3])
        own = label if label in names else "unknown"
        label = own if rng.random() < 0.6 else names[rng.integers(4)]
        found.append((at, label, *box, rng.integers(0, 20) / 20))
    flags = {"crowd": rng.random(n) < 0.1, "difficult": rng.random(n) < 0.2}
    return tables(objects, found, images, **flags)


def shuffled(truth, detections, seed: int = 0):
    """The same scene with its images, objects and detections in another order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(truth.images))
    place = np.argsort(order)
    moved = replace(
        truth.select(rng.permutation(len(truth))), images=Images(truth.images.id[order])
    )
    moved = replace(moved, image=place[moved.image])
    return moved, detections.select(rng.permutation(len(detections)))
