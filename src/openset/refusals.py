"""Refusals: what is said of files that cannot be used, each with its code, count and example.

Every problem with a file becomes an `InputError`: no decoder's own exception leaves the package.
Not what is said of the numbers in a file that can be read: that is for the checks of tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from openset.findings import InputError, refuse

_SHORT = 80
_DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+")

_COMMA = (
    "numbers with a decimal comma, as spreadsheets of some languages write",
    "write them with a point",
)
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
DATE = re.compile(rf"\d{{1,2}}-{_MONTH}|{_MONTH}-\d{{2}}|\d{{4}}-\d\d-\d\d 00:00:00", re.IGNORECASE)
"""What a spreadsheet makes of text that might be a date."""
_DATED = (
    "a spreadsheet turned numbers into dates",
    "write the file by a program, or make the column text before numbers are written to it",
)
_TURNED = (
    "boxes are rotated: centre, size and angle, or four corners",
    "write the upright box around each: x, y, width, height; rotated boxes are not measured here",
)


def shown(value: Any) -> str:
    """A value as text that fits on a line."""
    text = repr(value)
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def undecodable(where: str, why: object, *, cause: str = "", fix: str = "") -> InputError:
    """OS102: the bytes cannot be decoded."""
    return refuse("OS102", f"cannot read {where}: {why}", cause=cause, fix=fix)


def wrong_kind(where: str, wanted: str) -> InputError:
    """OS105 or OS106: the file holds the other table."""
    if wanted == "annotations":
        return refuse(
            "OS105",
            f"{where} holds detections, but ground truth was expected",
            cause="ground truth and detections were swapped",
            fix="give the ground truth first and the detections second",
        )
    return refuse(
        "OS106",
        f"{where} holds ground truth, but detections were expected",
        cause="ground truth and detections were swapped, or the boxes have no scores",
        fix="give the ground truth first and the detections second",
    )


def missing_key(where: str, key: str, rows: Sequence[int], total: int, fix: str = "") -> InputError:
    """OS107: records `rows` have no `key`."""
    return refuse(
        "OS107",
        f"{len(rows)} of {total} records of {where} have no {key!r}",
        count=len(rows),
        example=f"record {rows[0]}" if len(rows) else "",
        fix=fix,
    )


def wrong_type(
    where: str,
    key: str,
    expected: str,
    rows: Sequence[int],
    value: Any,
    count: int | None = None,
    why: tuple[str, str] | None = None,
) -> InputError:
    """OS108: `key` of records `rows` is not what was expected; `value` is the first.

    `why` is cause and fix, where more is known than the value tells.
    """
    number = len(rows) if count is None else count
    cause, fix = why or _why(key, value, expected == "numbers")
    return refuse(
        "OS108",
        f"{number} values of {key!r} in {where} are not {expected}",
        count=number,
        example=f"record {rows[0]}: {shown(value)}" if len(rows) else shown(value),
        cause=cause,
        fix=fix,
    )


def _why(key: str, value: Any, wants_number: bool) -> tuple[str, str]:
    """Cause and fix, where the value tells them."""
    text = str(value).strip()
    if wants_number and _DECIMAL_COMMA.fullmatch(text):
        return _COMMA
    if DATE.fullmatch(text):
        return _DATED
    return _TURNED if _is_turned(key, value) else ("", "")


def _is_turned(key: str, value: Any) -> bool:
    """Whether a box is one of five numbers, or four corners."""
    numbers = isinstance(value, list | tuple) and len(value) in (5, 8)
    return numbers and key in ("bbox", "box") and all(type(one) in (int, float) for one in value)


def repeated(where: str, what: str, values: Sequence[Any], count: int) -> InputError:
    """OS111: ids that must be distinct are not."""
    return refuse(
        "OS111",
        f"{count} {what} of {where} are repeated",
        count=count,
        example=shown(values[0]),
        fix="ids must be distinct; check for files that were concatenated",
    )


def dangling(
    where: str, what: str, value: Any, row: int, count: int, cause: str = "", fix: str = ""
) -> InputError:
    """OS112: records refer to an image or a label that is not listed."""
    return refuse(
        "OS112",
        f"{count} records of {where} refer to {_a(what)} that is not listed",
        count=count,
        example=f"record {row}: {what} {shown(value)}",
        cause=cause or "the list was filtered or renumbered, and the records were not",
        fix=fix,
    )


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def needs_sizes(where: str, count: int, example: Any) -> InputError:
    """OS110: normalised boxes and unknown image sizes."""
    return refuse(
        "OS110",
        f"{where} holds normalised boxes and the sizes of {count} images are unknown",
        count=count,
        example=f"image {shown(example)}",
        fix="pass sizes= (a CSV of image,width,height, or a dict), or truth= for detections",
    )
