"""Unlabelled: how many objects a test set leaves out, as a second annotation of its images tells.

An object of the second annotation is unlabelled if no box of the test set, of whatever class,
overlaps it with an IoU of at least one half; it is labelled otherwise if the box that overlaps it
most has another class. Both are estimates and never a verdict: the second annotation has its own
mistakes, and detections given in its place many more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.bundle import Bundle, Part
from openset.benchmarks.pool import image_names
from openset.benchmarks.principles import Check, note, unknown
from openset.findings import UsageError
from openset.tables import Annotations, Vocabulary
from openset.tables.columns import positions
from openset.tables.join import join_images
from openset.tables.names import named
from openset.tables.overlap import iou
from openset.tables.vocabulary import Role

_IOU = 0.5
_SURE = 0.5  # score of a detection that counts


def read_second(path: Path, bundle: Bundle) -> Annotations:
    """A second annotation; of detections in its place, those with a score of at least one half.

    Detections belong to the first test split with annotations: its images and its category ids.
    """
    from openset.formats import read

    table = read(path)
    if isinstance(table, Annotations):
        return table
    truth = next((p.table for p in bundle.of_stage("test") if p.table is not None), None)
    if truth is None:
        raise UsageError("detections can be compared only with a test split that has annotations")
    labels, label = named(table, truth)
    image = join_images(truth, table.image)
    rows = (image >= 0) & (table.score >= _SURE)
    return Annotations(
        images=truth.images,
        labels=tuple(labels),
        image=image[rows].astype(np.int32),
        label=label[rows].astype(np.int32),
        box=table.box[rows],
    )


def estimate(bundle: Bundle, part: Part, second: Annotations) -> Check:
    """The share of objects in the second annotation that the test set does not have."""
    what = "objects left unlabelled"
    assert part.table is not None
    first = part.table
    place = positions(image_names(first), image_names(second))
    vocabulary = bundle.vocabulary(part.task)
    roles = np.array([str(vocabulary.role(label)) for label in second.labels], np.str_)
    counts: dict[str, tuple[int, int]] = {}
    otherwise = 0
    for role in (Role.KNOWN, Role.UNKNOWN):
        here = (place[second.image] >= 0) & (roles == role)[second.label] & _plain(second)
        rows = np.flatnonzero(here)
        under = _under(first, place, second, rows)
        counts[role.value] = int((under < 0).sum()), len(under)
        otherwise += _named_otherwise(vocabulary, first.labels, second, rows, under)
    if not any(total for _, total in counts.values()):
        return unknown(what, "the second annotation is of other images or classes")
    said = ", ".join(
        f"{missed} of {total} {role} ({missed / total:.1%})"
        for role, (missed, total) in counts.items()
        if total
    )
    said += f"; {otherwise} others have another class there"
    return note(what, f"estimated from the second annotation: {said}", counts["known"][0])


def _named_otherwise(
    vocabulary: Vocabulary,
    labels: tuple[str, ...],
    second: Annotations,
    rows: NDArray[np.intp],
    under: NDArray[np.int64],
) -> int:
    """How many objects lie under a box of another class than the second annotation gives them."""
    said = [vocabulary.key(second.labels[i]) for i in second.label[rows].tolist()]
    held = [vocabulary.key(labels[i]) if i >= 0 else "" for i in under.tolist()]
    return sum(bool(there) and there != here for here, there in zip(said, held, strict=True))


def _plain(table: Annotations) -> NDArray[np.bool_]:
    assert table.crowd is not None
    return ~table.crowd


def _under(
    first: Annotations, place: NDArray[np.int32], second: Annotations, rows: NDArray[np.intp]
) -> NDArray[np.int64]:
    """The label of the first annotation's box that overlaps an object most, -1 if none does."""
    order = np.argsort(first.image, kind="stable")
    starts = np.searchsorted(first.image[order], np.arange(len(first.images) + 1))
    found = np.full(len(rows), -1, np.int64)
    for at, row in enumerate(rows.tolist()):
        image = place[second.image[row]]
        there = order[starts[image] : starts[image + 1]]
        overlap = iou(second.box[row][None], first.box[there])
        if (overlap >= _IOU).any():
            found[at] = first.label[there[int(overlap.argmax())]]
    return found
