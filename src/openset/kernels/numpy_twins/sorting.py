"""Linear-time sorting of small integers in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def counting_argsort(values: NDArray[Any], limit: int) -> NDArray[np.intp]:
    """Stable argsort of integers in 0 .. limit-1.

    NumPy sorts 16-bit keys by counting; one such pass per 16 bits beats a comparison sort.

    >>> counting_argsort(np.array([70000, 3, 70000, 1]), 70001).tolist()
    [3, 1, 0, 2]
    """
    order = np.argsort(values.astype(np.uint16), kind="stable")
    for shift in range(16, max(limit - 1, 0).bit_length(), 16):
        digit = (values >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def run_starts(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the first of each run of equal values.

    >>> run_starts(np.array([5, 5, 2, 5])).tolist()
    [True, False, True, True]
    """
    starts = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return starts


def place_in_run(starts: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Number the members of each run from 0, given the marks of `run_starts`.

    >>> place_in_run(np.array([True, False, True, True])).tolist()
    [0, 1, 0, 0]
    """
    first = np.flatnonzero(starts)
    lengths = np.diff(first, append=len(starts))
    return np.arange(len(starts)) - np.repeat(first, lengths)
