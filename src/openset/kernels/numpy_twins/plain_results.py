"""Reading plain COCO results in NumPy, thousands of numbers at a time.

Results are plain if every record is written like the first: the same keys in the same order, and
the same text between the numbers. Then the k-th comma lies in the k-th gap between numbers and
says where one number ends and the next begins. Every byte is checked, so that a text which is
read here is one that a JSON reader reads to the same values; any other is left to such a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from openset.kernels._memory import empty_columns
from openset.kernels.numpy_twins.decimals import decode
from openset.kernels.numpy_twins.text import WORD, Positions, begin_with, find, words_from
from openset.kernels.read import ResultColumns, Text

RECORDS_PER_BLOCK = 1 << 15  # a column of a block fits in the processor's cache
MAX_INTEGER = 1 << 53
TYPES = {  # by key, as in a file
    "image_id": np.int64,
    "category_id": np.int64,
    "bbox": (np.float64, 4),
    "score": np.float64,
}
PER_RECORD = 7  # numbers

_SPACE = rb"[ \t\n\r]*"
_OPENING = re.compile(rb"%b\[%b(\{[^{}]*\})(%b,%b)\{" % (_SPACE, _SPACE, _SPACE, _SPACE))
_NUMBER = re.compile(rb"-?[0-9][0-9.eE+-]*")
_KEY = re.compile(rb'"(\w+)"')

_Kind = TypeVar("_Kind")


class _NotPlainError(Exception):
    """Another reader shall decide."""


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    score: float


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """What the first record says about all of them.

    Attributes:
        begin: Where its first number begins.
        keys: Its keys in order.
        gaps: The text after each of its numbers, up to the next number. Each holds one comma.
    """

    begin: int
    keys: tuple[str, ...]
    gaps: tuple[bytes, ...]


def read_results(text: Text) -> ResultColumns | None:
    """Read results if they are plain, else return None.

    >>> record = b'{"image_id": 3, "category_id": 1, "bbox": [0, 1, 2, 3], "score": 0.5}'
    >>> read_results(b"[%s, %s]" % (record, record)).score.tolist()
    [0.5, 0.5]
    >>> read_results(b"[%s,  %s, %s]" % (record, record, record)) is None
    True
    """
    try:
        layout = _learn(text)
        commas = _commas(text, layout)
        columns = empty_columns(len(commas) + 1, **TYPES)
        _fill(columns, text, layout, commas)
        last = _last_record(bytes(text[commas[-1, -1] + 1 :]))
    except _NotPlainError:
        return None
    for key, column in columns.items():
        column[-1] = getattr(last, key)
    image_id, category_id, box, score = columns.values()
    return ResultColumns(image_id, category_id, box, score, extra_keys=())


def _learn(text: Text) -> RecordLayout:
    opening = _OPENING.match(text)
    if opening is None:
        raise _NotPlainError
    record, separator = opening.groups()
    _from_json(record, _Record)
    keys = tuple(key.decode() for key in _KEY.findall(record))
    first, *inner, last = _NUMBER.split(record)
    if len(inner) != PER_RECORD - 1 or sorted(keys) != sorted(TYPES):
        raise _NotPlainError
    return RecordLayout(opening.start(1) + len(first), keys, (*inner, last + separator + first))


def _from_json(text: bytes, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _NotPlainError from error


def _commas(text: Text, layout: RecordLayout) -> Positions:
    """Find the comma in each gap, by record and place in it.

    The last record is left out, since no gap follows it.
    """
    found = find(text, ",")
    n, rest = divmod(len(found), PER_RECORD)
    if n == 0 or rest != PER_RECORD - 1:
        raise _NotPlainError
    commas = found[:-rest].reshape(n, PER_RECORD)
    if commas[-1, -1] + max(map(len, layout.gaps)) + WORD > len(text):  # no room for a record
        raise _NotPlainError
    return commas


def _fill(
    columns: dict[str, NDArray[Any]], text: Text, layout: RecordLayout, commas: Positions
) -> None:
    """Read all records but the last, one number of each record of a block at a time."""
    places = [place for key in layout.keys for place in np.atleast_2d(columns[key].T)]
    into_gap = [gap.index(b",") for gap in layout.gaps]
    after = np.array([layout.begin])  # where the block before ended
    for start in range(0, len(commas), RECORDS_PER_BLOCK):
        ends = np.ascontiguousarray((commas[start : start + RECORDS_PER_BLOCK] - into_gap).T)
        block = slice(start, start + ends.shape[1])
        following = ends[-1] + len(layout.gaps[-1])
        begin, after = np.append(after, following[:-1]), following[-1:]
        for place, gap, end in zip(places, layout.gaps, ends, strict=True):
            place[block] = _read(text, begin, end, gap, whole=place.dtype.kind == "i")
            begin = end + len(gap)


def _read(
    text: Text, begin: Positions, end: Positions, gap: bytes, *, whole: bool
) -> NDArray[np.float64]:
    """Read numbers, each of which this gap follows."""
    if (begin >= end).any():
        raise _NotPlainError
    before, *after = words_from(text, end - WORD, 1 + -(-len(gap) // WORD))
    if not begin_with(after, gap).all():
        raise _NotPlainError
    found = decode(np.frombuffer(text, np.uint8), before, begin, end)
    if whole and not found.whole.all():
        raise _NotPlainError
    others = np.flatnonzero(~found.plain)
    if len(others):
        origin, part = begin[0], bytes(text[begin[0] : end[-1]])
        bounds = zip(*((at[others] - origin).tolist() for at in (begin, end)), strict=True)
        listed = b"[%b]" % b",".join([part[first:last] for first, last in bounds])
        found.value[others] = _ids(listed) if whole else _from_json(listed, list[float])
    return found.value


def _ids(listed: bytes) -> list[int]:
    numbers = _from_json(listed, list[int])
    if any(abs(number) > MAX_INTEGER for number in numbers):
        raise _NotPlainError
    return numbers


def _last_record(text: bytes) -> _Record:
    """Read what follows the last comma between records, with the bracket that closes the list."""
    (record,) = _from_json(b"[" + text, list[_Record])
    _ids(b"[%d,%d]" % (record.image_id, record.category_id))
    return record
