"""What every check needs: the inputs side by side, and how a finding is worded.

`Case` holds what several checks share and computes it once, on first use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.tables.annotations import Annotations
from openset.tables.detections import Detections
from openset.tables.join import ABSENT, Joined
from openset.tables.vocabulary import Vocabulary
from openset.tables.written import Written
from openset.wording import spaced

_SOME = 4_000
_MOST = 4 * _SOME  # rows, where single images have very many


@dataclass(frozen=True)
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
        size = len(self.vocabulary.known) + 1 - ABSENT
        return np.bincount(self.joined.klass - ABSENT, minlength=size)

    @cached_property
    def per_label(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The labels that occur among the detections, as in the file, and how often."""
        return tally(self.detections.label)

    @cached_property
    def runs(self) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
        """Image, start and length of each run of detections of one image.

        Detections nearly always come image by image: runs are far cheaper to look at than rows.
        """
        image = self.joined.image
        start = np.flatnonzero(np.append(True, image[1:] != image[:-1])[: len(image)])
        return image[start], start, np.diff(start, append=len(image))

    @cached_property
    def per_image(self) -> NDArray[np.int64]:
        """Detections by image; the last entry counts those whose image is not there."""
        size = len(self.truth.images) + 1
        image, _, length = self.runs
        slot = np.where(image < 0, size - 1, image)
        return np.bincount(slot, length, minlength=size).astype(np.int64)

    @cached_property
    def some(self) -> NDArray[np.intp]:
        """Detections of every n-th image that has objects, or of any if none has: about 4 000."""
        per_image = self.per_image[:-1]
        objects = np.bincount(self.truth.image, minlength=len(per_image)) > 0
        having = objects & (per_image > 0)
        chosen = some_images(per_image, having if having.any() else per_image > 0)
        image, start, length = self.runs
        kept = chosen[image]
        return runs_of_rows(start[kept], length[kept])[:_MOST]

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """Labels of the truth whose class occurs among the detections: what it looks for."""
        return self.per_class[self.vocabulary.classes(self.truth.labels) - ABSENT] > 0

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


def some(names: Iterable[str], limit: int = 5) -> str:
    """The first few names, and how many more there are.

    >>> some(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    listed = list(names)
    rest = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {spaced(rest)} more" if rest > 0 else "")


def box_text(box: NDArray[np.float64]) -> str:
    """A box with two to four digits, as short as it can be."""
    return "[" + ", ".join(f"{value:.6g}" for value in box.tolist()) + "]"


def image_name(truth: Annotations, image: int) -> str:
    """File name of an image if there is one, else its id."""
    names = truth.images.file_name
    return str(truth.images.id[image] if names is None else names[image])


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
    """Rows of every n-th of the images that are meant, about 4 000."""
    return np.flatnonzero(some_images(per_image, having)[image])[:_MOST]


def some_images(per_image: NDArray[np.int64], having: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Every n-th of the images that are meant; a last entry for the one that is not there."""
    meant = np.flatnonzero(having)
    chosen = np.zeros(len(having) + 1, np.bool_)
    chosen[meant[:: max(1, -(-int(per_image[meant].sum()) // _SOME))]] = True
    return chosen


def runs_of_rows(start: NDArray[np.intp], length: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows of runs, one run after the other.

    >>> runs_of_rows(np.array([2, 7]), np.array([3, 1])).tolist()
    [2, 3, 4, 7]
    """
    before = np.cumsum(length) - length
    return np.repeat(start - before, length) + np.arange(int(length.sum()))


def tally(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values, in order, and how often each occurs.

    >>> [column.tolist() for column in tally(np.array([7, -2, 7]))]
    [[-2, 7], [1, 2]]
    """
    if len(values) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > 1 << 20:
        return np.unique(values, return_counts=True)
    counts = np.bincount(values - low)
    used = np.flatnonzero(counts)
    return used + low, counts[used]
