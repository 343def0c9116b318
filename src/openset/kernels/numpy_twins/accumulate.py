"""Accumulation in NumPy, without a loop over classes or detections.

Precision peaks only at true positives, so these alone are kept, as one list sorted by threshold,
class and position: the segment of a threshold and class is a curve. The false positives before a
true positive are the detections in range so far less the matched ones among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.kernels.accumulate import Accumulation, PrecisionRecall, empty_result

EPS = np.spacing(1)  # as in pycocotools


@dataclass(frozen=True, slots=True)
class Curves:
    """True positives of one size range, curve by curve.

    Attributes:
        curve: Threshold times number of classes, plus class.
        candidate: Index of the candidate.
        precision: Precision when it is counted.
        start: First true positive of each curve, by threshold and class.
        count: True positives of each curve.
    """

    curve: NDArray[np.intp]
    candidate: NDArray[np.intp]
    precision: NDArray[np.float64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]


def accumulate(given: Accumulation) -> PrecisionRecall:
    """See ``openset.kernels.accumulate``."""
    result = empty_result(given)
    klass = np.searchsorted(given.class_start, given.position, side="right") - 1
    for number in range(len(given.size_ranges)):
        curves = _trace(given, number, klass)
        n_positive = given.n_positive[:, number]
        empty = n_positive == 0
        result.recall[:, :, number] = _recall(given, curves, n_positive)
        precision, scores = _read_grid(given, curves, needed(given.recall_grid, n_positive))
        precision[:, empty] = scores[:, empty] = np.nan
        result.precision[..., number] = precision.transpose(0, 2, 1)
        result.scores[..., number] = scores.transpose(0, 2, 1)
    return result


def needed(grid: NDArray[np.float64], n_positive: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the fewest true positives whose recall, in float64, reaches each grid value.

    >>> needed(np.array([0, 0.5, 0.51]), np.array([2])).tolist()
    [[0, 1, 2]]
    """
    total = np.maximum(n_positive, 1)[:, None].astype(np.float64)
    count = np.ceil(grid * total)
    count = np.where((count - 1) / total >= grid, count - 1, count)
    count = np.where(count / total < grid, count + 1, count)
    return np.maximum(count, 0).astype(np.int64)


def _trace(given: Accumulation, number: int, klass: NDArray[np.intp]) -> Curves:
    n_thresholds, n_classes = given.n_thresholds, len(given.n_positive)
    low, high = given.size_ranges[number]
    in_range = (given.area >= low) & (given.area <= high)
    seen = _before(in_range & (given.rank < given.max_detections[-1]))
    bit = np.uint16(1) << np.arange(n_thresholds, dtype=np.uint16)[:, None]
    hit = given.matched[:, number] & bit != 0
    any_match = given.matched[:, number] | given.ignored[:, number]
    any_match = np.where(in_range[given.position], any_match, np.uint16(0))
    matched = np.stack([_before(row) for row in any_match & bit != 0])
    threshold, candidate = np.nonzero(hit)
    curve = threshold * n_classes + klass[candidate]
    count = np.bincount(curve, minlength=n_thresholds * n_classes)
    start = np.cumsum(count) - count
    tp = np.arange(1, len(curve) + 1) - start[curve]
    fp = seen[given.position[candidate] + 1] - matched[threshold, candidate + 1]
    # Both counts began with earlier classes: take off what they had at the start of this one.
    first = np.searchsorted(given.position, given.class_start[:-1])
    fp -= (seen[given.class_start[:-1]] - matched[:, first]).reshape(-1)[curve]
    shape = (n_thresholds, n_classes)
    return Curves(
        curve, candidate, tp / (fp + tp + EPS), start.reshape(shape), count.reshape(shape)
    )


def _before(flags: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Entry i counts the flags before i; there is one entry more than flags."""
    counts = np.zeros(len(flags) + 1, np.int32)
    np.cumsum(flags, out=counts[1:])
    return counts


def _recall(
    given: Accumulation, curves: Curves, n_positive: NDArray[np.int64]
) -> NDArray[np.float64]:
    rank = given.rank[given.position[curves.candidate]]
    recall = np.empty((*curves.count.shape, len(given.max_detections)))
    for number, limit in enumerate(given.max_detections):
        within = curves.curve[rank < limit]
        count = np.bincount(within, minlength=curves.count.size).reshape(curves.count.shape)
        recall[..., number] = count / np.maximum(n_positive, 1)
    recall[:, n_positive == 0] = np.nan
    return recall


def _read_grid(
    given: Accumulation, curves: Curves, needed: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read precision and score by threshold, class and recall."""
    count, start = curves.count[..., None], curves.start[..., None]
    reached = needed <= count
    cut = np.concatenate([start + np.minimum(np.maximum(needed - 1, 0), count), start + count], -1)
    # Highest precision from each cut to the next, then to the end of the curve. The appended
    # zero lets the last cut point behind the list.
    best = np.maximum.reduceat(np.append(curves.precision, 0.0), cut.reshape(-1))
    best = np.where(reached & (count > 0), best.reshape(cut.shape)[..., :-1], 0.0)
    precision = np.maximum.accumulate(best[..., ::-1], axis=-1)[..., ::-1]
    precision = np.where(reached, precision, 0.0)
    at_peak = np.append(given.score[given.position[curves.candidate]], 0.0)[cut[..., :-1]]
    n_detections = np.diff(given.class_start)
    highest = np.append(given.score, 0.0)[given.class_start[:-1]]
    at_first = np.where(n_detections > 0, highest, 0.0)[:, None]  # recall 0: the first detection
    return precision, np.where(reached, np.where(needed > 0, at_peak, at_first), 0.0)
