"""Looking: boxes of some images beside the objects there, under any reading of the boxes.

What the checks of readings, of parts and of chance share: a bounded sample of detections, the pairs
of boxes and objects of one image, and how well objects are met. What follows from it they decide.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from openset.tables._check_case import Case, all_of, one_of_every, runs_of_rows
from openset.tables.annotations import Annotations
from openset.tables.boxes import Convention, sizes
from openset.tables.columns import positions
from openset.tables.overlap import iou_of_pairs

Array = NDArray[np.float64]
Index = NDArray[np.int64]
TIGHT = (0.7, 0.85)  # the second tells boxes that are off by a tenth
LOOSE = 0.5
_OBJECTS = 50  # of an image
_SHIFTS = (0.25, 0.5, 0.75)  # other images: so far on, of all, that they are not of one film
_ALIKE = 0.5  # mean overlap of objects of different images from which they are too alike to tell


class Sample(NamedTuple):
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

    def of(self, images: NDArray[np.bool_]) -> Self:
        """What it has of some of its images."""
        part = self.only(images[self.slot])
        slot = (np.cumsum(images) - 1)[part.slot]
        return part._replace(ids=self.ids[images], image=self.image[images], slot=slot)

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Some of its detections."""
        return self._replace(
            slot=self.slot[kept], row=self.row[kept], box=self.box.compress(kept, axis=0)
        )

    def best(self, boxes: int) -> Self:
        """So many detections of each image."""
        return self.only(among_its_own(self.slot) < boxes)


class Met(NamedTuple):
    """How well objects are met.

    Attributes:
        best: The best overlap of each object.
        slot: Its image.
        boxes: How many boxes each image has.
    """

    best: Array
    slot: Index
    boxes: Index

    @property
    def could(self) -> Index:
        """How many objects of each image could be met."""
        return np.minimum(np.bincount(self.slot, minlength=len(self.boxes)), self.boxes)

    @property
    def possible(self) -> int:
        """How many objects could be met."""
        return int(self.could.sum())

    @property
    def mean(self) -> float:
        """The mean of the best overlaps."""
        return float(self.best.sum()) / max(1, len(self.best))

    def tight(self) -> tuple[int, ...]:
        """Objects met tightly, at each level."""
        return tuple(int(np.count_nonzero(self.best >= level)) for level in TIGHT)

    def loose(self) -> int:
        """Objects met at all."""
        return int(np.count_nonzero(self.best >= LOOSE))

    def images(self, level: float) -> Index:
        """How many objects of each image are met at a level."""
        return np.bincount(self.slot[self.best >= level], minlength=len(self.boxes))

    def means(self) -> Array:
        """The mean of the best overlaps of each image, 0 where it has no object."""
        count = np.bincount(self.slot, minlength=len(self.boxes))
        return np.bincount(self.slot, self.best, len(self.boxes)) / np.maximum(count, 1)

    def fits(self) -> NDArray[np.bool_]:
        """Images of whose objects half are met tightly, of those that could be."""
        return (self.could > 0) & (2 * self.images(TIGHT[0]) >= self.could)


def by_file(case: Case, images: int, boxes: int) -> Sample:
    """Detections of some images by the file's own ids, whether they join or not."""
    ids = case.written.detections.image
    if not case.per_image[-1]:
        return _joined(case, images, boxes)
    # Detections nearly always come image by image: runs are far fewer than rows.
    starts = np.append(0, np.flatnonzero(ids[1:] != ids[:-1]) + 1)
    chosen = _evenly(np.unique(ids[starts]), images)
    slot = positions(chosen, ids[starts]).astype(np.int64)
    length = np.where(slot >= 0, np.diff(starts, append=len(ids)), 0)
    rows = runs_of_rows(starts, length)
    return taken(case, chosen, rows, np.repeat(slot, length), boxes)


def _joined(case: Case, images: int, boxes: int) -> Sample:
    """The same where all detections join: what is known of their images is not found out again."""
    image, start, length = case.runs
    chosen = _evenly(np.flatnonzero(case.per_image[:-1]), images)
    place = np.full(len(case.truth.images), -1)
    place[chosen] = np.arange(len(chosen))
    slot = place[image]
    order = np.argsort(slot, kind="stable")  # few runs now, so that boxes need no order later
    order = order[np.searchsorted(slot[order], 0) :]
    slot, start, length = slot[order], start[order], length[order]
    ids = case.written.detections.image[start[np.unique(slot, return_index=True)[1]]]
    return taken(case, ids, runs_of_rows(start, length), np.repeat(slot, length), boxes)


def taken(case: Case, ids: NDArray[Any], rows: Index, slot: Index, boxes: int) -> Sample:
    """The best boxes of each image."""
    box, given = case.written.detections.box, (rows, slot)
    order = _best_first(slot, case.detections.score[rows])
    if order is not None:
        rows, slot = rows[order], slot[order]
    kept = among_its_own(slot) < boxes
    rows, slot = rows[kept], slot[kept]
    best = box.take(rows, axis=0)  # which NumPy does far faster than by an index
    if not np.isfinite(best).all():  # hardly ever: what is no box makes room
        rows, slot = given
        fine = all_of(np.isfinite(box.take(rows, axis=0)))
        return taken(case, ids, rows[fine], slot[fine], boxes)
    image = np.full(len(ids), -1, np.int32)
    image[slot] = case.joined.image[rows]
    return Sample(ids, image, slot, rows, best)


def _best_first(slot: Index, score: Array) -> Index | None:
    """The order by image, then by falling score; None where that is so, as most files are.

    One key is sorted far faster than two.
    """
    low, high = (score.min(), score.max()) if len(score) else (0.0, 0.0)
    if not 0 < high - low < np.inf:
        return np.lexsort((-score, slot))
    key = slot - (score - low) / (2 * (high - low))
    return None if (key[1:] >= key[:-1]).all() else np.argsort(key)


def among_its_own(slot: Index) -> Index:
    """Place of each row among those of its image, image by image."""
    count = np.bincount(slot)
    return np.arange(len(slot)) - np.repeat(np.cumsum(count) - count, count)


def _evenly(values: NDArray[Any], count: int) -> NDArray[Any]:
    return one_of_every(-(-len(values) // count), values)


class Reads(Protocol):
    """A way to read boxes."""

    def in_pixels(self, box: Array, size: Array) -> Array:
        """Boxes in our convention; `size` is the width and height of their images."""


class Look(NamedTuple):
    """Objects of the images of a sample beside boxes of theirs: pairs, object by object.

    Attributes:
        sample: The boxes.
        images: The images that it is taken to be of.
        size: Width and height of each image.
        objects: The objects, rows of the ground truth.
        box: Their boxes.
        slot: The image of each.
        boxes: How many boxes each is held against.
        at: The object of each pair, an index into `objects`.
        by: The box of each pair, an index into the sample.
    """

    sample: Sample
    images: NDArray[np.int32]
    size: Array
    objects: Index
    box: Array
    slot: Index
    boxes: Index
    at: Index
    by: Index

    def met(self, convention: Reads) -> Met:
        """How well the objects are met by boxes that are read in a convention."""
        return self.met_by(self.overlap(convention))

    def met_by(self, overlap: Array) -> Met:
        """The same, by the overlap of each pair."""
        some = self.boxes > 0
        best = np.zeros(len(self.objects))
        if some.any():
            best[some] = np.maximum.reduceat(overlap, (np.cumsum(self.boxes) - self.boxes)[some])
        return Met(best, self.slot, np.diff(self.sample.first))

    def on_objects(self, overlap: Array) -> Array:
        """The best overlap of each box with an object, 0 where its image has none."""
        best = np.zeros(len(self.sample.row))
        np.maximum.at(best, self.by, overlap)
        return best

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Some of its pairs."""
        pairs = np.flatnonzero(kept)
        at, by = self.at.take(pairs), self.by.take(pairs)
        return self._replace(boxes=np.bincount(at, minlength=len(self.objects)), at=at, by=by)

    def overlap(self, convention: Reads) -> Array:
        """The overlap of each pair, with boxes read in a convention."""
        box = convention.in_pixels(self.sample.box, self.size.take(self.sample.slot, axis=0))
        # By column, as overlaps are computed.
        one, other = np.ascontiguousarray(box.T), np.ascontiguousarray(self.box.T)
        return iou_of_pairs(one.take(self.by, axis=1).T, other.take(self.at, axis=1).T)


def beside(
    truth: Annotations, sample: Sample, images: NDArray[np.int32], shift: float = 0.0
) -> Look:
    """Objects of `images` beside the boxes of the same image of a sample, or a share further on."""
    place = np.full(len(truth.images) + 1, -1)
    place[images] = np.arange(len(images))
    place[-1] = -1  # images that are not there
    assert truth.crowd is not None
    of_object = place.take(truth.image)
    objects = np.flatnonzero(of_object >= 0)
    objects = objects[all_of(np.isfinite(truth.box.take(objects, axis=0))) & ~truth.crowd[objects]]
    objects = objects[np.argsort(of_object[objects], kind="stable")]
    slot = of_object[objects]
    kept = among_its_own(slot) < _OBJECTS
    objects, slot = objects[kept], slot[kept]
    of = (slot + math.ceil(shift * len(sample.ids))) % max(1, len(sample.ids))
    boxes = np.diff(sample.first)[of]
    at = np.repeat(np.arange(len(objects)), boxes)
    by = np.repeat(sample.first[of] - (np.cumsum(boxes) - boxes), boxes) + np.arange(len(at))
    size = sizes(truth, images)
    box = truth.box.take(objects, axis=0)
    return Look(sample, images, size, objects, box, slot, boxes, at, by)


def of_one_class(case: Case, look: Look) -> Look:
    """Only pairs of a box and an object of the class that it says."""
    said = case.joined.klass[look.sample.row]
    klass = case.vocabulary.classes(case.truth.labels)[case.truth.label[look.objects]]
    return look.only(said.take(look.by) == klass.take(look.at))


def alike(truth: Annotations, sample: Sample, images: NDArray[np.int32]) -> bool:
    """Whether images have objects at the same places: a camera that stands, or crops."""
    held = beside(truth, sample, images)
    objects = Sample(sample.ids, images, held.slot, held.objects, held.box)
    means = [beside(truth, objects, images, shift).met(Convention()).mean for shift in _SHIFTS]
    return bool(np.mean(means) >= _ALIKE)
