"""Counts and average precision of many resamples of the images at once.

A resample draws each image some number of times: its weight. A detection then counts that often,
in place, its copies following each other in class order.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library
from openset.kernels._structures import ResampleInput, WeightTable

MAX_FLAGS = 8
MAX_GRID = (1 << 16) - 1


class Resamples(NamedTuple):
    """Everything resampled average precision depends on, of the right types."""

    image: NDArray[np.int32]
    class_start: NDArray[np.int64]
    counted: NDArray[np.bool_] | None
    position: NDArray[np.int32]
    matched: NDArray[np.uint16]
    ignored: NDArray[np.uint16]
    weights: NDArray[np.uint8]
    n_positive: NDArray[np.int64]
    n_thresholds: int
    recall_grid: NDArray[np.float64]
    area: bool


def weighted_average_precision(
    class_start: NDArray[np.int64],
    image: NDArray[np.int32],
    position: NDArray[np.int32],
    matched: NDArray[np.uint16],
    ignored: NDArray[np.uint16],
    weights: NDArray[np.uint8],
    n_positive: NDArray[np.int64],
    *,
    n_thresholds: int,
    recall_grid: NDArray[np.float64],
    counted: NDArray[np.bool_] | None = None,
    area: bool = False,
) -> NDArray[np.float64]:
    """Compute the average precision of every class, threshold and resample.

    Args:
        class_start: From `class_order`.
        image: Image of each detection in class order.
        position: From `match`.
        matched: From `match`, for one size range.
        ignored: From `match`, for the same size range.
        weights: How often each resample (columns) drew each image (rows).
        n_positive: Objects that count, by class and resample.
        n_thresholds: How many thresholds `match` was given.
        recall_grid: Ascending recalls at which precision is read and averaged.
        counted: Whether a detection in class order, unmatched, is a false positive: within the
            size range and the limit of detections. None if all are.
        area: Instead of the mean over the grid, take the area under the envelope of precision.

    Returns:
        By class, threshold and resample; NaN where there is no positive.

    >>> weighted_average_precision(
    ...     np.array([0, 2]), np.array([0, 1], np.int32), np.array([1], np.int32),
    ...     np.array([1], np.uint16), np.array([0], np.uint16),
    ...     weights=np.array([[1, 0, 2], [1, 2, 0]], np.uint8), n_positive=np.array([[1, 2, 0]]),
    ...     n_thresholds=1, recall_grid=np.linspace(0, 1, 101),
    ... ).tolist()
    [[[0.5, 1.0, nan]]]
    """
    given = Resamples(
        image=np.ascontiguousarray(image, np.int32),
        class_start=np.ascontiguousarray(class_start, np.int64),
        counted=None if counted is None else np.ascontiguousarray(counted, np.bool_),
        position=np.ascontiguousarray(position, np.int32),
        matched=np.ascontiguousarray(matched, np.uint16),
        ignored=np.ascontiguousarray(ignored, np.uint16),
        weights=rows(weights),
        n_positive=np.ascontiguousarray(n_positive, np.int64),
        n_thresholds=n_thresholds,
        recall_grid=np.ascontiguousarray(recall_grid, np.float64),
        area=area,
    )
    _check_resamples(given)
    native = _library.library()
    if native is not None:
        return _native_average_precision(native, given)
    from openset.kernels.numpy_twins import resample as twin

    return twin.weighted_average_precision(given)


def _native_average_precision(native: ctypes.CDLL, given: Resamples) -> NDArray[np.float64]:
    n_classes, n_resamples = given.n_positive.shape
    result = np.empty((n_classes, given.n_thresholds, n_resamples), np.float64)
    packed = _library.pack(
        ResampleInput,
        image=given.image,
        class_start=given.class_start,
        counted=given.counted,
        position=given.position,
        matched=given.matched,
        ignored=given.ignored,
        n_positive=given.n_positive,
        recall_grid=given.recall_grid,
        weights=weight_table(given.weights),
        n_candidates=len(given.position),
        n_classes=n_classes,
        n_thresholds=given.n_thresholds,
        n_grid=len(given.recall_grid),
        area=given.area,
        threads=_library.threads(),
    )
    pointer = result.ctypes.data_as(ctypes.c_void_p)
    status = native.openset_resampled_average_precision(ctypes.byref(packed), pointer)
    _library.check(native, status)
    return result


def rows(weights: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Make the rows contiguous; a block of columns of a larger table is taken as it is."""
    if weights.dtype == np.uint8 and weights.ndim == 2 and weights.strides[1] == 1:
        return weights
    return np.ascontiguousarray(weights, np.uint8)


def weight_table(weights: NDArray[np.uint8]) -> WeightTable:
    """Describe the table to the compiled kernels."""
    return WeightTable(weights.ctypes.data, weights.strides[0], *weights.shape)


def check_columns(
    class_start: NDArray[np.int64], image: NDArray[np.int32], weights: NDArray[np.uint8]
) -> None:
    """Refuse columns that do not belong together."""
    if class_start[0] != 0 or class_start[-1] != len(image) or (np.diff(class_start) < 0).any():
        raise ValueError(f"class_start must ascend from 0 to {len(image)}")
    if weights.ndim != 2:
        raise ValueError("weights must have one row per image and one column per resample")
    if len(image) and not (image.min() >= 0 and image.max() < len(weights)):
        raise ValueError(f"image must lie in 0 .. {len(weights) - 1}: weights has a row for each")


def _check_positions(name: str, positions: NDArray[np.int32], n: int) -> None:
    if len(positions) and not (
        positions[0] >= 0 and positions[-1] < n and (np.diff(positions) >= 0).all()
    ):
        raise ValueError(f"{name} must be ascending positions below {n}")


def _check_resamples(given: Resamples) -> None:
    check_columns(given.class_start, given.image, given.weights)
    _check_positions("position", given.position, len(given.image))
    if not given.matched.shape == given.ignored.shape == given.position.shape:
        raise ValueError("matched and ignored must have one entry per candidate")
    if given.counted is not None and given.counted.shape != given.image.shape:
        raise ValueError("counted must have one entry per detection")
    if given.n_positive.shape != (len(given.class_start) - 1, given.weights.shape[1]):
        raise ValueError("n_positive must have one row per class and one column per resample")
    grid = given.recall_grid
    if not ((grid >= 0) & (grid <= 1)).all() or (np.diff(grid) < 0).any():
        raise ValueError("recall_grid must be ascending between 0 and 1")
    if not 1 <= len(grid) <= MAX_GRID:
        raise ValueError(f"recall_grid must have 1 to {MAX_GRID} values")
