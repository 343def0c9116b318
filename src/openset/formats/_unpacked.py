"""Unpacked: in-memory input with every object of another package read: dictionaries are left.

Objects may stand alone, in lists, or by image id: ``{image_id: object}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from openset.findings import InputError
from openset.formats._arrays import WHERE, scalar
from openset.formats._spec import Kind
from openset.formats.objects import near_miss, plain, recognised
from openset.refusals import wrong_type

_NESTED = (
    "a list of batches, or a list in further brackets, in place of one dictionary for each image",
    "give one list of all images: [one for batch in batches for one in batch]",
)


def are_images(source: Any) -> bool:
    """Whether it is a list with a dictionary, or an object, for each image."""
    listed = isinstance(source, (list, tuple)) and bool(source)
    return listed and all(_is_image(one) or recognised(one) for one in source)


def _is_image(one: Any) -> bool:
    return isinstance(one, Mapping) and "boxes" in one


def called(images: Sequence[Any], names: Sequence[Any]) -> list[dict[str, Any]]:
    """Dictionaries of images under other ids."""
    return [{**one, "image_id": name} for one, name in zip(images, names, strict=True)]


def unpacked(source: Any, kind: Kind, field: str | None) -> Any:
    """The input with all objects of other packages read: dictionaries, a list of them, or COCO."""
    if isinstance(source, Mapping) and source and _by_image(source):
        names = [scalar(name) for name in source]
        return called([plain(one, kind, field) for one in source.values()], names)
    if recognised(source) is not None:
        made = plain(source, kind, field)
        return [made] if isinstance(made, dict) and "boxes" in made else made
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        return [one if _is_plain(one) else plain(one, kind, field) for one in source]
    return source


def _is_plain(one: Any) -> bool:
    """Whether it needs no look at its kind: there may be a million records of COCO."""
    return isinstance(one, Mapping) and ("bbox" in one or "boxes" in one)


def _by_image(source: Mapping[Any, Any]) -> bool:
    return all(_is_image(one) or recognised(one) is not None for one in source.values())


def refuse_others(source: Sequence[Any]) -> None:
    """Refuse what is neither a dictionary nor an object of a known kind."""
    odd = [row for row, item in enumerate(source) if not isinstance(item, Mapping)]
    if odd:
        why = _NESTED if isinstance(source[odd[0]], (list, tuple)) else None
        refusal = wrong_type(WHERE, "item", "dictionaries", odd, source[odd[0]], why=why)
        cause = near_miss(source[odd[0]])
        raise InputError([replace(one, cause=cause or one.cause) for one in refusal.findings])
