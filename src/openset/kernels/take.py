"""take: the values of a column in another order."""

from __future__ import annotations

import ctypes
import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library

T = TypeVar("T", bound=np.generic)
_SYMBOLS = {size: f"openset_take_{size}" for size in (1, 2, 4, 8)}  # by bytes of a row


def take(values: NDArray[T], order: NDArray[np.int32]) -> NDArray[T]:
    """The same as ``values[order]``, on all threads where that is compiled and rows are short.

    >>> take(np.array([0.5, 0.25]), np.array([1, 0, 1], np.int32)).tolist()
    [0.25, 0.5, 0.25]
    """
    native = _library.library()
    symbol = _SYMBOLS.get(values.itemsize * math.prod(values.shape[1:]))
    plain = values.ndim and values.flags.c_contiguous and order.flags.c_contiguous
    if native is None or symbol is None or not plain or order.dtype != np.int32 or not len(order):
        return values[order]
    if order.min() < 0 or order.max() >= len(values):
        raise IndexError(f"order must lie in 0 .. {len(values) - 1}")
    taken = np.empty((len(order), *values.shape[1:]), values.dtype)
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (values, order, taken)]
    status = getattr(native, symbol)(
        *pointers, ctypes.c_int64(len(order)), ctypes.c_int32(_library.threads())
    )
    _library.check(native, status)
    return taken
