"""Seen: what detections are on, of a sample: the best of every class, and as many of all."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.matching.near import FITS, TOUCHES, Kind, Near

Whole = NDArray[np.int32] | NDArray[np.int64]
Rows = NDArray[np.int64]
_SAMPLE = 5_000
_IMAGES = 400
_PER_CLASS = 100  # and, of very many classes, a share of ...
_OF_CLASSES = 20_000


class Seen(NamedTuple):
    """Detections on objects: their images, what they say, what they are on, of so many names."""

    image: NDArray[np.int64]
    said: NDArray[np.int64]
    on: NDArray[np.int64]
    size: int

    @classmethod
    def of(
        cls, matches: Matches, rows: NDArray[np.intp], said: Whole, klass: Whole, size: int
    ) -> Self:
        """Those of `rows`, which say `said`, on objects of classes `klass`; -1 is none."""
        iou, best = under(matches, rows)
        on = np.where(best >= 0, klass[best], -1)
        keep = (iou >= FITS) & ~matches.objects.ignored[best] & (said >= 0) & (on >= 0)
        columns = (matches.image[rows], said, on)
        image, said, on = (column[keep].astype(np.int64) for column in columns)
        return cls(image, said, on, size)

    def on_any_of(self, names: NDArray[np.bool_]) -> Self:
        """Those on objects of some of the names."""
        kept = names[self.on]
        return type(self)(self.image[kept], self.said[kept], self.on[kept], self.size)

    def first(self, count: int) -> Self:
        """The best of each label, so many: rows come so."""
        order = np.argsort(self.said, kind="stable")
        said = self.said[order]
        kept = order[np.arange(len(said)) - np.searchsorted(said, said) < count]
        return type(self)(self.image[kept], self.said[kept], self.on[kept], self.size)

    def counts(self) -> NDArray[np.int64]:
        """In how many images each label, a row, is on each class."""
        n_images = int(self.image.max(initial=0)) + 1
        pairs = np.sort((self.said * self.size + self.on) * n_images + self.image)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        counts = np.bincount(pairs // n_images, minlength=self.size * self.size)
        return counts.reshape(self.size, self.size)


def best_of_each(matches: Matches, unknown: int) -> NDArray[np.intp]:
    """Detections of the highest scores of every class, those of unknown classes together."""
    start, end = matches.class_start[:-1], matches.class_start[1:]
    most = min(_PER_CLASS, _OF_CLASSES // len(start))
    limit = np.append(np.full(len(start) - 1, most), min(most * unknown, _SAMPLE))
    sizes = np.minimum(end - start, limit)
    return np.repeat(start - np.append(0, sizes.cumsum()[:-1]), sizes) + np.arange(sizes.sum())


def under(
    matches: Matches, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The object that each detection is on and their overlap; one of its class, if that fits.

    What neither fits nor is apart from all objects may have any overlap in between.
    """
    iou, best = overlap(matches, "same", rows)
    wrong = iou < FITS
    others: tuple[Kind, ...] = ("known", "unknown")
    for kind in others:
        other, index = overlap(matches, kind, rows)
        wins = wrong & (other > iou)
        iou[wins], best[wins] = other[wins], index[wins]
    if matches.lean is not None:
        iou[~matches.apart[rows] & (iou < TOUCHES)] = TOUCHES
    matches.forget()
    return iou, best


def overlap(
    matches: Matches, kind: Kind, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Overlap of some detections with objects of a kind, and the object."""
    if matches.lean is not None:
        near: Near = getattr(matches.lean, kind)
        return near.at(rows)
    matches.forget()  # of a column in a file, rows here and there take much of it along
    iou, best = matches.overlapped(kind)
    return iou[rows], best[rows]


def evenly(end: int) -> Rows:
    """Detections from all classes and scores: evenly spaced among the first ones."""
    return np.linspace(0, end - 1, min(end, _SAMPLE)).astype(np.int64)


def of_some_images(matches: Matches) -> tuple[Rows, NDArray[np.bool_]]:
    """Boxes of known labels on some images, and which these are."""
    total = matches.n_images
    chosen = np.zeros(total, np.bool_)
    chosen[np.linspace(0, total - 1, min(_IMAGES, total)).astype(np.int64)] = True
    rows = np.flatnonzero(chosen.take(matches.image[: matches.known_end]))
    matches.forget()
    return rows, chosen
