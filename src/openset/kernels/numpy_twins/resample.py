"""Resampling in NumPy, a class and a block of resamples at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.kernels.numpy_twins.accumulate import EPS, needed
from openset.kernels.resample import Resamples

ENTRIES_PER_BLOCK = 1 << 22
FEW = 16  # resamples that are faster stored one after the other than side by side


def blocks(n_rows: int, n_resamples: int) -> Iterator[slice]:
    """Cut the resamples so that a table of n_rows and a block of columns stays small."""
    width = max(1, ENTRIES_PER_BLOCK // max(n_rows, 1))
    for begin in range(0, n_resamples, width):
        yield slice(begin, min(begin + width, n_resamples))


def drawn(
    weights: NDArray[np.uint8], image: NDArray[np.int32], columns: slice
) -> NDArray[np.uint8]:
    """How often a block of resamples drew each detection, by detection and resample."""
    part = weights[:, columns]
    if part.shape[1] > FEW:
        return part[image]
    return np.ascontiguousarray(part.T).take(image, axis=1).T


@dataclass(frozen=True, slots=True)
class _Class:
    """The candidates of one class in a block of resamples.

    Attributes:
        weights: Weight by candidate and resample.
        seen: Counted detections up to and including each candidate.
        matched: Mask of each candidate.
        excused: Mask of thresholds at which it is no false positive.
        n_positive: Objects by resample.
    """

    weights: NDArray[np.int32]
    seen: NDArray[np.int32]
    matched: NDArray[np.uint16]
    excused: NDArray[np.uint16]
    n_positive: NDArray[np.int64]


def weighted_average_precision(given: Resamples) -> NDArray[np.float64]:
    """See ``openset.kernels.weighted_average_precision``."""
    n_classes, n_resamples = given.n_positive.shape
    result = np.empty((n_classes, given.n_thresholds, n_resamples), np.float64)
    for klass in range(n_classes):
        size = int(given.class_start[klass + 1] - given.class_start[klass])
        for columns in blocks(size, n_resamples):
            part = _select(given, klass, columns)
            for t in range(given.n_thresholds):
                result[klass, t, columns] = _average_precision(given, part, np.uint16(t))
    return result


def _select(given: Resamples, klass: int, columns: slice) -> _Class:
    begin, end = (int(bound) for bound in given.class_start[klass : klass + 2])
    first, last = (int(bound) for bound in np.searchsorted(given.position, (begin, end)))
    at = given.position[first:last] - begin
    table = drawn(given.weights, given.image[begin:end], columns)
    matched = given.matched[first:last]
    excused = matched | given.ignored[first:last]
    if given.counted is None:
        seen = np.cumsum(table, axis=0, dtype=np.int32)
    else:
        counted = given.counted[begin:end]
        seen = np.cumsum(table * counted[:, None], axis=0, dtype=np.int32)
        excused = np.where(counted[at], excused, np.uint16(0))
    n_positive = given.n_positive[klass, columns]
    return _Class(table[at].astype(np.int32), seen[at], matched, excused, n_positive)


def _average_precision(given: Resamples, part: _Class, t: np.uint16) -> NDArray[np.float64]:
    hit = (part.matched >> t) & np.uint16(1) != 0
    excused = (part.excused >> t) & np.uint16(1) != 0
    own = part.weights[hit]
    tp = np.cumsum(own, axis=0)
    fp = part.seen[hit] - np.cumsum(part.weights * excused[:, None], axis=0)[hit]
    precision = tp / (fp + tp + EPS)
    envelope = np.maximum.accumulate(precision[::-1], axis=0)  # last one first
    total = part.n_positive
    if given.area:
        result = sum_in_order(envelope * own[::-1]) / np.maximum(total, 1)
    else:
        terms = _grid_terms(given.recall_grid, tp, envelope[::-1], total)
        result = sum_in_order(terms[::-1]) / len(given.recall_grid)
    return np.where(total > 0, result, np.nan)


def _grid_terms(
    grid: NDArray[np.float64],
    tp: NDArray[np.int64],
    envelope: NDArray[np.float64],
    total: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Read the envelope where each recall is first reached, by recall and resample.

    Recalls that are reached at the same detection are one term, at the last of them: their number
    times the envelope. Adding it up one by one would round differently.
    """
    n_rows, n_columns = tp.shape
    need = needed(grid, total).T
    # All columns are searched at once: column b is lifted above all values of column b - 1.
    lift = (int(total.max(initial=0)) + int(tp.max(initial=0)) + 2) * np.arange(n_columns)
    flat = (tp + lift).T.reshape(-1)
    where = np.searchsorted(flat, (need + lift).T.reshape(-1)).reshape(n_columns, -1).T
    row = where - n_rows * np.arange(n_columns)
    padded = np.concatenate([envelope, np.zeros((1, n_columns))])  # never reached: 0
    group = np.where(need == 0, -1, row)  # recall 0 needs no detection
    change = group[1:] != group[:-1]
    edge = np.ones((1, n_columns), np.bool_)
    index = np.arange(len(grid))[:, None]
    begin = np.maximum.accumulate(np.where(np.concatenate([edge, change]), index, 0), axis=0)
    values = padded[row, np.arange(n_columns)] * (index - begin + 1)
    return np.where(np.concatenate([change, edge]), values, 0.0)


def sum_in_order(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum rows one after the other; np.sum would pair them and round differently."""
    if not len(values):
        return np.zeros(values.shape[1])
    return np.asarray(np.add.accumulate(values, axis=0)[-1])
