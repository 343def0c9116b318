"""Checks that boxes and image ids were read as they were written.

A detector that finds nothing is more often a file that is read wrongly: corners for sizes, boxes of
a resized picture, places in a list for ids. Such files are plausible by themselves, so they are
held against the objects: on some images, how many objects does a box meet tightly, as the file is
read and as it might be read? A reading that meets three times as many is named, and refused until
it is asked for. The factor of a resized picture is not guessed from a list but voted for by pairs
of boxes and objects.

Where no reading fits, the null model is the same boxes on the objects of other images. A detector
that looked at its images meets its own objects better, however weak it is; one whose ids were
shuffled does not. It takes enough images to say so, and a detector with the same boxes everywhere
gets no verdict. In a small set each image's boxes are tried on all others instead.

Not a judgement of labels or scores: classes play no part, but that objects of classes that the
detector never names prove nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, object_at, share
from openset.tables.annotations import Annotations
from openset.tables.boxes import LAYOUTS, TURNS, UNITS, Convention, padding, sizes
from openset.tables.columns import positions
from openset.tables.image_ids import MEANING, READINGS
from openset.tables.overlap import iou, iou_of_pairs
from openset.wording import spaced

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_KIND = {"OS215": "boxes", "OS423": "image ids", "OS430": "boxes of the ground truth"}
_TIGHT = (0.7, 0.85)  # the second tells boxes that are off by a tenth
_LOOSE, _NEARLY = 0.5, 0.95  # an overlap, and how many such another reading may have less
_TIMES = 3  # how many times more objects another reading must meet
_FEWEST = 8  # and how many at least
_SHARE = 0.05
_FIRST = 60  # boxes of an image for a first look
_OTHERS, _NULL = (150, 20), (1000, 15)  # images, and boxes of each: for other readings, for chance
_SHUFFLED, _SMALL = (50, 15), 1500  # likewise for all images of a set of so many objects
_OBJECTS = 50  # of an image
_IMAGES = 30  # fewer prove no shuffle
_SHIFTS = (0.25, 0.5, 0.75)  # other images: so far on, of all, that they are not of one film
_ALIKE = 0.5  # mean overlap of objects of different images from which they are too alike to tell
_MOST = 1 / 3  # of the objects that could be met, where chance cannot be told
_BY_CHANCE = 0.03  # mean overlap beyond chance that is as good as none
_SIGNIFICANT = 2.5
# Sizes to which detectors resize pictures; what people write boxes relative to.
_USUAL = (1, 100, 224, 256, 300, 320, 384, 416, 448, 480, 512, 600, 608, 640, 736, 768, 800, 896,
          960, 1000, 1024, 1280, 1333, 1536)  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Sample:
    """Detections of some images, image by image, the best of each first.

    Attributes:
        ids: The images, as the file calls them.
        image: The images, as they are joined.
        slot: Which image a detection is of.
        row: Which detection it is.
        box: Its box, as written.
    """

    ids: NDArray[Any]
    image: NDArray[np.int32]
    slot: Index
    row: Index
    box: Array

    @property
    def first(self) -> Index:
        """The first detection of each image, and an end."""
        return np.searchsorted(self.slot, np.arange(len(self.ids) + 1))


@dataclass(frozen=True, eq=False)
class _Met:
    """How well objects are met: the best overlap of each, and how many could be met."""

    best: Array
    possible: int

    @property
    def mean(self) -> float:
        """The mean of the best overlaps."""
        return float(self.best.sum()) / max(1, len(self.best))

    def tight(self) -> tuple[int, ...]:
        """Objects met tightly, at each level."""
        return tuple(int(np.count_nonzero(self.best >= level)) for level in _TIGHT)

    def loose(self) -> int:
        """Objects met at all."""
        return int(np.count_nonzero(self.best >= _LOOSE))


@dataclass(frozen=True, eq=False)
class _Reading:
    """A way to read a file: the option for it, what it takes the file for, and how it fits."""

    code: str
    option: str
    meaning: str
    truth: Annotations
    images: NDArray[np.int32]
    convention: Convention
    met: _Met


def read_otherwise(case: Case) -> Iterator[Finding]:
    """Findings about files that another reading fits, or none."""
    if min(len(case.truth), len(case.detections)) < _FEWEST or _healthy(case):
        return
    sample = _by_file(case, *_OTHERS)
    look = _look(case.truth, sample, sample.image)
    now = look.met(Convention.of(case.written.boxes))
    others = [*_other_boxes(case, look), *_other_ids(case, sample), *_other_truth(case, sample)]
    best = _best(now, sample, others)
    if best is not None:
        yield _named(case, now, best)
    else:
        yield from [*_by_chance(case)] or _of_other_images(case)


def _healthy(case: Case) -> bool:
    """Whether so many objects are met that no other reading could meet three times as many."""
    images, slot = np.unique(case.joined.image[case.some], return_inverse=True)
    sample = _taken(case, images, case.some, slot, _FIRST)
    met = _look(case.truth, sample, sample.image).met(Convention.of(case.written.boxes))
    by_chance = met.possible < _FEWEST and 2 * case.per_image[-1] > len(case.detections)
    return _TIMES * (met.tight()[0] + 1) > met.possible and not by_chance


def _by_file(case: Case, images: int, boxes: int) -> _Sample:
    """Detections of some images by the file's own ids, whether they join or not."""
    ids = case.written.detections.image
    starts = np.append(0, np.flatnonzero(ids[1:] != ids[:-1]) + 1)
    chosen = _evenly(np.unique(ids[starts]), images)
    slot = positions(chosen, ids).astype(np.int64)
    rows = np.flatnonzero(slot >= 0)
    return _taken(case, chosen, rows, slot[rows], boxes)


def _taken(case: Case, ids: NDArray[Any], rows: Index, slot: Index, boxes: int) -> _Sample:
    """The best boxes of each image."""
    box = case.written.detections.box
    fine = all_of(np.isfinite(box[rows]))
    rows, slot = rows[fine], slot[fine]
    order = np.lexsort((-case.detections.score[rows], slot))
    rows, slot = rows[order], slot[order]
    kept = np.arange(len(slot)) - np.searchsorted(slot, slot) < boxes
    rows, slot = rows[kept], slot[kept]
    image = np.full(len(ids), -1, np.int32)
    image[slot] = case.joined.image[rows]
    return _Sample(ids, image, slot, rows, box[rows])


def _evenly(values: NDArray[Any], count: int) -> NDArray[Any]:
    return values[:: max(1, -(-len(values) // count))]


@dataclass(frozen=True, eq=False)
class _Look:
    """Objects of the images of a sample beside boxes of theirs: pairs, object by object.

    Attributes:
        sample: The boxes.
        size: Width and height of each image.
        objects: The objects, rows of the ground truth.
        box: Their boxes.
        slot: The image of each.
        boxes: How many boxes each is held against.
        at: The object of each pair, an index into `objects`.
        by: The box of each pair, an index into the sample.
    """

    sample: _Sample
    size: Array
    objects: Index
    box: Array
    slot: Index
    boxes: Index
    at: Index
    by: Index

    def met(self, convention: Convention) -> _Met:
        """How well the objects are met by boxes that are read in a convention."""
        box = convention.in_pixels(self.sample.box, self.size[self.sample.slot])
        overlap = iou_of_pairs(box[self.by], self.box[self.at])
        best, some = np.zeros(len(self.objects)), self.boxes > 0
        if some.any():
            best[some] = np.maximum.reduceat(overlap, (np.cumsum(self.boxes) - self.boxes)[some])
        objects = np.bincount(self.slot, minlength=len(self.sample.ids))
        return _Met(best, int(np.minimum(objects, np.diff(self.sample.first)).sum()))


def _look(
    truth: Annotations, sample: _Sample, images: NDArray[np.int32], shift: float = 0.0
) -> _Look:
    """Objects of `images` beside the boxes of the same image of a sample, or a share further on."""
    place = np.full(len(truth.images) + 1, -1)
    place[images] = np.arange(len(images))
    place[-1] = -1  # images that are not there
    assert truth.crowd is not None
    objects = np.flatnonzero((place >= 0)[truth.image])
    objects = objects[all_of(np.isfinite(truth.box[objects])) & ~truth.crowd[objects]]
    objects = objects[np.argsort(place[truth.image[objects]], kind="stable")]
    slot = place[truth.image[objects]]
    kept = np.arange(len(slot)) - np.searchsorted(slot, slot) < _OBJECTS
    objects, slot = objects[kept], slot[kept]
    of = (slot + math.ceil(shift * len(sample.ids))) % max(1, len(sample.ids))
    boxes = np.diff(sample.first)[of]
    at = np.repeat(np.arange(len(objects)), boxes)
    by = np.repeat(sample.first[of] - (np.cumsum(boxes) - boxes), boxes) + np.arange(len(at))
    return _Look(sample, sizes(truth, images), objects, truth.box[objects], slot, boxes, at, by)


def _other_boxes(case: Case, look: _Look) -> Iterator[_Reading]:
    """The boxes in every other convention, simple ones first."""
    framed = [_framed(look, layout, frame) for frame in UNITS for layout in LAYOUTS]
    found = sorted((one for one in framed if one is not None), key=_oddness)
    turned = [Convention(layout, frame) for frame in TURNS for layout in ("xywh", "xyxy", "cxcywh")]
    for convention in [*map(Convention, LAYOUTS), *found, *turned]:
        if str(convention) != str(Convention.of(case.written.boxes)):
            option, images = f"boxes={str(convention)!r}", look.sample.image
            met = look.met(convention)
            meaning, truth = convention.meaning, case.truth
            yield _Reading("OS215", option, meaning, truth, images, convention, met)


def _other_ids(case: Case, sample: _Sample) -> Iterator[_Reading]:
    """The image ids under every other reading."""
    convention = Convention.of(case.written.boxes)
    for name, rows_of in READINGS.items():
        images = rows_of(case.truth, sample.ids)
        if (images >= 0).any() and not np.array_equal(images, sample.image):
            truth, option = case.truth, f"image_ids={name!r}"
            met = _look(truth, sample, images).met(convention)
            yield _Reading("OS423", option, MEANING[name], truth, images, convention, met)


def _other_truth(case: Case, sample: _Sample) -> Iterator[_Reading]:
    """The boxes of the ground truth in every other layout."""
    convention = Convention.of(case.written.boxes)
    for layout, read in LAYOUTS.items():
        truth, meaning = replace(case.truth, box=read(case.truth.box)), Convention(layout).meaning
        met = _look(truth, sample, sample.image).met(convention)
        yield _Reading("OS430", "", meaning, truth, sample.image, convention, met)


def _framed(look: _Look, layout: str, frame: str) -> Convention | None:
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
    counts = np.bincount(np.floor((votes - votes.min()) / 0.02).astype(np.int64), minlength=3)
    peak = votes.min() + 0.02 * (np.convolve(counts, np.ones(3), "same").argmax() + 0.5)
    # Centres far from the corner of the image tell the factor best.
    near = np.flatnonzero(agree)[np.abs(votes - peak) < 0.05]
    number = float((given[:2, near] ** 2).sum() / (given[:2, near] * theirs[:2, near]).sum())
    number = _factor_meant(number) if frame == "scaled" else _size_meant(number)
    return None if number == (frame == "scaled") else Convention(layout, frame, number)


def _extent(box: Array) -> Array:
    """Centre and size, by column."""
    return np.vstack([box[:, 0] + box[:, 2] / 2, box[:, 1] + box[:, 3] / 2, box[:, 2:].T])


def _size_meant(number: float) -> float:
    """A usual size if one is near, else a whole number, which may be 0: none."""
    usual = min(_USUAL, key=lambda size: abs(size - number))
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


def _best(now: _Met, sample: _Sample, others: list[_Reading]) -> _Reading | None:
    """The simplest of the readings that fit best, if it fits clearly better than ours."""
    for level in range(len(_TIGHT)):
        most = max((one.met.tight()[level] for one in others), default=0)
        best = next((one for one in others if one.met.tight()[level] >= 0.95 * most), None)
        if best is not None and _clear(now, sample, best, level):
            return best
    return None


def _clear(now: _Met, sample: _Sample, one: _Reading, level: int) -> bool:
    """Whether a reading meets many objects, by far more than ours and than by chance.

    Boxes that are too small throughout meet none tightly and all of them a little: then another
    reading that meets a few by chance is not the better one.
    """
    met = one.met.tight()[level]
    if met < max(_FEWEST, _TIMES * (now.tight()[level] + 1)) or one.met.mean <= now.mean:
        return False
    if one.met.loose() < _NEARLY * now.loose() or met < _SHARE * one.met.possible:
        return False
    if _alike(one.truth, sample, one.images):
        return met >= _MOST * one.met.possible
    by_chance = _look(one.truth, sample, one.images, 0.5).met(one.convention).tight()[level]
    return met >= _TIMES * (by_chance + 1)


def _alike(truth: Annotations, sample: _Sample, images: NDArray[np.int32]) -> bool:
    """Whether images have objects at the same places: a camera that stands, or crops."""
    look = _look(truth, sample, images)
    objects = _Sample(sample.ids, images, look.slot, look.objects, look.box)
    means = [_look(truth, objects, images, shift).met(Convention()).mean for shift in _SHIFTS]
    return bool(np.mean(means) >= _ALIKE)


def _named(case: Case, now: _Met, best: _Reading) -> Finding:
    kind = _KIND[best.code]
    of_truth = best.truth is not case.truth
    met = share(best.met.tight()[0], len(best.met.best), "objects examined")
    return Finding(
        best.code,
        Level.ERROR,
        f"{met} meet a detected box at IoU {_TIGHT[0]:g} if {kind} are read in another way, and "
        f"{spaced(now.tight()[0])} as they are read",
        count=len(case.truth if of_truth else case.detections),
        example=object_at(case.truth, 0) if of_truth else case.where(0),
        cause=f"the {kind} are {best.meaning}",
        fix=f"{best.option} reads them; force=True evaluates as they are" if best.option else "",
    )


def _by_chance(case: Case) -> Iterator[Finding]:
    """Detections that meet objects of their images no better than those of other images."""
    ours, sample = Convention.of(case.written.boxes), _by_file(case, *_NULL)
    look = _look(case.truth, sample, sample.image)
    known = case.named[case.truth.label[look.objects]]
    count = np.bincount(look.slot[known], minlength=len(sample.ids))
    if np.count_nonzero(count) < _IMAGES or _same_everywhere(look, ours):
        return
    if _alike(case.truth, sample, sample.image):
        return
    own, *others = (
        np.bincount(look.slot[known], met.best[known], len(count))[count > 0] / count[count > 0]
        for met in (_look(case.truth, sample, sample.image, s).met(ours) for s in (0, *_SHIFTS))
    )
    chance = np.mean(others, axis=0)
    beyond, deviation = (own - chance).mean(), (own - chance).std(ddof=1) / np.sqrt(len(own))
    if beyond > min(_SIGNIFICANT * deviation, _BY_CHANCE - 2 * deviation):
        return
    yield Finding(
        "OS424",
        Level.ERROR,
        "boxes overlap the objects of their own image no better than those of other images: best "
        f"IoU {own.mean():.2f} and {chance.mean():.2f} on {spaced(len(own))} images examined",
        count=len(case.detections),
        example=case.where(0),
    )


def _of_other_images(case: Case) -> Iterator[Finding]:
    """Detections that fit some other image each: ids of a small set that were shuffled.

    An image is fit if half of its objects, two at least, are met tightly. How often any image is
    fit by chance is told by the same boxes mirrored.
    """
    sample, convention = _joined(_by_file(case, *_SHUFFLED)), Convention.of(case.written.boxes)
    size = sizes(case.truth, sample.image)[sample.slot]
    if len(case.truth) > _SMALL or np.isnan(size).any() or len(sample.ids) < _FEWEST:
        return
    if _alike(case.truth, sample, sample.image):
        return
    box = convention.in_pixels(sample.box, size)
    own, other = _fitted(case.truth, sample, box)
    by_chance = sum(_fitted(case.truth, sample, TURNS["mirrored"](box, size)))
    if other >= max(_FEWEST, len(sample.ids) / 4, _TIMES * (max(own, by_chance) + 1)):
        yield Finding(
            "OS424",
            Level.ERROR,
            f"boxes of {share(other, len(sample.ids), 'images examined')} fit the objects of "
            f"another image, and of {spaced(own)} those of their own",
            count=len(case.detections),
            example=case.where(0),
            cause="image ids were shuffled, or belong to another list of the same images",
        )


def _joined(sample: _Sample) -> _Sample:
    """The part of a sample whose images are in the ground truth."""
    there = sample.image >= 0
    slot, kept = np.cumsum(there) - 1, there[sample.slot]
    return _Sample(
        sample.ids[there],
        sample.image[there],
        slot[sample.slot[kept]],
        sample.row[kept],
        sample.box[kept],
    )


def _fitted(truth: Annotations, sample: _Sample, box: Array) -> tuple[int, int]:
    """How many images of a sample fit their own objects, and how many only those of another."""
    order = np.argsort(truth.image, kind="stable")
    images, start, count = np.unique(truth.image[order], return_index=True, return_counts=True)
    slots = np.flatnonzero(np.diff(sample.first))
    best = np.maximum.reduceat(iou(box, truth.box[order]), sample.first[slots], axis=0)
    met = np.add.reduceat((best >= _TIGHT[0]).astype(np.int64), start, axis=1)
    fits = (met >= 2) & (2 * met >= count)
    own = (fits & (images == sample.image[slots, None])).any(axis=1)
    return int(own.sum()), int((fits.any(axis=1) & ~own).sum())


def _same_everywhere(look: _Look, ours: Convention) -> bool:
    """Whether most images have the same best box: a baseline that does not look at them."""
    first = look.sample.first[:-1][np.diff(look.sample.first) > 0]
    size = look.size[look.sample.slot[first]]
    box = ours.in_pixels(look.sample.box[first], size)
    return _repeated(box) or _repeated(box / np.tile(size, 2))


def _repeated(box: Array) -> bool:
    """Whether most boxes equal the next one."""
    same = all_of(np.abs(np.diff(box, axis=0)) < 0.01 * box[1:, 2:].max(axis=1, keepdims=True))
    return bool(same.mean() > 0.5)
