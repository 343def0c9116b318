"""What a kind of object is: the attributes by which it is known, and a function that reads it.

Small tools for the readers: parts of an object by attribute or key, refused by name if absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from openset.formats._spec import Kind
from openset.plugins import tag
from openset.refusals import missing_key

Plain = Callable[[Any, Kind, str | None], Any]
P = TypeVar("P", bound=Plain)


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """What is known about a kind of object.

    Attributes:
        name: The package it comes from.
        marks: Attributes, or keys of a dictionary, that every such object has.
        fits: Whether an object is of this kind.
        plain: The object as `openset.formats.memory` reads it.
        summary: What it is, in a line.
    """

    name: str
    marks: tuple[str, ...]
    fits: Callable[[Any], bool]
    plain: Plain
    summary: str


def object_kind(
    name: str,
    *,
    marks: tuple[str, ...] = (),
    fits: Callable[[Any], bool] | None = None,
    summary: str = "",
) -> Callable[[P], P]:
    """Make a function the reader of a kind of object, known by its marks or by a test."""

    def marked(source: Any) -> bool:
        return all(has(source, mark) for mark in marks)

    def mark(plain: P) -> P:
        return tag("object kind", ObjectKind(name, marks, fits or marked, plain, summary))(plain)

    return mark


def has(source: Any, name: str) -> bool:
    """Whether an object has an attribute, or a dictionary a key."""
    return name in source if isinstance(source, Mapping) else hasattr(source, name)


def part(source: Any, name: str, kind: str, *, fix: str = "") -> Any:
    """An attribute, or a value of a dictionary; refused (OS107) if it is absent or None."""
    value = maybe(source, name)
    if value is None:
        raise missing_key(f"the {kind} object ({type(source).__name__})", name, [0], 1, fix)
    return value


def maybe(source: Any, name: str) -> Any:
    """An attribute, or a value of a dictionary, or None."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
