"""Cutting: a split out of its sources: these images, in this order, with the boxes it may show.

Categories of the result are the labels that the split may show, and for a test the known ones, with
their roles at its task; boxes of other labels are dropped, and counted by role, because what is
dropped from training images teaches a detector that it is background.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.definition import TESTS, Split
from openset.benchmarks.pool import group_mask
from openset.findings import refuse
from openset.tables import Annotations, Vocabulary
from openset.tables.union import chosen, concatenated

_COLUMNS = ("image", "label", "box", "area", "crowd", "difficult", "id")


@dataclass(frozen=True)
class Shown:
    """Groups of labels.

    Attributes:
        boxes: Those whose boxes are kept.
        labels: Those that are categories of the file.
    """

    boxes: Sequence[str]
    labels: Sequence[str]

    @classmethod
    def of(cls, split: Split) -> Shown:
        """What a split shows.

        A test names the known classes even where it shows none: detectors speak of them.
        """
        return cls(split.keep, (*split.keep, "known") if split.kind in TESTS else split.keep)


def joined(tables: Mapping[str, Annotations]) -> Annotations:
    """Several unified tables as one; the image column ``source`` says where an image is from."""
    parts = [_with_source(table, name) for name, table in tables.items()]
    if len(parts) == 1:
        return parts[0]
    _refuse_shared_ids(tables)
    return replace(concatenated(parts), info={})


def _with_source(table: Annotations, name: str) -> Annotations:
    source = np.full(len(table.images), name)
    images = replace(table.images, attributes={**table.images.attributes, "source": source})
    return replace(table, images=images)


def _refuse_shared_ids(tables: Mapping[str, Annotations]) -> None:
    owner: dict[Any, str] = {}
    for name, table in tables.items():
        ids = table.images.id.tolist()
        both = [id_ for id_ in ids if id_ in owner]
        if both:
            example = f"{both[0]!r} in {owner[both[0]]} and in {name}"
            raise refuse(
                "OS911", f"{len(both)} image ids collide", count=len(both), example=example
            )
        owner |= dict.fromkeys(ids, name)


def cut(
    table: Annotations, images: NDArray[np.intp], vocabulary: Vocabulary, shown: Shown
) -> tuple[Annotations, Counter[str]]:
    """The images, with the boxes of the groups that are shown; and counts of dropped ones by role.

    Objects are ordered by image, so that they can be written image by image.
    """
    kept, listed = (group_mask(vocabulary, table.labels, x) for x in (shown.boxes, shown.labels))
    roles = [str(vocabulary.role(label)) for label in table.labels]
    place = np.full(len(table.images), -1, np.int32)
    place[images] = np.arange(len(images), dtype=np.int32)
    here = np.flatnonzero(place[table.image] >= 0)
    rows = _in_order(here[kept[table.label[here]]], place[table.image])
    lost = np.bincount(table.label[here], minlength=len(roles)) * ~kept
    dropped: Counter[str] = Counter()
    for role, count in zip(roles, lost.tolist(), strict=True):
        dropped[role] += count
    return _assembled(table, images, rows, place, listed, roles), +dropped


def _in_order(rows: NDArray[np.intp], place: NDArray[np.int32]) -> NDArray[np.intp] | slice:
    """Rows ordered by image; all of them, if they are ordered already, without a copy."""
    rows = rows[np.argsort(place[rows], kind="stable")]
    whole = len(rows) == len(place) and bool((np.diff(rows) == 1).all())
    return slice(None) if whole else rows


def _assembled(
    table: Annotations,
    images: NDArray[np.intp],
    rows: NDArray[np.intp] | slice,
    place: NDArray[np.int32],
    listed: NDArray[np.bool_],
    roles: Sequence[str],
) -> Annotations:
    labels = np.flatnonzero(listed).tolist()
    relabel = np.zeros(len(listed), np.int32)
    relabel[labels] = np.arange(len(labels), dtype=np.int32)
    columns = {name: getattr(table, name)[rows] for name in _COLUMNS}
    columns |= {"image": place[columns["image"]], "label": relabel[columns["label"]]}
    assert table.category_id is not None
    return Annotations(
        images=chosen(table.images, images),
        labels=tuple(table.labels[i] for i in labels),
        category_id=table.category_id[labels],
        supercategory=tuple(table.supercategory[i] for i in labels),
        role=tuple(roles[i] for i in labels),
        attributes={name: values[rows] for name, values in table.attributes.items()},
        **columns,
    )
