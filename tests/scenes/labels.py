"""A detector that finds what there is, and all the ways in which its labels may be written wrongly.

Eight classes with the sparse ids of COCO, sixty photographs with a few objects each; three classes
are unknown. The detector is right four times in five, and has boxes on background as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.tables import Annotations, Detections, Images

NAMES = ("person", "bicycle", "car", "traffic light", "cat", "dog", "horse", "sheep")
IDS = np.array([1, 2, 3, 10, 17, 18, 19, 20])
KNOWN = list(NAMES[:6])
IMAGES = 60


def truth(images: int = IMAGES) -> Annotations:
    """Four objects an image, of any class, each in a corner of its own."""
    rng = np.random.default_rng(7)
    n = 4 * images
    corner = np.tile([[10, 10], [330, 20], [20, 250], [340, 260]], (images, 1))
    return Annotations(
        images=Images(np.arange(images) + 1, None, np.full(images, 640.0), np.full(images, 480.0)),
        labels=NAMES,
        image=np.repeat(np.arange(images), 4),
        label=rng.integers(0, len(NAMES), n),
        box=np.hstack([corner, rng.integers(100, 200, (n, 2))]).astype(float),
        category_id=IDS,
    )


def found(gt: Annotations, right: float = 0.8, classes: int = len(NAMES)) -> Detections:
    """A box on every object, and as many on background with lower scores."""
    rng = np.random.default_rng(8)
    n = len(gt)
    label = np.where(rng.random(n) < right, gt.label, rng.integers(0, classes, n)) % classes
    box = gt.box + rng.normal(0, 4, (n, 4))
    elsewhere = np.hstack([rng.uniform(0, 500, (n, 2)), rng.uniform(5, 30, (n, 2))])
    image = gt.images.id[gt.image]
    return Detections(
        image=np.concatenate([image, image]),
        label=IDS[np.concatenate([label, rng.integers(0, classes, n)])],
        box=np.concatenate([box, elsewhere]),
        score=np.concatenate([rng.uniform(0.4, 1, n), rng.uniform(0, 0.6, n)]),
    )


def relabelled(detections: Detections, new: np.ndarray) -> Detections:
    """The same boxes with, for the class at each position, another id."""
    return replace(detections, label=np.asarray(new)[np.searchsorted(IDS, detections.label)])


def exchanged(a: str, b: str) -> np.ndarray:
    """The ids with two classes exchanged."""
    new, at = IDS.copy(), [NAMES.index(a), NAMES.index(b)]
    new[at] = new[at[::-1]]
    return new
