"""Check that no class was left unannotated in a part of the images, where sets were joined.

Of two sets under one list of classes, the second may never have had persons annotated: boxes on
persons are wrong there, and AP falls by as much. The longest stretch of images without an object of
a class is looked at, in the orders that a list of images may have: in which the detector finds the
class nearly as often, and as surely, as elsewhere, and nothing is annotated under its boxes.

Not a class without any object (`_check_left_out`), and not images without any (`absent_labels`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import SURE, Case, image_name, orders, share
from openset.tables._sure import Sure
from openset.tables.annotations import Annotations
from openset.tables.columns import distinct
from openset.wording import some, spaced

Index = NDArray[np.int64]
_FOUND, _ALIKE = 20, 0.5  # sure boxes in a stretch; how often an image has one, as elsewhere
_NEARLY = 0.9  # of the images of a name are in the stretch, and it has hardly others
_LETTERS = re.compile(r"[^0-9]*")
_TIMES = 2  # and as often as elsewhere by mistake


class _Stretch(NamedTuple):
    """The longest stretches of images without an object, one for each class.

    Attributes:
        order: The order of the images.
        rows: The images in it.
        place: Where each image is in it.
        start: The first place of each stretch.
        end: The place behind each.
    """

    order: str
    rows: NDArray[np.intp]
    place: NDArray[np.intp]
    start: Index
    end: Index

    def holds(self, klass: NDArray[np.int32], image: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which images are in the stretch of which class."""
        place = self.place[image]
        return (self.start[klass] <= place) & (place < self.end[klass])


class _Objects(NamedTuple):
    """Known objects, crowds included.

    Attributes:
        klass: The class of each.
        image: Its image.
        classes: How many classes are known.
        images: How many images there are.
    """

    klass: Index
    image: NDArray[np.int32]
    classes: int
    images: int

    @classmethod
    def of(cls, case: Case) -> Self:
        """Those of a ground truth."""
        classes = case.vocabulary.classes(case.truth.labels).astype(np.int64)
        klass = classes.take(case.truth.label)
        k, image = len(case.vocabulary.known), case.truth.image
        known = np.flatnonzero((klass >= 0) & (klass < k))
        return cls(klass[known], image[known], k, len(case.truth.images))

    def longest(self, order: str, rows: NDArray[np.intp]) -> _Stretch:
        """The longest stretch without an object of each class."""
        place, classes = np.empty(len(rows), np.intp), np.arange(self.classes)
        place[rows] = np.arange(len(rows))
        width = self.images + 2  # with a place before the first image, and one behind the last
        key = self.klass * width + place[self.image] + 1
        key = np.concatenate([key, classes * width, classes * width + width - 1])
        of, at = np.divmod(distinct(key, self.classes * width), width)
        gap = np.where(of[1:] == of[:-1], np.diff(at), 0)  # from one object, or end, to the next
        most = np.maximum.reduceat(gap, np.searchsorted(of[:-1], classes))
        long = np.flatnonzero(gap == most[of[:-1]])
        first = long[np.searchsorted(of[long], classes)]
        return _Stretch(order, rows, place, at[first], at[first + 1] - 1)


def not_annotated(case: Case) -> Iterator[Finding]:
    """The finding that classes have no object on a part of the images, though found there."""
    k = len(case.vocabulary.known)
    klass, image = case.joined.klass[case.sure], case.joined.image[case.sure]
    if len(klass) < 2 * _FOUND:
        return
    all_, images = np.bincount(klass, minlength=k), len(case.truth.images)
    seen: Sure | None = None
    objects = _Objects.of(case)
    for order, rows in orders(case.truth):
        stretch = objects.longest(order, rows)
        inside = np.bincount(klass[stretch.holds(klass, image)], minlength=k)
        length = np.maximum(stretch.end - stretch.start, 1)
        rate, other = inside / length, (all_ - inside) / np.maximum(images - length, 1)
        often = (inside >= _FOUND) & (other > 0) & (rate >= _ALIKE * other)
        if not often.any():
            continue
        seen = seen or Sure.of(case, SURE)
        found = [
            int(at)
            for at in np.flatnonzero(often)
            if _lost(seen, stretch, int(at), float(rate[at] / other[at]))
        ]
        if found:
            yield _said(case, stretch, found, inside)
            return


def _lost(seen: Sure, stretch: _Stretch, klass: int, rate: float) -> bool:
    """Whether sure boxes of a class are on nothing in its stretch, and on objects elsewhere."""
    of = seen.klass == klass
    inside = stretch.holds(seen.klass, seen.image)
    if not seen.on_nothing(of & inside) or not seen.mostly_right(of & ~inside):
        return False
    return bool(rate >= _TIMES * (1 - seen.right[of & ~inside].mean()))


def _said(case: Case, stretch: _Stretch, found: list[int], inside: Index) -> Finding:
    at = found[0]
    part = stretch.rows[stretch.start[at] : stretch.end[at]]
    names = [f"{case.vocabulary.known[one]} ({spaced(int(inside[one]))})" for one in found]
    where = _called(case.truth, part) or f"in a row in the order {stretch.order}"
    rows = (case.joined.klass == at) & (case.detections.score >= SURE)
    rows &= np.isin(case.joined.image, part)
    return Finding(
        "OS456",
        Level.WARNING,
        f"{share(len(part), len(case.truth.images), 'images')} ({where}) have no object that is "
        f"called {some(names)}, and boxes that score {SURE:g} or more say so about as often as on "
        "the others, where they are right",
        count=int(inside[found].sum()),
        example=case.where(int(rows.argmax())),
    )


def _called(truth: Annotations, part: NDArray[np.intp]) -> str:
    """The folder, or the beginning of the names, that these images have and hardly another."""
    names = [image_name(truth, at) for at in range(len(truth.images))]
    middle, inside = names[part[len(part) // 2]], set(part.tolist())
    for begin in (middle[: middle.rfind("/") + 1], _LETTERS.match(middle)[0]):  # type: ignore[index]
        same = {at for at, name in enumerate(names) if begin and name.startswith(begin)}
        if same and len(same & inside) >= _NEARLY * max(len(same), len(inside)):
            return f"{begin}*"
    return ""
