"""Curves: cumulative counts over detections in class order, at the true positives.

Recall only changes, and precision only peaks, at true positives; everything that walks a
precision-recall curve needs its values there and nowhere else.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset import kernels
from openset.matching import Matches


class Curve(NamedTuple):
    """The curve of every class at one overlap threshold, true positives only.

    Attributes:
        at: Positions of the true positives, in class order.
        start: Where each class begins among them, with the end appended.
        hits: True positives up to and including each.
        counted: Detections that count (right or wrong) up to and including each.
    """

    at: NDArray[np.intp]
    start: NDArray[np.intp]
    hits: NDArray[np.int64]
    counted: NDArray[np.int64]

    @property
    def klass(self) -> NDArray[np.intp]:
        """Class of each true positive."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @property
    def precision(self) -> NDArray[np.float64]:
        """Precision at each true positive."""
        return self.hits / self.counted


def curve(matches: Matches, iou: float | None = None) -> Curve:
    """The curves of all classes at an overlap threshold."""
    outcome = matches.outcome(iou)
    at = np.flatnonzero(outcome.correct)
    start = np.searchsorted(at, matches.class_start)
    hits = np.arange(1, len(at) + 1) - np.repeat(start[:-1], np.diff(start))
    counted = running(~outcome.ignored, matches.class_start, at)
    return Curve(at, start, hits, counted)


def running(
    mask: NDArray[np.bool_], class_start: NDArray[Any], at: NDArray[np.intp]
) -> NDArray[np.int64]:
    """How many of `mask` stand at or before each position of `at`, from its class's start."""
    total = np.zeros(len(mask) + 1, np.int32)  # of all detections, which 32 bits can count
    np.cumsum(mask, out=total[1:])
    klass = np.searchsorted(class_start, at, side="right") - 1
    return np.asarray(total[at + 1] - total[class_start[klass]], np.int64)


def envelope(values: NDArray[np.floating], start: NDArray[np.intp]) -> NDArray[np.floating]:
    """Within each class, the largest value at or after each position."""
    result = np.empty_like(values)
    for low, high in pairwise(start.tolist()):
        result[low:high] = np.maximum.accumulate(values[low:high][::-1])[::-1]
    return result


def resampled_precision(
    matches: Matches,
    iou: float | None,
    *,
    grid: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Average precision at one overlap threshold, by class [K + 1] and resample.

    Args:
        matches: Matched detections with weights.
        iou: The overlap threshold.
        grid: Recalls over which the envelope is averaged; None for the area under it.
    """
    assert matches.weights is not None
    outcome = matches.outcome(iou)
    position = np.flatnonzero(outcome.correct).astype(np.int32)
    return kernels.weighted_average_precision(
        matches.class_start,
        matches.image,
        position,
        np.ones(len(position), np.uint16),
        np.zeros(len(position), np.uint16),
        matches.weights,
        matches.positives,
        n_thresholds=1,
        recall_grid=np.ones(1) if grid is None else grid,
        counted=~outcome.ignored,
        area=grid is None,
    )[:, 0]


def hits_needed(positives: NDArray[Any], recall: Any) -> NDArray[np.int64]:
    """The least number of hits whose recall `hits / positives` reaches a level, in float64.

    >>> hits_needed(np.array([10, 7]), 0.3).tolist()
    [3, 3]
    """
    n = np.maximum(positives, 1).astype(np.float64)
    need = np.ceil(recall * n)
    need = np.where((need - 1) / n >= recall, need - 1, need)
    need = np.where(need / n < recall, need + 1, need)
    return np.asarray(np.maximum(need, 0), np.int64)
