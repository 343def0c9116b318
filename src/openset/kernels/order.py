"""Class order: the one order in which all detections are kept."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library
from openset.kernels._structures import OrderInput


def class_order(
    klass: NDArray[np.int32],
    score: NDArray[np.float64],
    tie: NDArray[np.int32] | None,
    n_classes: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Order detections by class, falling score, tie key and input index.

    Args:
        klass: Class of each detection, from 0.
        score: Finite scores.
        tie: Equal scores go by ascending tie key, then input index; None for the index alone.
        n_classes: Number of classes.

    Returns:
        The input index at each position, and where each class starts (one more than classes).

    >>> order, start = class_order(
    ...     np.array([1, 0, 1], np.int32), np.array([0.2, 0.5, 0.9]), None, 2
    ... )
    >>> order.tolist(), start.tolist()
    ([1, 2, 0], [0, 1, 3])
    """
    klass = np.ascontiguousarray(klass, np.int32)
    score = np.ascontiguousarray(score, np.float64)
    if tie is not None:
        tie = np.ascontiguousarray(tie, np.int32)
    _check(klass, score, tie, n_classes)
    native = _library.library()
    if native is None:
        from openset.kernels.numpy_twins import order as twin

        return twin.class_order(klass, score, tie, n_classes)
    packed = _library.pack(
        OrderInput,
        klass=klass,
        score=score,
        tie=tie,
        n_detections=len(klass),
        n_classes=n_classes,
        threads=_library.threads(),
    )
    order = np.empty(len(klass), np.int32)
    start = np.empty(n_classes + 1, np.int64)
    status = native.openset_class_order(
        ctypes.byref(packed),
        order.ctypes.data_as(ctypes.c_void_p),
        start.ctypes.data_as(ctypes.c_void_p),
    )
    _library.check(native, status)
    return order, start


def _check(
    klass: NDArray[np.int32],
    score: NDArray[np.float64],
    tie: NDArray[np.int32] | None,
    n_classes: int,
) -> None:
    if len(score) != len(klass) or (tie is not None and len(tie) != len(klass)):
        raise ValueError("klass, score and tie must have the same length")
    if len(klass) and not (klass.min() >= 0 and klass.max() < n_classes):
        raise ValueError(f"classes must lie in 0 .. {n_classes - 1}")
