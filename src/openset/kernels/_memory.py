"""Columns in one allocation.

Columns that live and die together are parts of one block: NumPy asks for huge pages from 4 MB on,
and touching fresh memory page by page costs more than filling it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector register


def empty_columns(n: int, **types: Any) -> dict[str, NDArray[Any]]:
    """Uninitialised columns of `n` rows; a type may be a pair of type and width of a row.

    >>> columns = empty_columns(3, image=np.int32, box=(np.float64, 4))
    >>> columns["image"].shape, columns["box"].shape, columns["box"].dtype.name
    ((3,), (3, 4), 'float64')
    """
    rows = {name: np.dtype(kind) for name, kind in types.items()}
    sizes = [-(-n * row.itemsize // _ALIGNMENT) * _ALIGNMENT for row in rows.values()]
    block, start, columns = np.empty(sum(sizes) + _ALIGNMENT, np.uint8), 0, {}
    start = -block.ctypes.data % _ALIGNMENT
    for (name, row), size in zip(rows.items(), sizes, strict=True):
        column = block[start : start + n * row.itemsize].view(row.base)
        columns[name] = column.reshape(n, *row.shape)
        start += size
    return columns
