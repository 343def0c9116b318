"""Overlap: intersection over union within an image, and greedy suppression by it.

For post-processing a detector's boxes. Matching detections to objects is `openset.matching`, whose
protocols differ in how boxes are compared; here boxes are continuous.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


def iou(first: Array, second: Array) -> Array:
    """Intersection over union of every pair of ``x, y, width, height`` boxes.

    >>> iou(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 2, 2], [5, 5, 1, 1]])).round(4).tolist()
    [[0.3333, 0.0]]
    """
    a, b = first[:, None], second[None]
    low = np.maximum(a[..., :2], b[..., :2])
    high = np.minimum(a[..., :2] + a[..., 2:], b[..., :2] + b[..., 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=-1)
    union = a[..., 2] * a[..., 3] + b[..., 2] * b[..., 3] - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


def iou_of_pairs(first: Array, second: Array) -> Array:
    """Intersection over union of each row of one with the same row of the other; 0 for NaN.

    >>> iou_of_pairs(np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 2, 2]])).round(4).tolist()
    [0.3333]
    """
    (ax, ay, aw, ah), (bx, by, bw, bh) = first.T, second.T
    width = np.minimum(ax + aw, bx + bw) - np.maximum(ax, bx)
    height = np.minimum(ay + ah, by + bh) - np.maximum(ay, by)
    shared = np.clip(width, 0, None) * np.clip(height, 0, None)
    union = aw * ah + bw * bh - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


def by_image(image: NDArray[Any], *more: NDArray[Any]) -> Iterator[Rows]:
    """The rows of each image (and of each value of further columns), in the order of the file."""
    if not len(image):
        return
    keys = [np.unique(column, return_inverse=True)[1] for column in (image, *more)]
    order = np.lexsort(keys[::-1])
    changed = np.zeros(len(image) - 1, bool)
    for key in keys:
        changed |= np.diff(key[order]) != 0
    yield from np.split(order, np.flatnonzero(changed) + 1)


def best_first(score: Array) -> Rows:
    """Rows by falling score, ties in the order of the file."""
    return np.argsort(-score, kind="stable")


def nms(box: Array, score: Array, overlap: float) -> Rows:
    """Rows that survive, best first: none overlaps a better survivor by more than `overlap`."""
    order = best_first(score)
    shared = iou(box[order], box[order]) > overlap
    alive = np.ones(len(order), bool)
    for at in range(len(order)):
        if alive[at]:
            alive[at + 1 :] &= ~shared[at, at + 1 :]
    return order[alive]


def class_wise_nms(
    image: NDArray[Any], box: Array, label: Rows, score: Array, *, overlap: float, limit: int
) -> Rows:
    """Rows that survive suppression within their image and class, the best `limit` per image."""
    groups = by_image(image, label)
    alive = [rows[nms(box[rows], score[rows], overlap)] for rows in groups]
    kept = np.sort(np.concatenate(alive)) if alive else np.empty(0, np.int64)
    best = [rows[best_first(score[kept[rows]])[:limit]] for rows in by_image(image[kept])]
    return kept[np.concatenate(best)] if best else kept
