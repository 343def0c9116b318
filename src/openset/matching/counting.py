"""Counting with image weights: one number for the data itself, or one per resample.

A detection or object counts as often as its image was drawn. Counts per image, times weights, are
a matrix product, in float32 where that is exact, of some images at a time: weights are bytes, and
nobody holds all of them as anything wider, unless they are few.
"""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Weights = NDArray[np.uint8] | NDArray[np.float32]
_FEW = 16  # columns of weights that are counted one by one
_CELLS = 1 << 24  # of a table of classes and images
_EXACT = 1 << 22  # up to here, times a weight of a few, float32 holds every integer
_WEIGHTS = 1 << 23  # that are widened at a time
_KEPT = 1 << 25  # up to which widening them every time would cost more than the memory


def widened(weights: NDArray[np.uint8]) -> Weights:
    """Weights as products take them, if they are not too many to be kept so."""
    return weights.astype(np.float32) if weights.size <= _KEPT else weights


def weighted_count(image: NDArray[Any], weights: Weights) -> Counts:
    """How many items, given the image of each, in every resample."""
    per_image = np.bincount(image, minlength=len(weights))
    return _product(per_image[None].astype(np.float32), weights)[0]


def count_classes(
    klass: NDArray[np.int32],
    image: NDArray[np.int32],
    n_classes: int,
    *,
    times: NDArray[np.integer] | None = None,
    weights: Weights | None = None,
) -> Counts:
    """How many items of each class, and in every resample if there are weights.

    Args:
        klass: Class of each item.
        image: Image of each item.
        n_classes: Number of classes.
        times: How often each item counts.
        weights: How often each image (rows) was drawn in each resample (columns).

    >>> classes, images = np.array([0, 2, 2]), np.array([0, 0, 1])
    >>> count_classes(classes, images, 3).tolist()
    [1, 0, 2]
    >>> count_classes(classes, images, 3, weights=np.array([[2], [0]], np.float32)).tolist()
    [[2], [0], [2]]
    """
    if weights is None:
        return np.bincount(klass, times, minlength=n_classes).astype(np.int64)
    if weights.shape[1] <= _FEW:  # the table below would cost more to fill than it saves
        often = weights[image].astype(np.float32, copy=False)
        often = often if times is None else often * times[:, None]
        columns = [np.bincount(klass, column, minlength=n_classes) for column in often.T]
        return np.stack(columns, axis=1).astype(np.int64)
    counts = np.zeros((n_classes, weights.shape[1]), np.int64)
    present = np.flatnonzero(np.bincount(klass, minlength=n_classes))
    at_once = max(_CELLS // max(len(weights), 1), 1)
    for some in np.split(present, range(at_once, len(present), at_once)):
        counts[some] = _count_some(some, klass, image, times, weights)
    return counts


def _count_some(
    classes: NDArray[np.intp],
    klass: NDArray[np.int32],
    image: NDArray[np.int32],
    times: NDArray[np.integer] | None,
    weights: Weights,
) -> Counts:
    """The same of some classes in rising order, by a table of these and all images."""
    if not len(classes):
        return np.zeros((0, weights.shape[1]), np.int64)
    return _product(_table(classes, klass, image, times, len(weights)), weights)


def _table(
    classes: NDArray[np.intp],
    klass: NDArray[np.int32],
    image: NDArray[np.int32],
    times: NDArray[np.integer] | None,
    n_images: int,
) -> NDArray[np.float32]:
    """How many items of some classes each image has: few enough to be exact."""
    own = (klass >= classes[0]) & (klass <= classes[-1])
    cell = np.searchsorted(classes, klass[own]) * n_images + image[own]
    table = np.zeros(len(classes) * n_images, np.float32)
    # Not by `np.bincount`, whose table of wider numbers would be beside this one.
    np.add.at(table, cell, 1 if times is None else times[own])
    return table.reshape(len(classes), n_images)


def _product(counts: NDArray[np.float32], weights: Weights) -> Counts:
    """Counts by class and image, times weights by image and resample."""
    total = np.zeros((len(counts), weights.shape[1]), np.int64)
    step = max(_WEIGHTS // max(weights.shape[1], 1), 1)
    for start in range(0, len(weights), step):
        some = counts[:, start : start + step]
        kind = np.dtype(np.float32 if some.sum(dtype=np.float64) <= _EXACT else np.float64)
        wide: NDArray[Any] = weights[start : start + step].astype(kind, copy=False)
        total += np.rint(some.astype(kind, copy=False) @ wide).astype(np.int64)
    return total


def wild_wanted(ratio: float, closed: int) -> int:
    """How many wild images a wilderness ratio takes beside closed-set ones, rounded down.

    >>> int(1.4 * 45), wild_wanted(1.4, 45)
    (62, 63)
    """
    return floor(ratio * closed + 1e-9)
