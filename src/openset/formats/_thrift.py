"""Thrift: values of the compact protocol, in which Parquet writes its footer and headers of pages.

A structure becomes a dictionary from the numbers of its fields to their values; what they mean is
in the Parquet specification. Whatever is damaged is a `ValueError` or an `IndexError`: lengths are
compared with what is left of the file, and nesting has an end.

Not a writer, and no maps: Parquet has none.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any

_DEEPEST = 16  # a footer's structures are nested in each other six times
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _TEXT, _LIST, _SET, _STRUCTURE = 0, 1, 2, 3, 7, 8, 9, 10, 12


class Thrift:
    """A place in a file, and how to read on from there."""

    def __init__(self, data: bytes | mmap.mmap, at: int) -> None:
        """Begin at a byte."""
        self.at = at
        self._data = data
        self._depth = 0
        self._read: dict[int, Callable[[], Any]] = {
            _BYTE: self._byte,
            **dict.fromkeys((4, 5, 6), self._integer),
            _DOUBLE: lambda: self._bytes(8),
            _TEXT: lambda: self._bytes(self._varint()),
            **dict.fromkeys((_LIST, _SET), self._list),
            _STRUCTURE: self.structure,
        }

    def structure(self) -> dict[int, Any]:
        """The fields of a structure, by number."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("structures are nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) & 15 != _STOP:
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        self._depth -= 1
        return fields

    def _value(self, kind: int) -> Any:
        if kind not in self._read:
            raise ValueError(f"there is no type {kind}")
        return self._read[kind]()

    def _list(self) -> list[Any]:
        head = self._byte()
        length = head >> 4 if head >> 4 < 15 else self._varint()
        kind = _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15
        if length > len(self._data) - self.at:  # each value takes a byte, at least
            raise ValueError(f"a list of {length} is longer than the file")
        self._depth += 1  # lists of lists end here, too
        if self._depth > _DEEPEST:
            raise ValueError("lists are nested too deeply")
        values = [self._value(kind) for _ in range(length)]
        self._depth -= 1
        return values

    def _integer(self) -> int:
        folded = self._varint()
        return (folded >> 1) ^ -(folded & 1)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number has more than 64 bits")

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        if length > len(self._data) - self.at:
            raise ValueError(f"a text of {length} bytes is longer than the file")
        self.at += length
        return self._data[self.at - length : self.at]
