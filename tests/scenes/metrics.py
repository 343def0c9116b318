"""Scenes for tests of metrics: one computed by hand, and random ones that can be rearranged."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from openset.matching import match
from openset.metrics import table
from openset.tables import Annotations, Detections, Images, Vocabulary

KNOWN = Vocabulary(tasks=(("dog",), ("cat", "cow")))
PROTOCOLS = (
    "default",
    "coco",
    "owod",
    "opendet-2007",
    "osod3-voc",
    "fmiyc",
    "elephant",
    "vos",
    "paper",
    "tide",
)


@dataclass(frozen=True)
class Scene:
    truth: Annotations
    found: Detections
    vocabulary: Vocabulary = KNOWN

    def but(self, **changes):
        return replace(self, **changes)

    def match(self, protocol="default"):
        return match(self.truth, self.found, self.vocabulary, protocol)

    def value(self, name, protocol="default", **options):
        return table()[name].compute(self.match(protocol), **options)

    def values(self, protocol):
        matches = self.match(protocol)
        return {name: metric.compute(matches) for name, metric in table().items()}


# ---------------------------------------------------------------------- by hand

LEFT, RIGHT, NOWHERE = (0, 0, 100, 100), (200, 0, 100, 100), (400, 0, 100, 100)
HAND_OBJECTS = [
    (1, "dog", LEFT),
    (1, "cat", RIGHT),
    (2, "dog", LEFT),
    (2, "unknown", RIGHT),
    (3, "unknown", LEFT),
    (3, "unknown", RIGHT),
]
HAND_DETECTIONS = [  # image, label, box, score, unknownness
    (1, "dog", LEFT, 0.9, 0.1),  # right
    (1, "cat", RIGHT, 0.8, 0.2),  # right
    (1, "dog", NOWHERE, 0.3, 0.3),  # false alarm
    (2, "dog", LEFT, 0.7, 0.4),  # right
    (2, "cat", RIGHT, 0.85, 0.5),  # open-set error
    (3, "dog", LEFT, 0.95, 0.35),  # open-set error
    (3, "unknown", LEFT, 0.4, 0.6),  # right
    (3, "cat", LEFT, 0.35, 0.7),  # open-set error, on the same object
    (3, "unknown", NOWHERE, 0.2, 0.8),  # false alarm
]


def hand():
    """Three images: known objects, both, unknown objects."""
    labels = ("dog", "cat", "unknown")
    truth = Annotations(
        Images([1, 2, 3]),
        labels,
        [image - 1 for image, *_ in HAND_OBJECTS],
        [labels.index(label) for _, label, _ in HAND_OBJECTS],
        [box for *_, box in HAND_OBJECTS],
    )
    image, label, box, score, unknownness = zip(*HAND_DETECTIONS, strict=True)
    index = [labels.index(name) for name in label]
    found = Detections(image, index, box, score, labels, unknownness=unknownness)
    return Scene(truth, found, Vocabulary.of(["dog", "cat"]))


# ---------------------------------------------------------------------- at random


LABELS = ("dog", "cat", "cow", "zebra", "unknown")


@cache
def random_scene(seed=0, n_images=12, *, mixed=True):
    """Objects on a grid, so that none overlaps another; distinct scores in steps of 1/1000."""
    rng = np.random.default_rng(seed)
    image, label, box = [], [], []
    for index in range(n_images):
        wild = index % 3 == 2
        choices = [3, 4] if wild else [0, 1, 2, 3] if mixed and index % 3 else [0, 1, 2]
        for cell in rng.permutation(9)[: rng.integers(2, 6)]:
            image.append(index)
            label.append(rng.choice(choices))
            size = rng.integers(30, 60, 2)
            box.append([100 * (cell % 3) + 5, 100 * (cell // 3) + 5, *size])
    truth = Annotations(Images(np.arange(n_images) * 7 + 5), LABELS, image, label, box)
    return Scene(truth, _random_detections(rng, truth))


def _random_detections(rng, truth):
    """Twice: jittered objects, mostly under their own label or as unknown; and false alarms."""
    rows = rng.permutation(np.repeat(np.arange(len(truth)), 2))
    own = np.where(truth.label[rows] < 3, truth.label[rows], 4)
    label = np.where(rng.random(len(rows)) < 0.7, own, rng.choice([0, 1, 2, 4], len(rows)))
    box = truth.box[rows] + rng.integers(-9, 10, (len(rows), 4))
    stray = rng.random(len(rows)) < 0.15
    box[stray, :2] += 40
    score = rng.permutation(999)[: len(rows)] / 1000
    ids = truth.images.id[truth.image[rows]]
    order = np.argsort(truth.image[rows], kind="stable")
    found = Detections(ids, label, box, score, LABELS, unknownness=rng.random(len(rows)))
    return found.select(order)


def perfect(scene):
    """Detections that are the objects themselves, under the right names."""
    truth = scene.truth
    unknown = truth.label >= 3
    n = len(truth)
    found = Detections(
        truth.images.id[truth.image],
        np.where(unknown, 4, truth.label),
        truth.box,
        (n - np.arange(n)) / 1000,
        LABELS,
        unknownness=unknown.astype(float),
    )
    return scene.but(found=found)


# ---------------------------------------------------------------------- rearranged


def with_images_in_order(scene, order):
    """The same images and objects, listed in another order."""
    old = scene.truth
    place = np.argsort(order)
    rows = np.argsort(place[old.image], kind="stable")
    part = old.select(rows)
    truth = replace(part, images=Images(old.images.id[order]), image=place[part.image])
    return scene.but(truth=truth)


def doubled(scene):
    """Every image twice, under a new id, with everything on it."""
    old, found = scene.truth, scene.found
    n = len(old.images)
    truth = Annotations(
        Images(np.concatenate([old.images.id, old.images.id + 1])),
        old.labels,
        np.concatenate([old.image, old.image + n]),
        np.tile(old.label, 2),
        np.tile(old.box, (2, 1)),
    )
    twice = Detections(
        np.concatenate([found.image, found.image + 1]),
        np.tile(found.label, 2),
        np.tile(found.box, (2, 1)),
        np.tile(found.score, 2),
        found.labels,
        unknownness=np.tile(found.unknownness, 2),
    )
    return scene.but(truth=truth, found=twice)
