"""Joining: several files of ground truth, or of detections, as one table.

Labels are united by name, in the spelling and with the id of the first file that has them. An image
that several files show is there once, with the objects of all: the splits of tasks are such files.
An id that means images of different file names is refused: objects of both would lie on one.

Not the join of detections with their ground truth (`join`); `union` has the pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from openset.findings import Finding, Level, refuse
from openset.tables._check_twice import images_under_two_ids, objects_twice, written_twice
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections
from openset.tables.made_alike import refuse_made_otherwise
from openset.tables.names import file_names, named
from openset.tables.overlap import iou_of_pairs
from openset.tables.union import concatenated_detections, given_ids, merged
from openset.tables.vocabulary import normal

_LOOKED, _FEWEST = 100, 8  # images of two files
_ON, _HARDLY = 0.5, 0.3  # an overlap, and how often boxes of other images have it
_RESTART = (
    "image ids begin anew in each file, as workers count them: boxes hardly ever meet, so these "
    "are different images",
    "write ids, or file names, that are those of the ground truth in every file, then join them; "
    "if these are two detectors, give each a file of its own",
)


def joined_truths(tables: Sequence[Annotations]) -> tuple[Annotations, list[Finding]]:
    """Ground truths as one, and what is to be known about it."""
    if len(tables) == 1:
        return tables[0], []
    shared = _shared_images(tables)
    spelling: dict[str, str] = {}
    for label in (label for table in tables for label in table.labels):
        spelling.setdefault(normal(label), label)
    same = [_spelt(table, spelling) for table in tables]
    labels = tuple(spelling.values())
    above, _ = _first_stated(same, "supercategory")
    roles, differ = _first_stated(same, "role")
    found = replace(
        merged(same, labels),
        numbered=any(table.numbered for table in tables),
        supercategory=tuple(above.get(label, "") for label in labels),
        role=tuple(roles.get(label, "") for label in labels),
        category_id=_category_ids(same, labels),
        info={},
    )
    again = [replace(one, level=Level.WARNING) for one in objects_twice(found)] if shared else []
    under_two = [*images_under_two_ids(found)] if len(found) else []
    return found, [*under_two, *again, *_told_shared(shared), *_told_roles(differ)]


def joined_detections(
    tables: Sequence[Detections], truth: Annotations | None
) -> tuple[Detections, list[Finding]]:
    """What one detector said in several files; ids and names of labels together need the truth.

    What is to be known about it comes with it.
    """
    if len(tables) == 1:
        return tables[0], []
    if len({bool(table.labels) for table in tables}) > 1:
        pairs = [(table, *named(table, truth)) for table in tables]
        tables = [replace(table, labels=names, label=label) for table, names, label in pairs]
    refuse_made_otherwise({f"file {at}": table for at, table in enumerate(tables, 1)})
    joined = concatenated_detections(tables)
    return joined, written_twice(joined) or _told_several(tables)


def _shared_images(tables: Sequence[Annotations]) -> int:
    """How many images are in several files; refuses ids that mean different ones."""
    owner: dict[Any, str] = {}
    other = []
    for table in tables:
        for id_, name in zip(table.images.id.tolist(), file_names(table.images), strict=True):
            before = owner.setdefault(id_, name)
            if before != name and before and name:
                other.append(f"image {id_!r} is {before} and {name}")
    if other:
        message = f"{len(other)} image ids mean different images"
        raise refuse("OS381", message, count=len(other), example=other[0])
    return sum(len(table.images) for table in tables) - len(owner)


def _spelt(table: Annotations, spelling: Mapping[str, str]) -> Annotations:
    return replace(table, labels=tuple(spelling[normal(label)] for label in table.labels))


def _first_stated(tables: Sequence[Annotations], name: str) -> tuple[dict[str, str], list[str]]:
    """What the first file that states it says of each label, and labels of which others differ."""
    found: dict[str, str] = {}
    differ: dict[str, None] = {}
    for table in tables:
        for label, value in zip(table.labels, getattr(table, name), strict=True):
            if value and found.setdefault(label, value) != value:
                differ[label] = None
    return found, list(differ)


def _category_ids(tables: Sequence[Annotations], labels: Sequence[str]) -> Any:
    stated = [
        dict(zip(table.labels, np.asarray(table.category_id).tolist(), strict=True))
        for table in tables
        if table.numbered
    ]
    given = given_ids(stated, labels)
    return np.array([given[label] for label in labels], np.int64)


def _told_several(tables: Sequence[Detections]) -> list[Finding]:
    """The finding that files have boxes of the same labels on the same images: two detectors.

    Or two parts of one, each of which counts its images from the first.
    """
    first, *others = (_images_and_labels(table) for table in tables)
    for table, (images, labels) in zip(tables[1:], others, strict=True):
        both = images & first[0]
        if labels & first[1] and 2 * len(both) >= min(len(images), len(first[0])) > 0:
            message = f"{len(both)} images have boxes of the same labels in two of the files"
            cause, fix = _RESTART if _other_images(tables[0], table) else ("", "")
            return [Finding("OS232", Level.WARNING, message, len(both), cause=cause, fix=fix)]
        first = images | first[0], labels | first[1]
    return []


def _other_images(one: Detections, other: Detections) -> bool:
    """Whether the best boxes of two files hardly ever meet on what they call the same image."""
    both = np.intersect1d(one.image, other.image)
    both = both[:: -(-len(both) // _LOOKED)] if len(both) else both
    met = [_meet(one, other, image) for image in both]
    return len(met) >= _FEWEST and sum(met) < _HARDLY * len(met)


def _meet(one: Detections, other: Detections, image: Any) -> bool:
    """Whether a box of one file is where the best one of the other is."""
    theirs = np.flatnonzero(other.image == image)
    best = other.box[theirs[other.score[theirs].argmax()]]
    box = one.box[one.image == image]
    return bool((iou_of_pairs(box, np.tile(best, (len(box), 1))) >= _ON).any())


def _images_and_labels(table: Detections) -> tuple[set[Any], set[Any]]:
    labels = np.unique(table.label).tolist()
    return set(np.unique(table.image).tolist()), {
        normal(table.labels[at]) if table.labels else at for at in labels
    }


def _told_shared(count: int) -> list[Finding]:
    message = f"{count} images are in several files: the objects of all are put on them"
    return [Finding("OS384", Level.NOTE, message, count)] if count else []


def _told_roles(labels: Sequence[str]) -> list[Finding]:
    message = f"{len(labels)} labels have other roles in other files: the first file's are kept"
    return [Finding("OS385", Level.WARNING, message, len(labels), labels[0])] if labels else []
