"""Unlabelled: what a test set leaves out, as a second annotation of its images tells.

An object of the second annotation is unlabelled if no box of the test set, of whatever class,
overlaps it with an IoU of at least one half; it is labelled otherwise if the box that overlaps it
most has another class. Both are estimates and never a verdict: the second annotation has its own
mistakes, and detections given in its place many more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.bundle import Bundle, Part
from openset.benchmarks.pool import image_names
from openset.benchmarks.principles import Check, Verdict, failed, note, passed, unknown
from openset.findings import UsageError, refuse
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.columns import positions
from openset.tables.join import join_images
from openset.tables.overlap import iou
from openset.tables.vocabulary import Role
from openset.wording import spaced

_IOU = 0.5
_SURE = 0.5  # score of a detection that counts
_CERTAIN = 0.8  # score from which an image is worth a look


@dataclass(frozen=True)
class Second:
    """Another annotation of test images, or detections in its place.

    Attributes:
        table: As it was read.
    """

    table: Annotations | Detections

    @property
    def by_hand(self) -> bool:
        """Whether people made it: what detectors find has to be looked at."""
        return isinstance(self.table, Annotations)

    def on(self, part: Part, least: float = _SURE) -> Annotations:
        """What it has on the images of a split; of detections, those with at least a score."""
        if isinstance(self.table, Annotations):
            return self.table
        truth = part.table
        assert truth is not None
        labels, label = self._labels(self.table, truth)
        image = join_images(truth, self.table.image)
        rows = (image >= 0) & (label >= 0) & (self.table.score >= least)
        return Annotations(
            images=truth.images,
            labels=labels,
            image=image[rows].astype(np.int32),
            label=label[rows].astype(np.int32),
            box=self.table.box[rows],
        )

    @staticmethod
    def _labels(found: Detections, truth: Annotations) -> tuple[tuple[str, ...], NDArray[Any]]:
        """Names, and which of them each detection has; -1 for an id that the split lacks."""
        if found.labels:
            return found.labels, found.label
        assert truth.category_id is not None
        return truth.labels, positions(truth.category_id, found.label)


def read_second(path: Path, bundle: Bundle) -> Second:
    """A second annotation; detections in its place have the images and category ids of a split."""
    from openset.formats import read

    table = read(path)
    whole = any(part.table is not None for part in bundle.of_stage("test"))
    if isinstance(table, Detections) and not whole:
        raise UsageError("detections can be compared only with a test split that has annotations")
    if isinstance(table, Detections):
        _refuse_other_images(path, table, bundle)
    return Second(table)


def _refuse_other_images(path: Path, found: Detections, bundle: Bundle) -> None:
    """Refuse detections most of which are on no test image, and few test images have any.

    Numbers of images mean others in every data set, and some are in both by chance.
    """
    tables = [part.table for part in bundle.of_stage("test") if part.table is not None]
    joined = [join_images(table, found.image) for table in tables]
    shared = np.any([image >= 0 for image in joined], axis=0)
    reached = sum(len(np.unique(image[image >= 0])) for image in joined)
    if 2 * np.count_nonzero(shared) < len(found) and 2 * reached < sum(
        len(table.images) for table in tables
    ):
        away = len(found) - int(np.count_nonzero(shared))
        raise refuse(
            "OS403",
            f"{spaced(away)} of {spaced(len(found))} detections of {path} are on images that no "
            "test split has",
            count=away,
            example=f"image {found.image[int((~shared).argmax())]}",
        )


def known_in(bundle: Bundle, part: Part, second: Second) -> Check:
    """Whether an OOD set shows known objects that nobody labelled, and on which images.

    The critique of FMIYC: people are in published OOD sets. What a detector finds is no proof, so
    that its images are listed to be looked at.
    """
    what = "an out-of-distribution set shows nothing known that nobody labelled"
    assert part.table is not None
    other = second.on(part, _CERTAIN)
    names = image_names(part.table)
    place = positions(names, image_names(other))
    if not (place >= 0).any():
        return unknown(what, "the second annotation is of other images")
    vocabulary = bundle.vocabulary(part.task)
    known = np.array([vocabulary.role(label) is Role.KNOWN for label in other.labels], np.bool_)
    rows = np.flatnonzero(known[other.label] & (place[other.image] >= 0) & _plain(other))
    who = "the second annotation" if second.by_hand else f"a detector, at scores from {_CERTAIN:g},"
    if not len(rows):
        return passed(what, f"{who} has none on {len(names)} images")
    _, first = np.unique(place[other.image[rows]], return_index=True)
    images = tuple(names[place[other.image[rows]][first]].tolist())
    said = f"{who} has {len(rows)} known objects on {len(images)} of {len(names)} images"
    shown = [f"{names[place[other.image[r]]]}: {other.labels[other.label[r]]}" for r in rows[first]]
    failure = failed(what, said, len(images), shown)
    verdict = failure.verdict if second.by_hand else Verdict.UNKNOWN
    return replace(failure, images=images, verdict=verdict)


def estimate(bundle: Bundle, part: Part, other: Second) -> Check:
    """The share of objects in the second annotation that the test set does not have."""
    what = "objects left unlabelled"
    assert part.table is not None
    first, second = part.table, other.on(part)
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
