"""Precision and recall of every class, threshold and size range."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library
from openset.kernels._structures import AccumulateInput, AccumulateOutput


class PrecisionRecall(NamedTuple):
    """Precision on a grid of recalls, and recall by limit of detections.

    NaN where a class has no object in the size range.

    Attributes:
        precision: By threshold, recall, class and size range; 0 where the recall is not reached.
        scores: The score at which each of these recalls is reached.
        recall: By threshold, class, size range and limit of detections.
    """

    precision: NDArray[np.float64]
    scores: NDArray[np.float64]
    recall: NDArray[np.float64]


class Accumulation(NamedTuple):
    """Everything accumulation depends on, contiguous and of the right types."""

    score: NDArray[np.float64]
    area: NDArray[np.float64]
    rank: NDArray[np.int32]
    class_start: NDArray[np.int64]
    position: NDArray[np.int32]
    matched: NDArray[np.uint16]
    ignored: NDArray[np.uint16]
    n_positive: NDArray[np.int64]
    n_thresholds: int
    size_ranges: NDArray[np.float64]
    recall_grid: NDArray[np.float64]
    max_detections: NDArray[np.int32]


def accumulate(
    score: NDArray[np.float64],
    area: NDArray[np.float64],
    rank: NDArray[np.int32],
    class_start: NDArray[np.int64],
    position: NDArray[np.int32],
    matched: NDArray[np.uint16],
    ignored: NDArray[np.uint16],
    n_positive: NDArray[np.int64],
    *,
    n_thresholds: int,
    size_ranges: NDArray[np.float64],
    recall_grid: NDArray[np.float64],
    max_detections: tuple[int, ...],
) -> PrecisionRecall:
    """Accumulate precision and recall as pycocotools does.

    Args:
        score: Scores in class order.
        area: Areas of the detections in class order; an unmatched one outside of a size range
            is ignored there.
        rank: From `match`.
        class_start: From `class_order`.
        position: From `match`.
        matched: From `match`.
        ignored: From `match`.
        n_positive: Objects that count, by class and size range.
        n_thresholds: How many thresholds `match` was given.
        size_ranges: As given to `match`.
        recall_grid: Ascending recalls at which precision is read.
        max_detections: Ascending limits per image and class. Recall is computed for each,
            precision for the last, which must be the limit given to `match`.

    Returns:
        Precision, scores and recall.

    >>> found = accumulate(
    ...     np.array([0.9, 0.8]), np.array([9.0, 9.0]), np.array([0, 1], np.int32),
    ...     np.array([0, 2]), np.array([1], np.int32),
    ...     np.array([[1]], np.uint16), np.array([[0]], np.uint16), np.array([[2]]),
    ...     n_thresholds=1, size_ranges=np.array([[0, 1e10]]),
    ...     recall_grid=np.array([0, 0.5, 1]), max_detections=(1, 100),
    ... )
    >>> found.precision.ravel().tolist(), found.recall.ravel().tolist()
    ([0.5, 0.5, 0.0], [0.0, 0.5])
    """
    given = Accumulation(
        score=np.ascontiguousarray(score, np.float64),
        area=np.ascontiguousarray(area, np.float64),
        rank=np.ascontiguousarray(rank, np.int32),
        class_start=np.ascontiguousarray(class_start, np.int64),
        position=np.ascontiguousarray(position, np.int32),
        matched=np.ascontiguousarray(matched, np.uint16),
        ignored=np.ascontiguousarray(ignored, np.uint16),
        n_positive=np.ascontiguousarray(n_positive, np.int64),
        n_thresholds=n_thresholds,
        size_ranges=np.ascontiguousarray(size_ranges, np.float64),
        recall_grid=np.ascontiguousarray(recall_grid, np.float64),
        max_detections=np.array(max_detections, np.int32),
    )
    _check(given)
    native = _library.library()
    if native is not None:
        return _accumulate_native(native, given)
    from openset.kernels.numpy_twins import accumulate as twin

    return twin.accumulate(given)


def _check(given: Accumulation) -> None:
    n, n_candidates, n_ranges = len(given.score), len(given.position), len(given.size_ranges)
    if not len(given.area) == len(given.rank) == n:
        raise ValueError("score, area and rank must have the same length")
    if given.class_start[0] != 0 or given.class_start[-1] != n:
        raise ValueError(f"class_start must run from 0 to {n}")
    if not given.matched.shape == given.ignored.shape == (n_candidates, n_ranges):
        raise ValueError(f"matched and ignored must have shape {(n_candidates, n_ranges)}")
    if given.n_positive.shape != (len(given.class_start) - 1, n_ranges):
        raise ValueError("n_positive must have one row per class and one column per size range")
    ends = given.position[[0, -1]] if n_candidates else np.zeros(2)
    if (np.diff(given.position) <= 0).any() or ends[0] < 0 or ends[1] >= max(n, 1):
        raise ValueError("positions must be ascending indices into the class order")
    grid = given.recall_grid
    if not ((grid >= 0) & (grid <= 1)).all() or (np.diff(grid) < 0).any():
        raise ValueError("recall_grid must be ascending between 0 and 1")
    if not len(given.max_detections) or (np.diff(given.max_detections) < 0).any():
        raise ValueError("max_detections must be ascending")


def empty_result(given: Accumulation) -> PrecisionRecall:
    """Allocate the arrays of the result."""
    n_thresholds, n_grid = given.n_thresholds, len(given.recall_grid)
    n_classes, n_ranges = given.n_positive.shape
    return PrecisionRecall(
        np.empty((n_thresholds, n_grid, n_classes, n_ranges)),
        np.empty((n_thresholds, n_grid, n_classes, n_ranges)),
        np.empty((n_thresholds, n_classes, n_ranges, len(given.max_detections))),
    )


def _accumulate_native(native: ctypes.CDLL, given: Accumulation) -> PrecisionRecall:
    result = empty_result(given)
    packed = _library.pack(
        AccumulateInput,
        score=given.score,
        area=given.area,
        rank=given.rank,
        class_start=given.class_start,
        position=given.position,
        matched=given.matched,
        ignored=given.ignored,
        n_positive=given.n_positive,
        size_ranges=given.size_ranges,
        recall_grid=given.recall_grid,
        max_detections=given.max_detections,
        n_candidates=len(given.position),
        n_classes=len(given.n_positive),
        n_thresholds=given.n_thresholds,
        n_ranges=len(given.size_ranges),
        n_grid=len(given.recall_grid),
        n_limits=len(given.max_detections),
        threads=_library.threads(),
    )
    wanted = _library.pack(
        AccumulateOutput,
        precision=result.precision,
        scores=result.scores,
        recall=result.recall,
    )
    status = native.openset_accumulate(ctypes.byref(packed), ctypes.byref(wanted))
    _library.check(native, status)
    return result
