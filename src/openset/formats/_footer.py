"""Footer: what a Parquet file claims about itself, checked before its columns are decoded.

A decoder trusts the numbers of the footer and of the pages' headers: a wrong one makes it panic or
ask for exabytes, which ends the process and cannot be caught. So they are read here, and a number
that others or the size of the file contradict is a `ValueError`. Columns hold plain values or lists
of them, as `openset` writes them; others are refused.

Not a reader of Parquet: what the pages hold is not looked at. Damage in there makes the decoder
panic at worst, which can be caught (`_panics`).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openset.findings import refuse
from openset.formats._thrift import Thrift

_MAGIC = b"PAR1"
_END = 8  # bytes: the length of the footer, and the magic number again
_ROWS_PER_BYTE = 4096  # a million equal rows take some kilobytes
_LARGEST_PAGE = 1 << 30  # bytes, unpacked; writers make pages of a megabyte
_REPEATED = 2
_DEEPEST = 16  # lists in lists; some hundred of them end the process
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # types of pages
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}  # and the field of a header that describes them
_CODED_IN = {_DATA: (2, 3, 4), _DICTIONARY: (2,), _DATA_2: (4,)}  # fields of that with encodings
_ENCODINGS = frozenset(range(10)) - {1}
_SIZE = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # bytes of a value of a type, and one for any other


@dataclass(frozen=True)
class Footer:
    """What is claimed.

    Attributes:
        rows: How many there are.
        texts: The file's metadata.
        lists: How many values the columns that hold lists have in all.
    """

    rows: int
    texts: Mapping[str, str]
    lists: Mapping[str, int]


def texts_of(path: Path) -> Mapping[str, str]:
    """The metadata of any Parquet file."""
    with _opened(path) as data:
        return _texts(_footer(data))


def checked(path: Path) -> Footer:
    """The footer of a file in which no claim contradicts another."""
    with _opened(path) as data:
        _refuse_joined(data, path)
        held = _footer(data)
        rows, groups, listed = held[3], held.get(4, []), _columns(held[2])
        _demand(0 <= rows <= _ROWS_PER_BYTE * len(data), f"it claims {rows} rows")
        _demand(rows == sum(group[3] for group in groups), "its groups have other numbers of rows")
        lists = {name: 0 for name, is_list in listed.items() if is_list}
        for group in groups:
            for name, count in _counts(data, group, listed):
                lists[name] += count
    return Footer(rows, _texts(held), lists)


def _refuse_joined(data: mmap.mmap, path: Path) -> None:
    """Files one after the other: the last footer counts from the start of its own file."""
    if data.find(_MAGIC * 2) > 0:  # the end of one, and the start of the next
        raise refuse(
            "OS102",
            f"{path} is several Parquet files, one after the other",
            cause="they were joined byte by byte, as by cat",
            fix="give the folder of the parts, or join them: openset select A B ... -o ALL.parquet",
        )


def _counts(
    data: mmap.mmap, group: Mapping[int, Any], listed: Mapping[str, bool]
) -> Iterator[tuple[str, int]]:
    """Check the columns of a group of rows, and count the values of those that hold lists."""
    columns = [chunk[3] for chunk in group[1]]
    names = [column[3][0].decode() for column in columns]
    _demand(names == list(listed), "a group of rows has other columns")
    for name, column in zip(names, columns, strict=True):
        count = column[5]
        _demand(listed[name] or count == group[3], f"{name!r} has {count} values")
        _demand(_pages(data, column) == count, f"the pages of {name!r} have not {count} values")
        if listed[name]:
            yield name, count


def _pages(data: mmap.mmap, column: Mapping[int, Any]) -> int:
    """How many values the pages of a column have, which must lie side by side in their place."""
    at = min(column[9], column.get(11) or column[9])
    end, room, count = at + column[7], column[6], 0
    _demand(len(_MAGIC) <= at <= end <= len(data) - _END, "a column lies outside of the file")
    while at < end:
        thrift = Thrift(data, at)
        page = thrift.structure()
        unpacked, packed = page[2], page[3]
        room -= unpacked + thrift.at - at
        at = thrift.at + packed
        _demand(packed >= 0 and at <= end, "a page lies outside of its column")
        _demand(0 <= unpacked <= _LARGEST_PAGE, f"a page claims {unpacked} bytes")
        count += _values(page, _SIZE.get(column[1], 1))
    _demand(room >= 0, "pages claim more bytes than their column")
    return count


def _values(page: Mapping[int, Any], size: int) -> int:
    """How many values a page holds; those of a dictionary do not count."""
    _demand(page[1] in _HEADER_OF, f"there is no page of type {page[1]}")
    header = page[_HEADER_OF[page[1]]]
    count: int = header[1]
    _demand(count >= 0, f"a page claims {count} values")
    codes = {header[field] for field in _CODED_IN[page[1]]}
    _demand(codes <= _ENCODINGS, f"there are no such encodings of pages: {codes}")
    if page[1] == _DICTIONARY:
        _demand(count * size <= page[2], f"a page has no room for {count} values")
        return 0
    if page[1] == _DATA_2:
        levels = header[5], header[6]
        _demand(min(levels) >= 0 and sum(levels) <= page[3], "a page has no room for its levels")
    return count


def _columns(schema: list[dict[int, Any]]) -> dict[str, bool]:
    """The columns by name, and whether they hold lists."""
    elements = iter(schema[1:])
    listed: dict[str, bool] = {}
    for element in elements:
        name = element[4].decode()
        _demand(name not in listed, f"there are two columns {name!r}")
        listed[name] = bool(element.get(5))
        depth = 0
        while element.get(5):  # a group that holds a repeated group that holds a value or a group
            middle, depth = next(elements, {}), depth + 1
            alone = element[5] == middle.get(5) == 1 and middle.get(3) == _REPEATED
            _demand(alone and depth <= _DEEPEST, f"{name!r} is nested in another way than lists")
            element = next(elements, {})
        _demand(4 in element and element.get(3) != _REPEATED, f"{name!r} is repeated")
    _demand(schema[0].get(5) == len(listed), "it claims another number of columns")
    return listed


def _footer(data: mmap.mmap) -> dict[int, Any]:
    _demand(len(data) > _END and data[-4:] == _MAGIC, "its end is missing")
    length = int.from_bytes(data[-_END:-4], "little")
    _demand(length <= len(data) - _END, "its footer is longer than the file")
    return Thrift(data, len(data) - _END - length).structure()


def _texts(held: Mapping[int, Any]) -> dict[str, str]:
    return {pair[1].decode(): pair.get(2, b"").decode() for pair in held.get(5, [])}


@contextmanager
def _opened(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def _demand(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)
