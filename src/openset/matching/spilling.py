"""Spilling: columns that come piece by piece, in memory, or in a temporary file once they are many.

What is in a file is mapped: an array like any other, whose pages the system reads when somebody
looks at them. They count as memory of this process until `forget` hands them back, which costs
nothing but reading them again. The files have no name, so that nothing is left whatever happens;
they are where ``TMPDIR`` says.

Not a format: nobody else reads these files, and they are gone with the process.
"""

from __future__ import annotations

import math
import mmap
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from openset.files import unwritable

LIMIT = 64 << 20  # bytes of columns that are held in memory


class Column:
    """Values, piece after piece.

    >>> column = Column()
    >>> column.add(np.array([1, 2]))
    >>> column.spill()
    >>> column.add(np.array([3]))
    >>> column.array().tolist()
    [1, 2, 3]
    """

    def __init__(self, *, spilled: bool = False) -> None:
        self._pieces: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None
        self._shape: tuple[int, ...] = (0,)
        self._type = np.dtype(np.float64)
        if spilled:
            self.spill()

    def add(self, values: NDArray[Any]) -> None:
        """Add values behind those that are there, of the same type."""
        self._type = values.dtype
        self._shape = (self._shape[0] + len(values), *values.shape[1:])
        if self._file is None:
            self._pieces.append(values)
        else:
            self._write(self._file, values)

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return math.prod(self._shape) * self._type.itemsize

    def spill(self) -> None:
        """Go on in a file, with what was added so far."""
        if self._file is not None:
            return
        try:
            self._file = tempfile.TemporaryFile(prefix="openset-")  # noqa: SIM115, closed by `array`
        except OSError as error:
            raise unwritable(Path(tempfile.gettempdir()), error) from error
        for piece in self._pieces:
            self._write(self._file, piece)
        self._pieces.clear()

    def array(self) -> NDArray[Any]:
        """All values; those of a file can be read only. The column itself is used up."""
        if self._file is None:
            whole = np.concatenate(self._pieces) if self._pieces else np.empty(0)
            self._pieces.clear()
            return whole
        with self._file as file:
            file.flush()
            if not np.prod(self._shape):  # nothing can be mapped
                return np.empty(self._shape, self._type)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, self._type).reshape(self._shape)

    @staticmethod
    def _write(file: IO[bytes], values: NDArray[Any]) -> None:
        try:
            file.write(np.ascontiguousarray(values).data)
        except OSError as error:  # no room
            raise unwritable(Path(tempfile.gettempdir()), error) from error


def forget(columns: Iterable[NDArray[Any] | None]) -> None:
    """Hand back the memory of mapped columns; they are read again when somebody looks at them."""
    for column in columns:
        mapped = _mapping(column)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def _mapping(column: Any) -> mmap.mmap | None:
    """The file that a column is mapped from, if it is."""
    while isinstance(column, np.ndarray):
        column = column.base
    owner = column.obj if isinstance(column, memoryview) else column
    return owner if isinstance(owner, mmap.mmap) else None
