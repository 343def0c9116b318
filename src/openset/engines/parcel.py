"""Parcel: a result on its way to another process, its columns in few bytes that lose nothing.

Whole numbers go in the narrowest type that holds them; numbers as float32, or as whole numbers with
a few decimals, where every bit comes back. Who opens a parcel finds what was put in.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
_LEAST = 1 << 10  # bytes of a column for which it is worth it
_SAMPLE = 64  # values that say how many decimals there may be
_LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Parcel(Generic[T]):
    """Something that is packed when it is pickled, and only then."""

    content: T

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        buffers: list[pickle.PickleBuffer] = []
        file = BytesIO()
        _Packing(file, protocol=5, buffer_callback=buffers.append).dump(self.content)
        return _opened, (file.getvalue(), buffers)


def _opened(pickled: bytes, buffers: Iterable[Any]) -> Parcel[Any]:
    return Parcel(pickle.loads(pickled, buffers=buffers))  # noqa: S301 - within a pickle


class _Packing(pickle.Pickler):
    """Pickles columns packed."""

    def reducer_override(self, obj: Any) -> Any:
        """How a column is made again; everything else goes as it is."""
        if type(obj) is not np.ndarray or obj.nbytes < _LEAST:
            return NotImplemented
        if obj.dtype == np.bool_:
            return _unpacked_bits, (np.packbits(obj), obj.shape)
        narrow, scale = _packed(obj)
        if narrow is obj:
            return NotImplemented
        return _unpacked, (narrow, obj.dtype, scale)


def _packed(values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Values in fewer bytes, and what they are to be divided by; themselves where none is saved."""
    if values.dtype.kind in "iu":
        return _narrow(values), 1
    if values.dtype == np.float64:
        some = values.ravel()[:: max(values.size // _SAMPLE, 1)]
        for way in _WAYS:
            if _comes_back(some, *way(some)) and _comes_back(values, *(found := way(values))):
                return found
    return values, 1


def _as_float32(values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32), 1


def _as_decimals(digits: int, values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Whole numbers to be divided by a power of ten; zeros where these would be too large."""
    scale = 10**digits
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values * scale)
    fits = (np.abs(whole) <= _LARGEST).all()  # not so of what is no number
    return _narrow((whole if fits else np.zeros_like(whole)).astype(np.int64)), scale


def _comes_back(values: NDArray[np.float64], narrow: NDArray[Any], scale: int) -> bool:
    """Whether every bit does: a negative zero, too."""
    back = _unpacked(narrow, values.dtype, scale)
    one, other = (np.ascontiguousarray(some).view(np.int64) for some in (back, values))
    return np.array_equal(one, other)


def _unpacked_bits(packed: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.unpackbits(packed, count=math.prod(shape)).view(np.bool_).reshape(shape)


def _unpacked(narrow: NDArray[Any], kind: np.dtype[Any], scale: int) -> NDArray[Any]:
    return narrow.astype(kind) if scale == 1 else narrow / float(scale)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the narrowest type that holds all of them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    kinds = (np.uint8, np.uint16, np.uint32) if low >= 0 else (np.int8, np.int16, np.int32)
    for kind in kinds:
        if low >= np.iinfo(kind).min and high <= np.iinfo(kind).max:
            return values if values.itemsize == np.dtype(kind).itemsize else values.astype(kind)
    return values


_Way = Callable[[NDArray[np.float64]], tuple[NDArray[Any], int]]
_WAYS: list[_Way] = [_as_float32, *(partial(_as_decimals, digits) for digits in range(1, 8))]
