"""Provenances of parts as that of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openset.json_text import compact
from openset.tables.picture_sizes import PICTURES, some_pictures


def together(said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What provenances say: as the first, but lists in which they differ are of all of them."""
    found = {key: value for one in reversed(said) for key, value in one.items()}
    for key, value in found.items():
        each = [one[key] for one in said if key in one]
        if isinstance(value, list) and any(one != value for one in each):
            listed = [row for one in each for row in one]
            found[key] = some_pictures(listed) if key == PICTURES else _listed(each)
    return found


def _listed(each: Sequence[list[Any]]) -> list[Any]:
    """Lists as one: records place by place, their counts added up; else what any of them holds."""
    rows = [*zip(*each, strict=False)]
    if all(len(one) == len(rows) for one in each) and all(map(_counted_alike, rows)):
        return [row[0] if all(one == row[0] for one in row) else _added(row) for row in rows]
    return [*{compact(item): item for one in each for item in one}.values()]


def _counted_alike(row: Sequence[Any]) -> bool:
    """Whether records differ in nothing but whole numbers."""
    bare = [_uncounted(one) if isinstance(one, dict) else None for one in row]
    return bare[0] is not None and all(one == bare[0] for one in bare)


def _uncounted(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if type(value) is not int}


def _added(row: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = {key for key, value in row[0].items() if type(value) is int}
    return {k: sum(one[k] for one in row) if k in counts else v for k, v in row[0].items()}
