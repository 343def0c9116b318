"""Grouping: what people say about groups of images, as the image column that resamples read.

`groups=`, or ``--group-by``, takes one of three forms, tried in this order: the name of an image
column (a key of COCO's image records, such as ``video_id``); a regular expression with one group in
brackets, searched in file names; or how file names begin, with a ``*`` for any characters but a
slash, as few as can be. Python also takes a mapping from image id to group. Where a format has a
row per box and none per image (CSV), a column will do in which the boxes of an image agree.

Not a choice of images: all take part, and no value changes, only what resamples draw as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.tables import Annotations
from openset.tables.columns import text_column
from openset.tables.groups import ALONE, GROUP, group_names, names_to_read

Groups = str | Mapping[Any, Any]


def as_grouped(truth: Annotations, groups: Groups) -> Annotations:
    """The ground truth with the image column of groups; empty where an image has none."""
    column = _column(truth, groups)
    images = replace(truth.images, attributes={**truth.images.attributes, GROUP: column})
    return replace(truth, images=images)


def _column(truth: Annotations, groups: Groups) -> NDArray[Any]:
    images = truth.images
    if isinstance(groups, Mapping):
        return text_column([_name(groups.get(id_)) for id_ in images.id.tolist()])
    if groups in images.attributes:
        return _names(images.attributes[groups], groups)
    if groups in truth.attributes:
        return _of_objects(truth, groups)
    pattern = pattern_of(groups)
    if pattern is None:
        raise _no_column(truth, groups)
    found = (pattern.search(name) for name in names_to_read(images))
    return text_column([(one[1] or ALONE) if one else ALONE for one in found])


def _names(column: NDArray[Any], name: str) -> NDArray[Any]:
    if np.ndim(column) != 1:
        raise UsageError(f"the column {name!r} holds vectors, which name no groups")
    return group_names(np.asarray(column))


def _of_objects(truth: Annotations, name: str) -> NDArray[Any]:
    """A column of objects as one of images, where formats have a row per box and none per image."""
    names, image = _names(truth.attributes[name], name), truth.image
    seen, first = np.unique(image, return_index=True)
    column = np.full(len(truth.images), ALONE, names.dtype)
    column[seen] = names[first]
    torn = np.flatnonzero(names != column[image])
    if len(torn):
        at = image[torn[0]]
        two = " and ".join(str(x)[:40] or "nothing" for x in (column[at], names[torn[0]]))
        raise refuse(
            "OS415",
            f"objects of one image differ in {name!r}: it says nothing about images",
            count=len(np.unique(image[torn])),
            example=f"image {truth.images.id[at]}: {two}",
        )
    return column


def _name(group: Any) -> str:
    return ALONE if group is None else str(group)


def pattern_of(text: str) -> re.Pattern[str] | None:
    r"""What names of one group share, as a regular expression; None for a plain word.

    >>> pattern_of("*/").search("seq01/000007.jpg")[1]
    'seq01/'
    >>> pattern_of(r"_v(\d+)_").search("cam_v12_0007.png")[1]
    '12'
    >>> pattern_of("video_id") is None
    True
    """
    if "(" in text:
        return _expression(text)
    if "*" not in text:
        return None
    return re.compile(f"^({'[^/]*?'.join(map(re.escape, text.split('*')))})")


def _expression(text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"groups={text!r} is no regular expression: {error}") from error
    if pattern.groups != 1:
        raise UsageError(
            f"groups={text!r} has {pattern.groups} groups in brackets; it takes one, which names "
            "the group of images ((?:...) is a bracket without a group)"
        )
    return pattern


def _no_column(truth: Annotations, word: str) -> Exception:
    columns = sorted({*truth.images.attributes, *truth.attributes})
    there = ", ".join(columns[:8]) or "none beside those that every image has"
    return refuse(
        "OS415",
        f"the ground truth has no column {word!r}, and it is no pattern",
        count=len(truth.images),
        example=f"columns: {there}",
    )
