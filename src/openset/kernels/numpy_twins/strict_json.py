"""Reading with json, checking everything: slow, and says what is wrong.

It decides about texts that the typed reader does not settle, and so draws the line between what
the fast readers read and what they refuse.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from openset.kernels.read import BULK_KEYS, ReadError, ResultColumns, TruthColumns

MAX_INTEGER = 1 << 53


class _Repeating(dict[str, Any]):
    """An object in which some keys occur more than once."""

    repeated: frozenset[str] = frozenset()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    names = [key for key, _ in pairs]
    repeating = _Repeating(plain)
    repeating.repeated = frozenset(key for key in plain if names.count(key) > 1)
    return repeating


def _no_constant(name: str) -> NoReturn:
    raise ReadError("nan", -1, -1, f"{name} is not JSON")


def _load(text: bytes) -> Any:
    if text.startswith(b"\xef\xbb\xbf"):
        raise ReadError("bom", 0, -1, "begins with a byte-order mark")
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        raise ReadError("utf8", error.start, -1, "not UTF-8") from None
    try:
        return json.loads(decoded, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        offset = len(decoded[: error.pos].encode())
        if error.msg == "Extra data":
            kind = "trailing"
        else:
            kind = "truncated" if not decoded[error.pos :].strip() else "bad_syntax"
        raise ReadError(kind, offset, -1, error.msg) from None
    except RecursionError:
        raise ReadError("nesting", -1, -1, "nested too deeply") from None
    except ReadError:
        raise
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise ReadError("bad_number", -1, -1, "a number is too long") from None


class _Record:
    """One object of a list, and where it is for the error messages."""

    def __init__(self, value: object, index: int, what: str) -> None:
        self.index = index
        if not isinstance(value, dict):
            self.refuse("not_an_object", f"{what} must be an object")
        self.members: dict[str, Any] = value

    def refuse(self, kind: str, message: str) -> NoReturn:
        raise ReadError(kind, -1, self.index, message)

    def check_keys(self, required: Sequence[str], optional: Sequence[str] = ()) -> list[str]:
        """Return the names of keys that are not known, bulk aside."""
        if isinstance(self.members, _Repeating):
            for key in (*required, *optional):
                if key in self.members.repeated:
                    self.refuse("duplicate_key", f'"{key}" occurs twice')
        for key in required:
            if key not in self.members:
                self.refuse("missing_key", f'no "{key}"')
        known = {*required, *optional, *BULK_KEYS}
        return [key for key in self.members if key not in known]

    def integer(self, key: str, default: int = 0) -> int:
        value = self.members.get(key, default)
        self.check_number(key, value)
        if not isinstance(value, int) or abs(value) > MAX_INTEGER:
            self.refuse("bad_number", f'"{key}" must be an integer of at most 2^53')
        return value

    def flag(self, key: str) -> bool:
        value = self.integer(key)
        if value not in (0, 1):
            self.refuse("bad_number", f'"{key}" must be 0 or 1')
        return value == 1

    def number(self, key: str) -> float:
        return self.as_float(key, self.members[key]) if key in self.members else math.nan

    def box(self) -> list[float]:
        value = self.members["bbox"]
        if value is None:
            self.refuse("null", '"bbox" is null')
        if not isinstance(value, list):
            self.refuse("bad_type", '"bbox" must be a list of 4 numbers')
        if len(value) != 4:
            self.refuse("bad_box", f'"bbox" must have 4 numbers, not {len(value)}')
        return [self.as_float("bbox", entry) for entry in value]

    def file_name(self) -> str | None:
        if "file_name" not in self.members:
            return None
        value = self.members["file_name"]
        if value is None:
            self.refuse("null", '"file_name" is null')
        if not isinstance(value, str):
            self.refuse("bad_type", '"file_name" must be a string')
        return value

    def as_float(self, key: str, value: object) -> float:
        self.check_number(key, value)
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            self.refuse("bad_number", f'"{key}" is too large for a double')
        return number

    def check_number(self, key: str, value: object) -> None:
        if isinstance(value, str):
            self.refuse("string_id", f'"{key}" is a string, where a number is expected')
        if value is None:
            self.refuse("null", f'"{key}" is null')
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse("bad_type", f'"{key}" must be a number')


def _records(value: object, what: str) -> list[_Record]:
    if not isinstance(value, list):
        raise ReadError("not_a_list", -1, -1, f"{what}s must be a list")
    return [_Record(entry, index, what) for index, entry in enumerate(value)]


def _in_order(lists: Sequence[list[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for keys in lists for key in keys))


def _integers(records: Sequence[_Record], key: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([record.integer(key) for record in records], np.int64)


def _floats(
    records: Sequence[_Record], value: Callable[[_Record], float | list[float]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([value(record) for record in records], np.float64)


def read_results(text: bytes) -> ResultColumns:
    """See ``openset.kernels.read_results``."""
    records = _records(_load(text), "result")
    extra = [record.check_keys(("image_id", "category_id", "score", "bbox")) for record in records]
    return ResultColumns(
        image_id=_integers(records, "image_id"),
        category_id=_integers(records, "category_id"),
        box=_floats(records, _Record.box).reshape(-1, 4),
        score=_floats(records, lambda record: record.number("score")),
        extra_keys=_in_order(extra),
    )


def read_truth(text: bytes) -> TruthColumns:
    """See ``openset.kernels.read_truth``."""
    top = _Record(_load(text), -1, "ground truth")
    top.check_keys(("images", "annotations"))
    images = _records(top.members["images"], "image")
    records = _records(top.members["annotations"], "annotation")
    image_extra = [
        record.check_keys(("id",), ("width", "height", "file_name")) for record in images
    ]
    extra = [
        record.check_keys(("id", "image_id", "category_id", "bbox"), ("area", "iscrowd"))
        for record in records
    ]
    return TruthColumns(
        image_ids=_integers(images, "id"),
        width=_floats(images, lambda record: record.number("width")),
        height=_floats(images, lambda record: record.number("height")),
        file_names=_file_names(images),
        image_extra_keys=_in_order(image_extra),
        id=_integers(records, "id"),
        image_id=_integers(records, "image_id"),
        category_id=_integers(records, "category_id"),
        box=_floats(records, _Record.box).reshape(-1, 4),
        area=_floats(records, lambda record: record.number("area")),
        crowd=np.array([record.flag("iscrowd") for record in records], np.bool_),
        annotation_extra_keys=_in_order(extra),
        head={k: v for k, v in top.members.items() if k not in ("images", "annotations")},
    )


def _file_names(images: Sequence[_Record]) -> list[str] | None:
    names = [image.file_name() for image in images]
    present = [name for name in names if name is not None]
    if not present:
        return None
    if len(present) < len(names):
        images[names.index(None)].refuse("missing_key", 'only some images have a "file_name"')
    return present
