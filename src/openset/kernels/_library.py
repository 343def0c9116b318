"""Finds and loads the compiled kernels.

``OPENSET_KERNELS`` chooses: ``native`` (an error if the library is missing), ``numpy`` (never
loaded), or unset (compiled if present). ``OPENSET_THREADS`` limits the threads.
"""

from __future__ import annotations

import ctypes
import functools
import os
import warnings
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from openset.kernels._structures import ABI

_PATH = Path(__file__).with_name("_native.so")
_Structure = TypeVar("_Structure", bound=ctypes.Structure)


def backend() -> str:
    """Name what runs the kernels: ``native`` or ``numpy``."""
    return "numpy" if library() is None else "native"


def library() -> ctypes.CDLL | None:
    """Return the compiled library, or None if the NumPy twins shall run."""
    choice = os.environ.get("OPENSET_KERNELS", "")
    if choice == "numpy":
        return None
    if choice not in ("", "native"):
        raise ValueError(f"OPENSET_KERNELS is {choice!r}; use 'native', 'numpy' or leave it unset")
    loaded = _load()
    if loaded is None and choice == "native":
        raise RuntimeError(
            f"OPENSET_KERNELS=native, but {_PATH} cannot be loaded: "
            "install openset with a C++17 compiler at hand, or unset the variable"
        )
    return loaded


@functools.cache
def _load() -> ctypes.CDLL | None:
    if not _PATH.exists():
        return None
    try:
        loaded = ctypes.CDLL(str(_PATH))
    except OSError as error:
        warnings.warn(f"compiled kernels not used, NumPy is: {error}", RuntimeWarning, stacklevel=3)
        return None
    if loaded.openset_abi() != ABI:  # left over from another version: its structures differ
        warnings.warn(
            f"{_PATH} belongs to another version of openset and is not used: install again",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    loaded.openset_error.restype = ctypes.c_char_p
    return loaded


def threads() -> int:
    """Return how many threads a kernel may use."""
    chosen = os.environ.get("OPENSET_THREADS", "")
    if chosen:
        if not chosen.isdecimal() or int(chosen) < 1:
            raise ValueError(f"OPENSET_THREADS is {chosen!r}; use a whole number from 1")
        return int(chosen)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pack(kind: type[_Structure], **values: Any) -> _Structure:
    """Fill a C structure; arrays are passed by pointer, None as a null pointer.

    Raises:
        TypeError: An array has another type or layout than the C side reads.
    """
    packed = kind()
    fields = {field[0]: field[1] for field in kind._fields_}
    if missing := fields.keys() ^ values.keys():
        raise TypeError(f"{kind.__name__}: missing or unexpected fields {sorted(missing)}")
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            setattr(packed, name, _pointer(f"{kind.__name__}.{name}", fields[name], value))
        else:
            setattr(packed, name, value)
    packed.arrays = values  # keeps them alive as long as the pointers
    return packed


def _pointer(name: str, field: Any, array: np.ndarray) -> Any:
    if field is ctypes.c_void_p:  # type decided at run time, checked by the caller
        if not array.flags.c_contiguous:
            raise TypeError(f"{name} must be contiguous")
        return array.ctypes.data
    wanted = np.dtype(field._type_)
    if array.dtype != wanted or not array.flags.c_contiguous:
        raise TypeError(f"{name} must be contiguous {wanted}, not {array.dtype}")
    return array.ctypes.data_as(field)


def check(native: ctypes.CDLL, status: int) -> None:
    """Turn the status of a compiled kernel into an exception."""
    if status:
        message = native.openset_error().decode(errors="replace")
        raise MemoryError(message) if message == "out of memory" else RuntimeError(message)
