"""Exemplars: the few images on which a detector is reminded of the classes it was taught.

Two published ways to choose them. `drawn` is that of Joseph et al. (OWOD, CVPR 2021): images in
random order, and for each class the last so many *objects* seen, until every class has them; an
image with five dogs takes five places of the dogs. Their script has no seed, ours has one. A list
is drawn anew after every task. `extreme` is that of Zohar et al. (PROB, CVPR 2023): of each class
the objects that the detector is surest and least sure of; these lists grow from task to task.

Both give places of images; what fine-tuning then shows on them is not decided here. Nor are these
the rule ``exemplars`` of benchmarks, which takes images until no class lacks boxes.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from openset.tables.annotations import Annotations
from openset.tables.columns import positions
from openset.tables.detections import Detections
from openset.tables.overlap import iou

_OVERLAP = 0.5  # from which a detection is one of an object
Rows = NDArray[np.intp]


def drawn(table: Annotations, count: int, seed: int) -> Rows:
    """Images with the last so many objects of each label, of images in random order.

    >>> from openset.tables import Images
    >>> images = Images(np.arange(4))
    >>> boxes = np.ones((5, 4))
    >>> table = Annotations(images, ("cat", "dog"), [0, 1, 1, 2, 3], [0, 1, 1, 1, 0], boxes)
    >>> drawn(table, 1, seed=0).tolist()
    [0, 1]
    """
    order = np.random.default_rng((seed, len(table.images))).permutation(len(table.images))
    objects = _groups(table.image, _real(table), len(table.images))
    held: list[deque[int]] = [deque(maxlen=count) for _ in table.labels]
    wanted = np.unique(table.label[_real(table)]).tolist()
    for image in order.tolist():
        for label in table.label[objects[image]].tolist():
            held[label].append(image)
        if all(len(held[label]) == count for label in wanted):
            break
    return np.unique(np.array([image for one in held for image in one], np.intp))


def extreme(table: Annotations, found: Detections, count: int, seed: int) -> Rows:
    """Images with the objects of each label that score highest and lowest, half of each.

    The score of an object is that of the best detection of its label on it; objects without one
    are not chosen. Ties are broken by the seed.
    """
    score = scores(table, found)
    tie = np.random.default_rng((seed, len(table))).permutation(len(table))
    chosen: list[int] = []
    for label in range(len(table.labels)):
        rows = np.flatnonzero((table.label == label) & (score >= 0))
        rows = rows[np.lexsort((tie[rows], score[rows]))]
        low = rows[: count - count // 2]
        chosen += [*low, *rows[len(low) :][::-1][: count // 2]]
    return np.unique(table.image[chosen]).astype(np.intp)


def scores(table: Annotations, found: Detections) -> NDArray[np.float64]:
    """The score of each object: that of the best detection of its label on it, -1 without one."""
    best = np.full(len(table), -1.0)
    names = {label: at for at, label in enumerate(table.labels)}
    column = np.array([names.get(label, -1) for label in found.labels], np.int64)
    label = column[found.label] if len(found) else np.empty(0, np.int64)
    objects_of = _groups(table.image, _real(table), len(table.images))
    image = positions(table.images.id, found.image)
    boxes_of = _groups(image, np.flatnonzero(image >= 0), len(table.images))
    for objects, boxes in zip(objects_of, boxes_of, strict=True):
        on = (iou(table.box[objects], found.box[boxes]) >= _OVERLAP) & (
            table.label[objects][:, None] == label[boxes]
        )
        if on.any():
            best[objects] = np.where(on, found.score[boxes], -1.0).max(axis=1)
    return best


def _real(table: Annotations) -> NDArray[np.intp]:
    """Objects that are taught: no crowds, none without area."""
    assert table.crowd is not None
    return np.flatnonzero(~table.crowd & (table.box[:, 2:] > 0).all(axis=1))


def _groups(image: NDArray[np.int32], rows: Rows, images: int) -> list[Rows]:
    """Some rows, by image, in the order of the table."""
    ordered = rows[np.argsort(image[rows], kind="stable")]
    return np.split(ordered, np.searchsorted(image[ordered], np.arange(1, images)))
