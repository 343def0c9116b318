"""Objects: what other people's packages hold in memory, one file per package.

`plain` turns such an object into what `openset.formats.memory` reads: a dictionary of one image, a
list of those, or decoded COCO. Objects are known by what they have (attributes or keys), never by
their class: none of the packages is imported, and a stand-in with the same attributes will do.

Not files (see the formats), and nothing that goes back into them (`openset.integrations`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openset.formats._spec import Kind
from openset.formats.objects._spec import ObjectKind, has, object_kind
from openset.plugins import records

__all__ = ["ObjectKind", "kinds", "near_miss", "object_kind", "plain", "recognised"]


def kinds() -> Mapping[str, ObjectKind]:
    """All kinds of objects by name, those of installed plug-ins included."""
    return records("openset.formats.objects", "object kind")


def recognised(source: Any) -> ObjectKind | None:
    """The kind of an object, if it is of any."""
    if isinstance(source, (str, bytes, int, float)):
        return None
    return next((kind for kind in kinds().values() if kind.fits(source)), None)


def plain(source: Any, wanted: Kind, field: str | None = None) -> Any:
    """A recognised object as `openset.formats.memory` reads it; anything else as it is.

    Args:
        source: Any object.
        wanted: Which table is to be made of it.
        field: Which of its label fields, where it has several (FiftyOne).
    """
    kind = recognised(source)
    return source if kind is None else kind.plain(source, wanted, field)


def near_miss(source: Any) -> str:
    """What an object that is of no kind lacks to be of the nearest one; empty if it is like none.

    >>> class Almost:
    ...     xyxy, class_id = [[0, 0, 9, 9]], [1]
    >>> near_miss(Almost())
    'it looks like supervision, but has no confidence'
    """
    lacking = {
        kind.name: [mark for mark in kind.marks if not has(source, mark)]
        for kind in kinds().values()
        if kind.marks
    }
    close = {
        name: marks for name, marks in lacking.items() if 2 * len(marks) <= len(kinds()[name].marks)
    }
    if not close:
        return ""
    name, marks = min(close.items(), key=lambda item: len(item[1]))
    return f"it looks like {name}, but has no {', '.join(marks)}"
