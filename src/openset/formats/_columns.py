"""Records to columns: typed arrays from lists of Python values, with the bad record named.

`where` is the file as people know it. Values are checked by type before NumPy sees them, because
NumPy would turn ``"1"`` and ``True`` into numbers without a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.json_text import compact
from openset.refusals import missing_key, wrong_type
from openset.tables.columns import ids, text_column

_EXACT = 1 << 53


def required(records: Sequence[Any], key: str, where: str) -> list[Any]:
    """`key` of every record."""
    try:
        return [record[key] for record in records]
    except (KeyError, TypeError, IndexError):
        odd = [row for row, record in enumerate(records) if not isinstance(record, dict)]
        if odd:
            raise wrong_type(where, "record", "objects", odd, records[odd[0]]) from None
        rows = [row for row, record in enumerate(records) if key not in record]
        raise missing_key(where, key, rows, len(records)) from None


_WHOLE = re.compile(r"0|-?[1-9][0-9]*")  # without zeros in front, which may tell two apart


def integers(values: Sequence[Any], key: str, where: str) -> NDArray[np.int64]:
    """Integers, also when written as ``3.0``, or all of them as text."""
    kinds = set(map(type, values))
    try:
        if kinds == {str} and all(map(_WHOLE.fullmatch, values)):
            return np.array([int(value) for value in values], np.int64)
        if kinds <= {int}:
            return np.array(values, np.int64)
        if kinds <= {int, float} and all(value == int(value) for value in values):
            return np.array([int(value) for value in values], np.int64)
    except (OverflowError, ValueError):
        pass
    rows = [row for row, value in enumerate(values) if not _is_integer(value)]
    raise wrong_type(where, key, "integers", rows, values[rows[0]])


def _is_integer(value: Any) -> bool:
    if type(value) is float:
        return value.is_integer() and abs(value) < 1 << 63
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def identifiers(values: Sequence[Any], key: str, where: str) -> NDArray[Any]:
    """Image ids: integers, or text if any of them is text."""
    if str not in set(map(type, values)):
        return integers(values, key, where)
    rows = [row for row, value in enumerate(values) if type(value) not in (int, str)]
    if rows:
        raise wrong_type(where, key, "integers or text", rows, values[rows[0]])
    return ids(values)


def numbers(values: Sequence[Any], key: str, where: str, width: int = 1) -> NDArray[np.float64]:
    """Floats; `width` values make one record."""
    if set(map(type, values)) <= {int, float}:
        try:
            return np.array(values, np.float64)
        except OverflowError:
            rows = [row for row, value in enumerate(values) if abs(value) > 1e308]
    else:
        rows = [row for row, value in enumerate(values) if type(value) not in (int, float)]
    raise wrong_type(where, key, "numbers", [row // width for row in rows], values[rows[0]])


def texts(values: Sequence[Any], key: str, where: str) -> list[str]:
    """Text."""
    rows = [row for row, value in enumerate(values) if type(value) is not str]
    if rows:
        raise wrong_type(where, key, "text", rows, values[rows[0]])
    return list(values)


def matrix(
    values: Sequence[Any], key: str, where: str, width: int | None = None
) -> NDArray[np.float64]:
    """Equally long lists of numbers, of length `width` if given."""
    if not values:
        return np.empty((0, width or 0))
    if width is None:
        width = len(values[0]) if isinstance(values[0], (list, tuple)) else 1
    try:
        fits = set(map(len, values)) == {width} and set(map(type, values)) <= {list, tuple}
    except TypeError:
        fits = False
    if not fits:
        good = [isinstance(value, (list, tuple)) and len(value) == width for value in values]
        rows = [row for row, fine in enumerate(good) if not fine]
        raise wrong_type(where, key, f"lists of {width} numbers", rows, values[rows[0]])
    return numbers(list(chain.from_iterable(values)), key, where, width).reshape(-1, width)


def flags(values: Sequence[Any], key: str, where: str) -> NDArray[np.bool_]:
    """Booleans, or the numbers 0 and 1; null is False."""
    rows = [row for row, v in enumerate(values) if not (v is None or v in (0, 1))]
    if rows:
        raise wrong_type(where, key, "0, 1, true or false", rows, values[rows[0]])
    return np.array([bool(value) for value in values], np.bool_)


def attribute(values: Sequence[Any]) -> NDArray[Any]:
    """A column for values that the tables do not know, None where absent.

    Booleans, integers, floats and text keep their type. Absent numbers are NaN, absent text is
    empty; nested or mixed values become JSON text.

    >>> attribute([1, None]).tolist(), attribute([[1, 2], None]).tolist()
    ([1.0, nan], ['[1,2]', ''])
    """
    kinds = set(map(type, values))
    if kinds == {bool}:
        return np.array(values, np.bool_)
    if kinds == {int} and all(-(1 << 63) <= value < 1 << 63 for value in values):
        return np.array(values, np.int64)
    if kinds <= {int, float, type(None)} and all(_exact(value) for value in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return text_column([_text(value) for value in values])


def _exact(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= _EXACT


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if type(value) is str else compact(value)


def cells(column: NDArray[Any]) -> list[Any]:
    """A column as JSON values: the inverse of `attribute`, None where absent."""
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return [None if value != value else value for value in values]
    if column.dtype.kind in "UT" and any(values):
        return [_nested(value) if value else None for value in values]
    return values


def _nested(text: str) -> Any:
    if text[0] not in "[{":
        return text
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text
