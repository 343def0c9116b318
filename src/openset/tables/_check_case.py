"""What every check needs: the inputs side by side, and how a finding is worded.

`Case` holds what several checks share and computes it once, on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables.annotations import Annotations
from openset.tables.columns import positions, tally
from openset.tables.detections import Detections
from openset.tables.join import ABSENT, Joined, label_classes, label_places
from openset.tables.vocabulary import Vocabulary
from openset.tables.written import Written
from openset.wording import spaced

Runs = tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]
SURE = 0.5  # a score from which detections are
_SOME = 4_000
_MOST = 4 * _SOME  # rows, where single images have very many


@dataclass(frozen=True, eq=False)
class Case:
    """Ground truth and detections of one evaluation, joined."""

    truth: Annotations
    detections: Detections
    vocabulary: Vocabulary
    joined: Joined
    written: Written

    @cached_property
    def per_class(self) -> NDArray[np.int64]:
        """Detections by class, shifted so that `ABSENT` is 0 and `IGNORED` is 1."""
        labels, times = self.per_label
        classes = label_classes(self.truth, self.detections, self.vocabulary)
        klass = classes[label_places(self.truth, self.detections, labels)]
        counts = np.bincount(klass - ABSENT, times, len(self.vocabulary.known) + 1 - ABSENT)
        return counts.astype(np.int64)

    @cached_property
    def per_label(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The labels that occur among the detections, as in the file, and how often."""
        return tally(self.detections.label)

    @cached_property
    def runs(self) -> Runs:
        """The runs of detections of one image."""
        return runs(self.joined.image)

    @cached_property
    def per_image(self) -> NDArray[np.int64]:
        """Detections by image; the last entry counts those whose image is not there."""
        size = len(self.truth.images) + 1
        image, _, length = self.runs
        slot = np.where(image < 0, size - 1, image)
        return np.bincount(slot, length, minlength=size).astype(np.int64)

    @cached_property
    def some(self) -> NDArray[np.intp]:
        """Detections of some images that have objects, or of any if none has: about 4 000."""
        per_image = self.per_image[:-1]
        objects = np.bincount(self.truth.image, minlength=len(per_image)) > 0
        having = objects & (per_image > 0)
        chosen = some_images(per_image, having if having.any() else per_image > 0)
        image, start, length = self.runs
        kept = chosen[image]
        return runs_of_rows(start[kept], length[kept])[:_MOST]

    @cached_property
    def some_objects(self) -> NDArray[np.intp]:
        """Objects of the images that `some` are of."""
        there = np.zeros(len(self.truth.images) + 1, np.bool_)
        there[self.joined.image[self.some]] = True
        return np.flatnonzero(there[self.truth.image])

    @cached_property
    def sure(self) -> NDArray[np.intp]:
        """Detections of known classes that score `SURE` or more, on images that are there."""
        rows = np.flatnonzero(self.detections.score >= SURE)  # a mask after this one is short
        klass, image = self.joined.klass[rows], self.joined.image[rows]
        return rows[(klass >= 0) & (klass < len(self.vocabulary.known)) & (image >= 0)]

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """Labels of the truth whose class occurs among the detections: what it looks for."""
        return self.per_class[self.vocabulary.classes(self.truth.labels) - ABSENT] > 0

    @cached_property
    def having(self) -> NDArray[np.bool_]:
        """Images with objects of classes that the detector names."""
        having = np.zeros(len(self.truth.images), np.bool_)
        having[self.truth.image[self.named[self.truth.label]]] = True
        return having

    def label_name(self, label: np.int64) -> str:
        """Name of a detection's label, empty when the ground truth does not have its id."""
        if self.detections.labels:
            return self.detections.labels[label]
        assert self.truth.category_id is not None
        at = positions(self.truth.category_id, np.array([label]))[0]
        return self.truth.labels[at] if at >= 0 else ""

    def where(self, row: int) -> str:
        """A detection, said so that a person finds it in the file."""
        image = int(self.joined.image[row])
        name = str(self.detections.image[row]) if image < 0 else image_name(self.truth, image)
        return f"image {name}, detection {row}, box {box_text(self.detections.box[row])}"


def share(count: int, total: int, noun: str) -> str:
    """How many of how many.

    >>> share(3, 1204, "boxes")
    '3 of 1 204 boxes'
    """
    return f"{spaced(count)} of {spaced(total)} {noun}"


def box_text(box: NDArray[np.float64]) -> str:
    """A box with two to four digits, as short as it can be."""
    return "[" + ", ".join(f"{value:.6g}" for value in box.tolist()) + "]"


def image_name(truth: Annotations, image: int) -> str:
    """File name of an image if there is one, else its id."""
    names = truth.images.file_name
    return str(truth.images.id[image] if names is None else names[image])


def images_that(
    truth: Annotations, mask: NDArray[np.bool_], code: str, level: Level, what: str
) -> Iterator[Finding]:
    """The finding that images do or have something, with the first of them, if any does."""
    count = int(np.count_nonzero(mask))
    if count:
        message = f"{share(count, len(mask), 'images')} {what}"
        example = f"image {image_name(truth, first(mask))}"
        yield Finding(code, level, message, count=count, example=example)


def orders(truth: Annotations) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """The images in the orders that a list of them may have, each order once."""
    ids, names = truth.images.id, truth.images.file_name
    yield "of the file", (of_file := np.arange(len(ids)))
    by_id = np.argsort(ids, kind="stable")
    if not np.array_equal(by_id, of_file):
        yield "of ids", by_id
    named = by_id if names is None else names[by_id]
    if names is None or (named[1:] > named[:-1]).all():
        return  # text is slow to sort, and ids are often in its order
    by_name = np.argsort(names, kind="stable")
    if not np.array_equal(by_name, of_file):
        yield "of file names", by_name


def object_at(truth: Annotations, row: int) -> str:
    """A ground-truth object, said so that a person finds it in the file."""
    assert truth.id is not None
    name = image_name(truth, int(truth.image[row]))
    return f"image {name}, annotation id {truth.id[row]}, box {box_text(truth.box[row])}"


def first(mask: NDArray[Any]) -> int:
    """Index of the first true entry."""
    return int(mask.argmax())


def any_of(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows in which any entry is true (by column: a reduction over short rows is slow)."""
    return reduce(np.logical_or, mask.T)


def all_of(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows in which every entry is true."""
    return reduce(np.logical_and, mask.T)


def of_some_images(
    image: NDArray[np.int32], per_image: NDArray[np.int64], having: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Rows of some of the images that are meant, about 4 000."""
    return np.flatnonzero(some_images(per_image, having)[image])[:_MOST]


def some_images(per_image: NDArray[np.int64], having: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """One of every n of the images that are meant; a last entry for the one that is not there."""
    meant = np.flatnonzero(having)
    chosen = np.zeros(len(having) + 1, np.bool_)
    chosen[one_of_every(-(-int(per_image[meant].sum()) // _SOME), meant)] = True
    return chosen


def one_of_every(n: int, values: NDArray[Any]) -> NDArray[Any]:
    """One of every n values, in order, each at a place of its own among its n.

    Not every n-th: what two processes wrote in turn differs from one image to the next, and a
    regular step would see one of them alone.

    >>> one_of_every(1, np.arange(3)).tolist(), len(one_of_every(12, np.arange(100)))
    ([0, 1, 2], 9)
    """
    start = np.arange(0, len(values), max(1, n))
    size = np.minimum(len(values) - start, max(1, n))
    return values[start + (_scattered(len(start)) % size.astype(np.uint64)).astype(np.intp)]


def _scattered(count: int) -> NDArray[np.uint64]:
    """Numbers in no order, always the same; to import NumPy's would cost more than most checks."""
    key = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    key ^= key >> np.uint64(30)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    return key ^ (key >> np.uint64(27))


def runs(image: NDArray[np.int32]) -> Runs:
    """Image, start and length of each run of rows of one image.

    Rows nearly always come image by image: runs are far cheaper to look at.

    >>> [column.tolist() for column in runs(np.array([4, 4, 2]))]
    [[4, 2], [0, 2], [2, 1]]
    """
    start = np.flatnonzero(np.append(True, image[1:] != image[:-1])[: len(image)])
    return image[start], start, np.diff(start, append=len(image))


def runs_of_rows(start: NDArray[np.intp], length: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows of runs, one run after the other.

    >>> runs_of_rows(np.array([2, 7]), np.array([3, 1])).tolist()
    [2, 3, 4, 7]
    """
    before = np.cumsum(length) - length
    return np.repeat(start - before, length) + np.arange(int(length.sum()))
