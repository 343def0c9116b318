"""Columns: what the two tables share (validation, selection, ids of either kind).

An image id is an integer or a string, as in the files. A column of ids is therefore an `int64` or
a NumPy string array, never an object array, so that joins are vectorised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from openset.findings import UsageError

Attributes = Mapping[str, NDArray[Any]]
_CELLS = 20  # of a list, that are looked through while one value is sorted


def ids(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Image ids as an `int64` column if all are integers, else as strings.

    >>> ids([3, 1]).dtype.kind, ids(["a", 1]).tolist()
    ('i', ['a', '1'])
    """
    array = np.asarray(values)
    if array.size == 0 and array.dtype.kind not in "iuU":
        return np.empty(0, np.int64)
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "U":
        return array
    if array.dtype.kind == "f":
        raise UsageError("image ids must be integers or strings, not floats")
    return np.array([str(value) for value in values])


def column(
    name: str, values: ArrayLike, dtype: DTypeLike, length: int, width: int | None = None
) -> NDArray[Any]:
    """`values` as a contiguous column of `dtype`, refused when its shape is not the table's."""
    kind = np.asarray(values).dtype.kind
    if kind in "cmM" and np.dtype(dtype).kind != kind:  # NumPy would convert them in silence
        what = "complex numbers" if kind == "c" else "dates or durations"
        raise UsageError(f"column {name!r} must not hold {what}")
    with np.errstate(over="ignore"):  # beyond float32 is infinite, which checks count
        array: NDArray[Any] = np.ascontiguousarray(values, dtype)
    shape = (length,) if width is None else (length, width)
    if array.shape != shape:
        if array.size == 0 and length == 0:
            return np.empty(shape, dtype)
        raise UsageError(f"expected column {name!r} of shape {shape}, but got {array.shape}")
    return array


def take(attributes: Attributes, index: NDArray[Any] | slice) -> dict[str, NDArray[Any]]:
    """The rows `index` of every attribute column."""
    return {name: values[index] for name, values in attributes.items()}


def ranks(ids: NDArray[Any]) -> NDArray[np.int32]:
    """Place of each id when ids are sorted.

    >>> ranks(np.array([30, 10, 20])).tolist()
    [2, 0, 1]
    """
    rank = np.empty(len(ids), np.int32)
    rank[np.argsort(ids, kind="stable")] = np.arange(len(ids), dtype=np.int32)
    return rank


def positions(table: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int32]:
    """Index of each value in `table` (any order, distinct), -1 where it is absent.

    >>> positions(np.array([7, 3, 9]), np.array([3, 9, 4])).tolist()
    [1, 2, -1]
    """
    if len(values) == 0 or len(table) == 0:
        return np.full(len(values), -1, np.int32)
    if table.dtype.kind != values.dtype.kind:
        return positions(table.astype(str), values.astype(str))
    if table.dtype.kind == "i":
        low, high = int(table.min()), int(table.max())
        if high - low < max(1 << 22, 8 * len(values)):
            return _positions_by_lookup(table, values, low, high)
    order = np.argsort(table, kind="stable")
    at = np.searchsorted(table[order], values).clip(0, len(table) - 1)
    found = order[at]
    return np.where(table[found] == values, found, -1).astype(np.int32)


def _positions_by_lookup(
    table: NDArray[Any], values: NDArray[Any], low: int, high: int
) -> NDArray[np.int32]:
    where = np.full(high - low + 2, -1, np.int32)
    where[table - low] = np.arange(len(table), dtype=np.int32)
    if values.min() < low or values.max() > high:
        values = np.where((values < low) | (values > high), high + 1, values)
    found: NDArray[np.int32] = where[values - low] if low else where[values]
    return found


def tally(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values, in order, and how often each occurs.

    >>> [column.tolist() for column in tally(np.array([7, -2, 7]))]
    [[-2, 7], [1, 2]]
    """
    if len(values) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = min(0, int(values.min())), int(values.max())
    if high - low > max(1 << 20, 4 * len(values)):
        return np.unique(values, return_counts=True)
    counts = np.bincount(values - low if low else values)
    used = np.flatnonzero(counts)
    return used + low, counts[used]


def distinct(values: NDArray[np.integer], end: int) -> NDArray[np.int64]:
    """The distinct values, in order; all are from 0 to below `end`.

    Noted in a list of all that are possible, which is far quicker than sorting them, unless that
    list would be long.

    >>> distinct(np.array([7, 2, 7]), 9).tolist(), distinct(np.array([7, 2, 7]), 1 << 30).tolist()
    ([2, 7], [2, 7])
    """
    if end <= max(1 << 10, _CELLS * len(values)):
        there = np.zeros(end, np.bool_)
        there[values] = True
        return np.flatnonzero(there)
    narrow = np.int32 if end <= 1 << 31 else np.int64  # which is sorted twice as fast
    order = np.sort(values.astype(narrow))
    return order[np.append(True, order[1:] != order[:-1])[: len(order)]].astype(np.int64)


def longest_run(true: NDArray[np.bool_]) -> tuple[int, int]:
    """Where the longest run of true values begins and ends, the first of several.

    >>> longest_run(np.array([True, False, True, True])), longest_run(np.zeros(3, bool))
    ((2, 4), (0, 0))
    """
    edges = np.flatnonzero(np.diff(true, prepend=False, append=False)).reshape(-1, 2)
    if not len(edges):
        return 0, 0
    first, end = edges[np.argmax(edges[:, 1] - edges[:, 0])].tolist()
    return first, end


def text_column(values: Sequence[str]) -> NDArray[Any]:
    """Text of fixed width, or of variable width where one long value would cost much memory."""
    longest = max(map(len, values), default=0)
    if longest * len(values) > 16 * sum(map(len, values)) + (1 << 18):
        return np.array(values, np.dtypes.StringDType())
    return np.array(values, np.str_)
