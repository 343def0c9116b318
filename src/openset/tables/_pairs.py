"""Pairs of rows that belong together, each once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


def pairs(key: Index) -> tuple[Index, Index]:
    """All pairs of rows of one key, those of neither order twice.

    >>> [column.tolist() for column in pairs(np.array([5, 3, 5, 5]))]
    [[0, 0, 2], [2, 3, 3]]
    """
    order = np.argsort(key, kind="stable")
    _, first, count = np.unique(key[order], return_index=True, return_counts=True)
    more = np.repeat(first + count, count) - np.arange(len(key)) - 1  # rows that follow of the key
    one = np.repeat(np.arange(len(key)), more)
    step = np.arange(len(one)) - np.repeat(np.cumsum(more) - more, more) + 1
    return order[one], order[one + step]
