"""A set of images large enough for checks that look at many: sizes vary, and so do the boxes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.tables import Annotations, Detections, Images, Vocabulary
from openset.tables.boxes import sizes

KNOWN = Vocabulary.of(["dog", "cat"])
LABELS = ("dog", "cat", "unknown")
SIZES = np.array([[640, 480], [480, 640], [500, 375], [612, 612], [427, 640]], float)


def truth(images: int = 120, objects: int = 4, seed: int = 0) -> Annotations:
    """Images under ids that are no places, with as many objects each."""
    rng = np.random.default_rng(seed)
    image = np.repeat(np.arange(images), objects)
    size = SIZES[rng.integers(0, len(SIZES), images)]
    extent = rng.uniform(0.08, 0.5, (len(image), 2)) * size[image]
    at = rng.uniform(0, 1, (len(image), 2)) * (size[image] - extent)
    ids = 1000 + np.cumsum(rng.integers(2, 30, images))
    names = [f"{number:06d}.jpg" for number in rng.permutation(images) + 7]
    return Annotations(
        Images(ids, names, *size.T), LABELS, image, rng.integers(0, 3, len(image)),
        np.hstack([at, extent]), category_id=np.array([1, 2, 3]),
    )  # fmt: skip


def found(gt: Annotations, jitter: float = 0.05, seed: int = 1) -> Detections:
    """Three of four objects, displaced by a share of their size, and as many random boxes."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(len(gt)) < 0.75)
    rows = np.concatenate([rows, rows])
    right = np.arange(len(rows)) < len(rows) // 2
    box = moved(gt.box[rows], jitter, rng)
    box[~right] = anywhere(sizes(gt, gt.image[rows]), rng)[~right]
    order = np.argsort(gt.image[rows], kind="stable")
    score = np.where(right, rng.uniform(0.4, 1, len(rows)), rng.uniform(0, 0.6, len(rows)))
    table = Detections(gt.images.id[gt.image[rows]], gt.label[rows] + 1, box, score)
    return table.select(order)


def moved(box: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Boxes displaced and resized by a share of their size."""
    at = box[:, :2] + rng.normal(0, share, (len(box), 2)) * box[:, 2:]
    return np.hstack([at, box[:, 2:] * np.exp(rng.normal(0, share, (len(box), 2)))])


def anywhere(size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random boxes in images of these sizes."""
    share = rng.uniform(0.05, 0.5, size.shape)
    return np.hstack([rng.uniform(0, 1, size.shape) * (1 - share) * size, share * size])


def weak(dt: Detections, gt: Annotations, *, right: float, jitter: float) -> Detections:
    """What an early checkpoint writes: few boxes near objects, scores that mean nothing."""
    rng = np.random.default_rng(2)
    size = sizes(gt, np.searchsorted(gt.images.id, dt.image))
    keep = rng.random(len(dt)) < right
    box = np.where(keep[:, None], moved(dt.box, jitter, rng), anywhere(size, rng))
    return replace(dt, box=box, score=rng.random(len(dt)))
