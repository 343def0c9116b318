"""Checks that boxes lie on objects by more than chance.

Where no reading fits, the null model is the same boxes on the objects of other images. A detector
that looked at its images meets its own objects better, however weak it is; one whose ids were
shuffled does not. It takes enough images to say so, and a detector with the same boxes everywhere
gets no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, first
from openset.tables._look import Array, Look, alike, beside, by_file
from openset.tables.boxes import Convention
from openset.tables.join import ABSENT
from openset.tables.overlap import iou_of_pairs
from openset.wording import spaced

_NULL = (1000, 15)  # images, and boxes of each
_IMAGES = 30  # fewer prove no shuffle
_SHIFTS = (0.25, 0.5, 0.75)
_BY_CHANCE = 0.03  # mean overlap beyond chance that is as good as none
_SIGNIFICANT = 2.5
_TIMES = 2  # as much overlap as by chance, of known boxes
_SOME = 400, 50  # images, and boxes of each, of which those of one label are looked at


class Chance(NamedTuple):
    """Boxes that lie on objects as by chance.

    Attributes:
        own: Their mean best overlap with an object of their image.
        other: The same with those of other images.
        boxes: How many were looked at.
    """

    own: float
    other: float
    boxes: int


def by_chance(case: Case) -> Iterator[Finding]:
    """Detections that meet objects of their images no better than those of other images."""
    ours, sample = Convention.of(case.written.boxes), by_file(case, *_NULL)
    look = beside(case.truth, sample, sample.image)
    known = case.named[case.truth.label[look.objects]]
    count = np.bincount(look.slot[known], minlength=len(sample.ids))
    if np.count_nonzero(count) < _IMAGES or _same_everywhere(look, ours):
        return
    if alike(case.truth, sample, sample.image):
        return
    own, *others = (
        np.bincount(look.slot[known], met.best[known], len(count))[count > 0] / count[count > 0]
        for met in (beside(case.truth, sample, sample.image, s).met(ours) for s in (0, *_SHIFTS))
    )
    chance = np.mean(others, axis=0)
    if _beyond(own - chance):
        return
    yield Finding(
        "OS424",
        Level.ERROR,
        "boxes overlap the objects of their own image no better than those of other images: best "
        f"IoU {own.mean():.2f} and {chance.mean():.2f} on {spaced(len(own))} images examined",
        count=len(case.detections),
        example=case.where(0),
    )


def unknown_by_chance(case: Case) -> Iterator[Finding]:
    """The finding that boxes labelled unknown lie on objects no better than by chance."""
    if not case.per_class[len(case.vocabulary.known) - ABSENT]:
        return
    k = len(case.vocabulary.known)
    unknown = (case.joined.klass == k) & ~case.joined.leaked
    # Where unknown objects are not annotated, nobody knows what such boxes are on.
    annotated = case.vocabulary.classes(case.truth.labels)[case.truth.label] == k
    found = chance_of(case, unknown, annotated)
    if found is not None and _sees(case, (case.joined.klass >= 0) & (case.joined.klass < k)):
        yield Finding(
            "OS349",
            Level.WARNING,
            f"boxes labelled unknown overlap objects of any class no better than those of other "
            f"images: mean best IoU {found.own:.2f} and {found.other:.2f}, of "
            f"{spaced(found.boxes)} boxes examined",
            count=int(np.count_nonzero(unknown)),
            example=case.where(first(unknown)),
        )


def chance_of(
    case: Case, which: NDArray[np.bool_], objects: NDArray[np.bool_] | None = None
) -> Chance | None:
    """Whether some boxes lie on objects as by chance, if there are enough to tell.

    Args:
        case: The case.
        which: The boxes.
        objects: Objects of which an image must have one, all by default.
    """
    held = _held(case, which, objects)
    if held is None or _beyond(held[0] - held[1]):
        return None
    return Chance(float(held[0].mean()), float(held[1].mean()), held[2])


def _held(
    case: Case, which: NDArray[np.bool_], objects: NDArray[np.bool_] | None
) -> tuple[Array, Array, int] | None:
    """Mean overlaps of boxes with objects of their image and of others, by image; and how many."""
    if not which.any():
        return None
    ours, sample = Convention.of(case.written.boxes), by_file(case, *_SOME)
    sample = sample.only(which[sample.row])
    image = case.truth.image if objects is None else case.truth.image[objects]
    having = np.bincount(image, minlength=len(case.truth.images))
    there = np.isin(np.arange(len(sample.ids)), sample.slot) & (sample.image >= 0)
    there &= np.append(having > 0, False)[sample.image]
    sample = sample.of(there)
    if len(sample.ids) < _IMAGES or alike(case.truth, sample, sample.image):
        return None
    look = beside(case.truth, sample, sample.image)
    if _same_everywhere(look, ours) or not np.isfinite(look.size).all():
        return None
    # As shares of images: boxes of a wide one are on its own objects more often than on a high one.
    box = ours.in_pixels(sample.box, look.size[sample.slot]) / _twice(look.size)[sample.slot]
    count = np.bincount(sample.slot)
    own, *others = (
        np.bincount(sample.slot, one.on_objects(_scaled(one, box))) / count
        for one in (beside(case.truth, sample, sample.image, s) for s in (0, *_SHIFTS))
    )
    return own, np.mean(others, axis=0), len(sample.row)


def _sees(case: Case, known: NDArray[np.bool_]) -> bool:
    """Whether boxes of known classes are on objects by far more than chance: early ones are not."""
    held = _held(case, known, None)
    return held is not None and bool(held[0].mean() >= _TIMES * held[1].mean())


def _scaled(look: Look, box: Array) -> Array:
    """The overlap of each pair, with boxes as shares of whatever image the object is of."""
    size = _twice(look.size)[look.slot[look.at]]
    return iou_of_pairs(box[look.by] * size, look.box[look.at])


def _twice(size: Array) -> Array:
    return np.tile(size, 2)


def _beyond(more: Array) -> bool:
    """Whether the overlap of images is more than that of others, by more than next to nothing."""
    deviation = more.std(ddof=1) / np.sqrt(len(more))
    return bool(more.mean() > min(_SIGNIFICANT * deviation, _BY_CHANCE - 2 * deviation))


def _same_everywhere(look: Look, ours: Convention) -> bool:
    """Whether most images have the same best box: a baseline that does not look at them."""
    first = look.sample.first[:-1][np.diff(look.sample.first) > 0]
    size = look.size[look.sample.slot[first]]
    box = ours.in_pixels(look.sample.box[first], size)
    return _repeated(box) or _repeated(box / np.tile(size, 2))


def _repeated(box: Array) -> bool:
    """Whether most boxes equal the next one."""
    same = all_of(np.abs(np.diff(box, axis=0)) < 0.01 * box[1:, 2:].max(axis=1, keepdims=True))
    return bool(same.mean() > 0.5)
