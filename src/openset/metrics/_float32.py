"""Last digits of torch: the float32 sums and ranges of published code, by NumPy alone.

Elephant's evaluator makes its levels by `torch.arange` and its class means by `torch.mean`. Both
round in an order of their own, and the order decides which wild images take part and what the
seventh digit is. This file is that order. Not a second torch: only what the published code calls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
_STEP, _STEPS = 0.1, 50  # torch.arange(0, 5, 0.1)
_WIDTH = 8  # numbers that torch makes at once: from the first of them, not from the range's start
_LANES, _ROWS = 4, 16  # partial sums side by side, and how many numbers each takes before it rests


def torch_levels() -> Float32:
    """``torch.arange(0, 5, 0.1)``: six of its levels are not those of NumPy.

    >>> at = [9, 18, 26, 28, 31, 36]
    >>> (torch_levels()[at] != (np.arange(50) / 10).astype(np.float32)[at]).all()
    np.True_
    """
    place = np.arange(_STEPS)
    first = (_STEP * (place // _WIDTH * _WIDTH)).astype(np.float32)
    return (first.astype(np.float64) + place % _WIDTH * _STEP).astype(np.float32)


def torch_mean(values: Float32, present: NDArray[np.bool_]) -> Float32:
    """``torch.mean(values, dim=0)`` of the rows present in each column; NaN where there is none.

    Torch adds every fourth row by itself, sixteen rows at a time, and what four do not divide at
    the end of the first sum.
    """
    rows, columns = values.shape
    number = present.sum(axis=0)
    size = -(-max(rows, 1) // (_LANES * _ROWS)) * _LANES * _ROWS
    packed = np.zeros((size, columns), np.float32)
    order = np.argsort(~present, axis=0, kind="stable")
    packed[:rows] = np.take_along_axis(np.where(present, values, 0), order, axis=0)
    left_over = np.arange(size)[:, None] >= number // _LANES * _LANES
    even = np.where(left_over, 0, packed).reshape(-1, _ROWS, _LANES, columns)
    sums = _in_turn(_in_turn(even, 1), 0)
    rest = np.where(left_over, packed, 0)
    sums[0] = _in_turn(np.concatenate([sums[:1], rest]), 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(_in_turn(sums, 0) / number.astype(np.float32))


def _in_turn(values: Float32, axis: int) -> Float32:
    """The sum, strictly one after the other; `np.sum` adds in pairs where it can."""
    return np.asarray(np.take(np.cumsum(values, axis=axis, dtype=np.float32), -1, axis=axis))
