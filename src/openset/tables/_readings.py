"""Readings: the ways in which a file of detections might be meant, held against the objects.

Boxes of another layout or frame, images called by something else than their ids, and a ground truth
whose boxes are of another layout. The factor of a resized picture is not guessed from a list but
voted for by pairs of boxes and objects. `fitting` says which one fits clearly better than ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.tables._check_case import Case
from openset.tables._look import TIGHT, Array, Look, Met, Reads, Sample, alike, beside
from openset.tables._moved import Moved, moves
from openset.tables.annotations import Annotations
from openset.tables.boxes import LAYOUTS, TURNS, UNITS, Convention, padding
from openset.tables.image_ids import MEANING, READINGS
from openset.tables.sets import in_other_set, ood_images

_EXCHANGED = "those of the other set: the two files of detections are exchanged"
_NEARLY = 0.95  # of the objects that are met at all, another reading must meet
_TIMES = 3  # how many times more objects another reading must meet
_FEWEST = 8  # and how many at least; and pairs that vote
_SHARE = 0.05
_FITTED, _WELL = 0.15, 0.4  # share, and part of what is met loosely, where a number was fitted
_CAMERAS = (720, 1080, 1920, 2160, 3840)  # sides of their pictures
_STRETCHED = ("xywh", "xyxy", "cxcywh")  # layouts in which sides may have numbers of their own
_BEYOND = 1.5  # what no height exceeds, as a share of the image
_LONGEST = 2.5  # times the shorter side, to which the longer one is allowed
_MOST = 1 / 3  # of the objects that could be met, where chance cannot be told
# Sizes to which detectors resize pictures; what people write boxes relative to.
_USUAL = (1, 100, 224, 256, 300, 320, 384, 416, 448, 480, 512, 600, 608, 640, 736, 768, 800, 896,
          960, 1000, 1024, 1280, 1333, 1536)  # fmt: skip


class Reading(NamedTuple):
    """A way to read a file.

    Attributes:
        code: What is found if it is the right one.
        kind: What it reads in another way.
        option: The option for it, or nothing.
        meaning: What it takes the file for.
        truth: The ground truth.
        images: The images of a sample.
        convention: How boxes are read.
        met: How objects of these images are met.
        fitted: Whether boxes and objects chose a number, beside what the convention says.
    """

    code: str
    kind: str
    option: str
    meaning: str
    truth: Annotations
    images: NDArray[np.int32]
    convention: Reads
    met: Met
    fitted: bool = False

    def elsewhere(self, sample: Sample, shift: float) -> Met:
        """How objects of other images are met, a share of all further on."""
        return beside(self.truth, sample, self.images, shift).met(self.convention)


def other_boxes(case: Case, look: Look) -> Iterator[Reading]:
    """The boxes in every other convention, simple ones first."""
    resized = [framed(look, layout, frame) for frame in UNITS for layout in LAYOUTS]
    resized += [stretched(look, layout) for layout in _STRETCHED]
    found = sorted((_capped(look, one) for one in resized if one is not None), key=_oddness)
    turned = [Convention(layout, frame) for frame in TURNS for layout in ("xywh", "xyxy", "cxcywh")]
    for one in [*map(Convention, LAYOUTS), *found, *turned]:
        if str(one) != str(Convention.of(case.written.boxes)):
            option, images = f"boxes={str(one)!r}", look.images
            held = case.truth, images, one, look.met(one)
            yield Reading("OS215", "boxes", option, one.meaning, *held)


class _Columns:
    """Boxes that are x, y, width, height under the names of corners, and were read as corners."""

    def in_pixels(self, box: Array, size: Array) -> Array:
        """Boxes as their numbers say."""
        return np.column_stack([box[:, :2], box[:, :2] + box[:, 2:]])


def misnamed_columns(case: Case, look: Look) -> Iterator[Reading]:
    """The numbers under names of corners as sizes, where most boxes have negative ones."""
    read = _Columns()
    if case.written.boxes == "xywh" and (look.sample.box[:, 2:] < 0).any(axis=1).mean() > _MOST:
        meaning = "x, y, width, height, and were taken for corners (xmin, ymin, xmax, ymax)"
        held = case.truth, look.images, read, look.met(read)
        option = "naming the columns x, y, w, h, or converting again without boxes='xyxy', or in "
        option += "memory read_detections(found, box_format='xywh') of openset.formats,"
        yield Reading("OS215", "boxes", option, meaning, *held)


class _Behind(NamedTuple):
    """Boxes that are centre and size as shares, behind the confidence, which was read first.

    Attributes:
        ours: How boxes were read.
        score: What was read as confidence, of each box of the sample: its height.
    """

    ours: Convention
    score: Array

    def in_pixels(self, box: Array, size: Array) -> Array:
        """Boxes of the last four numbers."""
        box = self.ours.in_pixels(box, size)
        read = np.column_stack([box[:, :2] + box[:, 2:] / 2, box[:, 2:]]) / np.tile(size, 2)
        sides = np.column_stack([read[:, 3], self.score])
        return np.column_stack([read[:, 1:3] - sides / 2, sides]) * np.tile(size, 2)


def behind_confidence(case: Case, look: Look) -> Iterator[Reading]:
    """The boxes as if lines had been class, confidence, box, and read as class, box, confidence."""
    score = case.detections.score[look.sample.row]
    if ((score > 0) & (score < _BEYOND)).mean() > _NEARLY:
        read = _Behind(Convention.of(case.written.boxes), score)
        meaning = "centre x, centre y, width, height behind the confidence"
        held = case.truth, look.images, read, look.met(read)
        yield Reading("OS439", "boxes", "", meaning, *held)


class _Edge(NamedTuple):
    """Boxes that were mirrored by their left, or upper, edge: it became the other one.

    Attributes:
        ours: How they are written.
        axis: 0 where x was taken from the width, 1 where y was from the height.
    """

    ours: Convention
    axis: int

    def in_pixels(self, box: Array, size: Array) -> Array:
        """Boxes with that edge taken back."""
        box = self.ours.in_pixels(box, size).copy()
        box[:, self.axis] = size[:, self.axis] - box[:, self.axis]
        return box

    @property
    def meaning(self) -> str:
        """What was done to the boxes, in words."""
        name, side = (("x", "width"), ("y", "height"))[self.axis]
        done = f"{side} of the image - {name} in place of {side} - {name} - {side} of the box"
        return f"{self.ours.meaning}, turned over with {done}"


def turned_edges(case: Case, look: Look) -> Iterator[Reading]:
    """The boxes as if an edge had been turned over without the size of the box."""
    for one in (_Edge(Convention.of(case.written.boxes), axis) for axis in (0, 1)):
        held = case.truth, look.images, one, look.met(one)
        yield Reading("OS230", "boxes", "", one.meaning, *held)


def moved_boxes(case: Case, look: Look) -> Iterator[Reading]:
    """The boxes moved and resized as they lie on objects best."""
    classes = case.vocabulary.classes(case.truth.labels)[case.truth.label[look.objects]]
    own = case.joined.klass[look.sample.row[look.by]]
    for one in moves(
        look, Convention.of(case.written.boxes), (classes[look.at] == own) & (own >= 0)
    ):
        held = case.truth, look.images, one, look.met(one)
        yield Reading("OS230", "boxes", "", one.meaning, *held)


def other_ids(case: Case, sample: Sample) -> Iterator[Reading]:
    """The image ids under every other reading."""
    ours = Convention.of(case.written.boxes)
    every = [
        (f"image_ids={name!r}", MEANING[name], rows_of(case.truth, sample.ids))
        for name, rows_of in READINGS.items()
    ]
    if ood_images(case.truth.images) is not None:
        images = in_other_set(case.truth.images, sample.ids)
        every.insert(0, ("giving the two files in the order ID+OOD", _EXCHANGED, images))
    for option, meaning, images in every:
        if (images >= 0).any() and not np.array_equal(images, sample.image):
            held = case.truth, images, ours, beside(case.truth, sample, images).met(ours)
            yield Reading("OS423", "image ids", option, meaning, *held)


def other_truth(case: Case, sample: Sample) -> Iterator[Reading]:
    """The boxes of the ground truth in every other layout."""
    ours = Convention.of(case.written.boxes)
    for layout, read in LAYOUTS.items():
        truth, meaning = replace(case.truth, box=read(case.truth.box)), Convention(layout).meaning
        held = truth, sample.image, ours, beside(truth, sample, sample.image).met(ours)
        yield Reading("OS430", "boxes of the ground truth", "", meaning, *held)


def two_mistakes(case: Case, sample: Sample) -> Iterator[Reading]:
    """Image ids and boxes under other readings at once, where most ids are ids of images then."""
    for ids in other_ids(case, sample):
        if 2 * np.count_nonzero(ids.images >= 0) < len(ids.images):
            continue
        for one in other_boxes(case, beside(case.truth, sample, ids.images)):
            yield one._replace(
                code=ids.code,
                kind="image ids and boxes",
                option=f"{ids.option} and {one.option}",
                meaning=f"{ids.meaning}, and {one.meaning}",
            )


def fitting(now: Met, sample: Sample, others: list[Reading]) -> Reading | None:
    """The simplest of the readings that fit best, if it fits clearly better than ours."""
    others = [one for one in others if _certain(one)]
    for level in range(len(TIGHT)):
        most = max((one.met.tight()[level] for one in others), default=0)
        best = next((one for one in others if one.met.tight()[level] >= 0.95 * most), None)
        if best is not None and _clear(now, sample, best, level):
            return best
    return None


def _clear(now: Met, sample: Sample, one: Reading, level: int) -> bool:
    """Whether a reading meets many objects, by far more than ours and than by chance.

    Boxes that are too small throughout meet none tightly and all of them a little: then another
    reading that meets a few by chance is not the better one.
    """
    met = one.met.tight()[level]
    if met < max(_FEWEST, _TIMES * (now.tight()[level] + 1)) or one.met.mean <= now.mean:
        return False
    if one.met.loose() < _NEARLY * now.loose() or met < _SHARE * one.met.possible:
        return False
    if alike(one.truth, sample, one.images):
        return met >= _MOST * one.met.possible
    by_chance = one.elsewhere(sample, 0.5).tight()[level]
    return met >= _TIMES * (by_chance + 1)


def _certain(one: Reading) -> bool:
    """Whether a reading meets more than fitted numbers make of a weak detector's boxes.

    Early in a training a few of thousands of boxes fit some size or map. What was resized or moved
    fits as a whole: most of what is met at all is met tightly. A usual size is no fitted number.
    """
    many = one.met.tight()[0] >= _FITTED * one.met.possible
    well = one.met.tight()[0] >= _WELL * one.met.loose()
    fitted = one.fitted or _has_number(one.convention)
    return (many and well) if fitted else (many or well)


def _has_number(read: Reads) -> bool:
    """Whether a reading has a number that boxes and objects chose."""
    if isinstance(read, Convention):
        return read.frame in UNITS and _oddness(read) != 1
    return isinstance(read, Moved)


def framed(look: Look, layout: str, frame: str) -> Convention | None:
    """A frame of the size under which most boxes lie on objects, by the votes of all pairs.

    A pair votes for a factor if widths, heights and both coordinates of the centres agree on it.
    Centres say what it is: detectors may draw all boxes a little too large.
    """
    size = look.size if frame != "scaled" else np.ones_like(look.size)
    box = LAYOUTS[layout](look.sample.box) * np.tile(UNITS[frame](size), 2)[look.sample.slot]
    objects = look.box + np.pad(padding(frame, size), ((0, 0), (0, 2)))[look.slot]
    theirs, given = _extent(objects)[:, look.at], _extent(box)[:, look.by]
    ratio = np.log(theirs) - np.log(given)
    agree = ratio.max(axis=0) - ratio.min(axis=0) < 0.15
    votes = ratio[:2, agree].mean(axis=0)
    if len(votes) < _FEWEST:
        return None
    # Centres far from the corner of the image tell the factor best.
    near = np.flatnonzero(agree)[_at_peak(votes)]
    number = float((given[:2, near] ** 2).sum() / (given[:2, near] * theirs[:2, near]).sum())
    number = _factor_meant(number) if frame == "scaled" else _size_meant(number)
    return None if number == (frame == "scaled") else Convention(layout, frame, number)


def stretched(look: Look, layout: str) -> Convention | None:
    """Shares that were multiplied by the sides of one picture, by the votes of pairs for each side.

    As `framed` for "norm", where width and height have a number of their own: two fit a few boxes
    by chance, so that both have to be usual.
    """
    given = LAYOUTS[layout](look.sample.box) * np.tile(look.size, 2)[look.sample.slot]
    theirs, given = _extent(look.box)[:, look.at], _extent(given)[:, look.by]
    ratio = np.log(theirs) - np.log(given)
    agree = np.abs(ratio[:2] - ratio[2:]).max(axis=0) < 0.15
    for axis in (0, 1):
        agree[agree] = _at_peak(ratio[axis, agree])
    if np.count_nonzero(agree) < _FEWEST:
        return None
    given, theirs = given[:2, agree], theirs[:2, agree]
    across, down = ((given**2).sum(axis=1) / (given * theirs).sum(axis=1)).tolist()
    across, down = (_size_meant(side, (*_USUAL, *_CAMERAS)) for side in (across, down))
    usual = {across, down} <= {*_USUAL, *_CAMERAS} and across != down
    return Convention(layout, "norm", across, down) if usual else None


def _at_peak(votes: Array) -> NDArray[np.bool_]:
    """Which votes are near those that most agree on."""
    if len(votes) < _FEWEST:
        return np.zeros(len(votes), np.bool_)
    counts = np.bincount(np.floor((votes - votes.min()) / 0.02).astype(np.int64), minlength=3)
    peak = votes.min() + 0.02 * (np.convolve(counts, np.ones(3), "same").argmax() + 0.5)
    near: NDArray[np.bool_] = np.abs(votes - peak) < 0.05
    return near


def _capped(look: Look, one: Convention) -> Convention:
    """A frame of one side as that of both, as 800 and 1333, if that meets objects on top of it."""
    if one.frame == "shortest":
        sides = [(one.number, float(most)) for most in _USUAL if 1 < most / one.number <= _LONGEST]
    elif one.frame == "longest":
        sides = [
            (float(least), one.number) for least in _USUAL if 1 < one.number / least <= _LONGEST
        ]
    else:
        return one
    both = [Convention(one.layout, "shortest", *two) for two in sides]
    met = [sum(look.met(each).tight()) for each in both]
    more = max(met, default=0) >= sum(look.met(one).tight()) + _FEWEST
    return both[int(np.argmax(met))] if more else one


def _extent(box: Array) -> Array:
    """Centre and size, by column."""
    return np.vstack([box[:, 0] + box[:, 2] / 2, box[:, 1] + box[:, 3] / 2, box[:, 2:].T])


def _size_meant(number: float, sizes: tuple[int, ...] = _USUAL) -> float:
    """A usual size if one is near, else a whole number, which may be 0: none."""
    usual = min(sizes, key=lambda size: abs(size - number))
    return float(usual if abs(usual / number - 1) < 0.015 else round(number))


def _factor_meant(number: float) -> float:
    """A round factor if one is near, the nearer the less round it is."""
    for step, apart in ((0.25, 0.015), (0.1, 0.015), (0.05, 0.0075)):
        near = round(number / step) * step
        if abs(near / number - 1) < apart:
            return round(near, 2)
    return float(f"{number:.3g}")


def _oddness(convention: Convention) -> int:
    """Round factors before usual sizes before any other number: several may fit alike."""
    if convention.frame == "scaled":
        return 0 if abs(convention.number * 20 % 1) < 1e-9 else 2
    return 1 if convention.number in _USUAL else 3
