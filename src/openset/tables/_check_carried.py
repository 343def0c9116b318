"""Check that no boxes were carried on to the next images: a list that a loop did not empty.

Every image then has its own boxes and those of the image before, or of all before: digit by digit
with label and score, which two images never share by themselves. Images of a still camera may,
where nothing moves; but there the boxes fit what stands there as well, while boxes that were
carried on fit objects of the image that they were first found on, and hardly any of the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, runs_of_rows, share
from openset.tables._check_twice import hashes, mixed
from openset.tables._look import LOOSE, Index, Sample, beside
from openset.tables.boxes import Convention

_WINDOWS, _IMAGES = 3, 24  # stretches of the file that are looked at, and images of each
_MOST = 20_000  # boxes that are compared
_FAR = 16  # images on: a batch
_FEWEST, _HALF = 8, 0.5  # images whose boxes are carried on, and their share
_TIMES = 3  # times as many that lie on an object where they were found as where they are again


class _Window(NamedTuple):
    """Boxes of images in a row, each key of an image once.

    Attributes:
        image: The images, in order.
        place: Which image a box is of.
        row: Which detection it is.
        key: Its label, score and numbers.
        first: Whether no image before it, of these, has the same.
    """

    image: NDArray[np.int32]
    place: Index
    row: Index
    key: NDArray[np.uint64]
    first: NDArray[np.bool_]


def carried_on(case: Case) -> Iterator[Finding]:
    """The finding that images have the boxes of another image beside their own."""
    windows = [*_windows(case)]
    far = _how_far(windows)
    if not far:
        return
    held = [_carried(one, far) for one in windows]
    images, could = sum(one.images for one in held), sum(one.could for one in held)
    if images < max(_FEWEST, _HALF * could):
        return
    found = _on_objects(case, windows, [one.first for one in held])
    again = _on_objects(case, windows, [one.again for one in held])
    if again * _TIMES > found >= _FEWEST:
        return
    told = found >= max(_FEWEST, _TIMES * (again + 1))
    row = next(
        int(window.row[one.first[0]])
        for window, one in zip(windows, held, strict=True)
        if len(one.first)
    )
    yield Finding(
        "OS233",
        Level.ERROR if told else Level.WARNING,
        f"boxes of {share(images, could, 'images examined')} are there again {_next(far)}, with "
        f"label and score; {found} of them lie on an object of the image where they are first, "
        f"{again} on one of the other",
        count=images,
        example=case.where(row),
    )


def _next(far: int) -> str:
    return "on the next image" if far == 1 else f"{far} images on"


def _windows(case: Case) -> Iterator[_Window]:
    """Stretches of images, in the order of the file, or of the ground truth if it has none."""
    image, start, length = case.runs
    there = np.flatnonzero(case.per_image[:-1])
    together = len(image) == len(there) and not (image < 0).any()
    order = image if together else there.astype(np.int32)
    last = max(len(order) - _IMAGES, 0)
    for begin in sorted({round(last * part / (_WINDOWS - 1)) for part in range(_WINDOWS)}):
        chosen = order[begin : begin + _IMAGES]
        place = np.full(len(case.truth.images) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        some = slice(begin, begin + _IMAGES) if together else place[image] >= 0
        rows = runs_of_rows(start[some], length[some])
        yield _window(case, chosen, rows, place[np.repeat(image[some], length[some])])


def _window(case: Case, images: NDArray[np.int32], rows: Index, place: Index) -> _Window:
    table = case.detections
    key = mixed(table.label[rows].astype(np.uint64), table.score[rows].view(np.uint64))
    key = hashes(key, table.box.take(rows, axis=0))
    # Of very many boxes some: of equal ones all or none.
    kept = key % np.uint64(1 + len(rows) * _WINDOWS // _MOST) == 0
    rows, place, key = rows[kept], place[kept], key[kept]
    order = np.lexsort((place, key))
    rows, place, key = rows[order], place[order], key[order]
    new = np.append(True, key[1:] != key[:-1])[: len(key)]
    other = new | np.append(True, place[1:] != place[:-1])[: len(key)]
    return _Window(images, place[other], rows[other], key[other], new[other])


def _how_far(windows: list[_Window]) -> int:
    """How many images on most boxes are again, 0 if none is."""
    counts = np.zeros(_FAR + 1, np.int64)
    for one in windows:
        step = np.diff(one.place)[~one.first[1:]]
        counts += np.bincount(step[step <= _FAR], minlength=_FAR + 1)
    return int(counts.argmax()) if counts.any() else 0


class _Carried(NamedTuple):
    """What is carried on: images, of how many, their boxes, and where these are again."""

    images: int
    could: int
    first: Index
    again: Index


def _carried(window: _Window, far: int) -> _Carried:
    """Images whose boxes are carried on so far.

    Those are meant that have a box which no image before them has, half of which at least are there
    again, beside others: copies of an image have the same boxes and no other.
    """
    size = len(window.image)
    at = np.flatnonzero(window.first[:-1] & ~window.first[1:])
    at = at[window.place[at + 1] == window.place[at] + far]
    new, all_ = (
        np.bincount(window.place[of], minlength=size) for of in (window.first, slice(None))
    )
    again = np.bincount(window.place[at], minlength=size)
    could = (new > 0) & (np.arange(size) < size - far)
    beside = np.append(all_[far:], np.zeros(far, np.int64)) > again
    carried = could & (again >= np.maximum(1, _HALF * new)) & (beside | (all_ > again))
    at = at[carried[window.place[at]]]
    return _Carried(int(carried.sum()), int(could.sum()), at, at + 1)


def _on_objects(case: Case, windows: list[_Window], which: list[Index]) -> int:
    """How many of some boxes of the windows lie on an object of their image."""
    count = 0
    for window, at in zip(windows, which, strict=True):
        at = at[np.argsort(window.place[at], kind="stable")]
        box, row = case.detections.box[window.row[at]], window.row[at]
        sample = Sample(window.image, window.image, window.place[at], row, box)
        sample = sample.only(all_of(np.isfinite(box)))
        look = beside(case.truth, sample, window.image)
        count += int(np.count_nonzero(look.on_objects(look.overlap(Convention())) >= LOOSE))
    return count
