"""Counts at the score where each class reaches a recall, for the data or many resamples of it."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library
from openset.kernels._structures import OperatingPointInput, OperatingPointOutput
from openset.kernels.resample import MAX_FLAGS, check_columns, rows, weight_table


def operating_points(
    class_start: NDArray[np.int64],
    image: NDArray[np.int32],
    flags: NDArray[np.uint8],
    weights: NDArray[np.uint8],
    n_positive: NDArray[np.int64],
    *,
    recall: float | NDArray[np.float64],
    n_flags: int,
    score: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Count flagged detections of each class up to a recall level.

    Args:
        class_start: From `class_order`.
        image: Image of each detection in class order.
        flags: Bit 0 of a detection: a hit, which recall counts. Bit f: it counts for flag f.
        weights: How often each resample (columns) drew each image (rows).
        n_positive: Objects that count, by class and resample.
        recall: The level, for all resamples or for each.
        n_flags: How many bits of the flags to count.
        score: With scores, the threshold at which recall first reaches the level, and all
            detections of at least that score. Without, the first detection whose recall comes
            nearest to the level; a class without objects stands at its first detection.

    Returns:
        Counts by class, flag and resample, and whether the class reaches the level there (has any
        detection there, without scores).

    >>> counts, reached = operating_points(
    ...     np.array([0, 3]), np.array([0, 1, 0], np.int32), np.array([3, 2, 3], np.uint8),
    ...     np.ones((2, 1), np.uint8), np.array([[2]]), recall=1.0, n_flags=2,
    ... )
    >>> counts[:, :, 0].tolist(), reached.tolist()
    ([[2, 3]], [[True]])
    """
    class_start = np.ascontiguousarray(class_start, np.int64)
    image, flags = np.ascontiguousarray(image, np.int32), np.ascontiguousarray(flags, np.uint8)
    weights, n_positive = rows(weights), np.ascontiguousarray(n_positive, np.int64)
    score = None if score is None else np.ascontiguousarray(score, np.float64)
    check_columns(class_start, image, weights)
    n_classes, n_resamples = len(class_start) - 1, weights.shape[1]
    levels = np.ascontiguousarray(np.broadcast_to(recall, n_resamples), np.float64)
    if len(flags) != len(image) or not 1 <= n_flags <= MAX_FLAGS:
        raise ValueError(f"flags must have one entry per detection and 1 to {MAX_FLAGS} bits")
    if n_positive.shape != (n_classes, n_resamples):
        raise ValueError("n_positive must have one row per class and one column per resample")
    native = _library.library()
    if native is None:
        from openset.kernels.numpy_twins import operating_points as twin

        return twin.operating_points(
            class_start, image, flags, weights, n_positive, levels, n_flags, score
        )
    counts = np.empty((n_classes, n_flags, n_resamples), np.int32)
    reached = np.empty((n_classes, n_resamples), np.bool_)
    given = _library.pack(
        OperatingPointInput,
        class_start=class_start,
        image=image,
        flags=flags,
        score=score,
        n_positive=n_positive,
        weights=weight_table(weights),
        recall=levels,
        n_classes=n_classes,
        n_flags=n_flags,
        threads=_library.threads(),
    )
    found = _library.pack(OperatingPointOutput, counts=counts, reached=reached)
    _library.check(
        native, native.openset_operating_points(ctypes.byref(given), ctypes.byref(found))
    )
    return counts, reached
