"""Checks that no boxes were found on turned pictures and joined as they are, image by image.

Boxes of a mirrored picture that were added to those of the picture itself are on nothing, and as
sure. Where a detector is exact, a box and its mirror image are there digit by digit; a network is
not: then most sure boxes that are on no object of their label are on one once they are turned back.
Boxes that were put one pass after the other are told by the passes (`_check_passes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, share
from openset.tables._check_twice import hashes, held, mixed
from openset.tables._look import LOOSE, Array, Look, Reads, Sample, beside, by_file, of_one_class
from openset.tables.boxes import TURNS, Convention, sizes

_TURNS = {
    "mirrored": "mirrored pictures",
    "flipped": "pictures upside down",
    "turned-90": "pictures turned by 90 degrees",
    "turned-180": "pictures turned by 180 degrees",
    "turned-270": "pictures turned by 270 degrees",
}
_FEWEST = 20  # boxes
_MIRRORED = 0.4  # of the boxes; both halves count
_DIGIT, _OFF = 10.0, 0.0037  # tenths of a pixel; boxes of two digits are on no edge of those
_SAMPLE = 150, 20  # images, and boxes of each
_MOST, _PART = 0.5, 0.1  # of the sure boxes on nothing, and of all sure ones, fit once turned


class _Turned(NamedTuple):
    """Boxes of a turned picture, written as the others are."""

    ours: Convention
    turn: str

    def in_pixels(self, box: Array, size: Array) -> Array:
        """Boxes turned back."""
        return TURNS[self.turn](self.ours.in_pixels(box, size), size)


def mirrored_too(case: Case) -> Iterator[Finding]:
    """The finding that boxes are there twice, as they are and mirrored."""
    rows = case.some
    size = sizes(case.truth, case.joined.image[rows])
    box = case.detections.box.take(rows, axis=0)
    other = TURNS["mirrored"](box, size)
    label = case.detections.label[rows].astype(np.uint64)
    key = mixed(case.joined.image[rows].astype(np.uint64), label)
    same = np.abs(box[:, 0] - other[:, 0]) < 1  # in the middle: its own mirror image
    whole, turned = _tenths(key, box), _tenths(key, other)
    there = held(turned, whole) & ~same
    count, of = int(np.count_nonzero(there)), int(np.count_nonzero(~same))
    if count >= max(_FEWEST, _MIRRORED * of):
        yield Finding(
            "OS231",
            Level.ERROR,
            f"{share(count, len(rows), 'detections examined')} have their mirror image among the "
            "boxes of their image and label",
            count=count,
            example=case.where(int(rows[there.argmax()])),
            cause="boxes found on mirrored pictures were added without being mirrored back",
        )


def _tenths(key: NDArray[np.uint64], box: Array) -> NDArray[np.uint64]:
    """A key of boxes in tenths of a pixel."""
    return hashes(key, np.floor((box + _OFF) * _DIGIT) + 0.0)  # which has no zero below zero


def turned_too(case: Case) -> Iterator[Finding]:
    """Sure boxes, most of which on no object are on one once they are turned back."""
    sample = by_file(case, *_SAMPLE)
    sample = sample.only(case.joined.klass[sample.row] >= 0)
    ours = Convention.of(case.written.boxes)
    right = _on_objects(_own(case, sample), ours)
    if np.count_nonzero(right) < _FEWEST:
        return
    score = case.detections.score[sample.row]
    sure = score >= np.median(score[right])
    wrong = sample.only(sure & ~right)
    total, least = len(wrong.row), max(_FEWEST, _PART * np.count_nonzero(sure))
    if total < least:
        return
    look = _own(case, wrong)
    for read in (_Turned(ours, turn) for turn in _TURNS):
        fits = _on_objects(look, read)
        count = int(np.count_nonzero(fits))
        if count >= max(least, _MOST * total):
            yield Finding(
                "OS231",
                Level.ERROR,
                f"{share(count, total, 'sure boxes examined')} that are on no object of their "
                "label are on one once they are turned back",
                count=count,
                example=case.where(int(wrong.row[fits.argmax()])),
                cause=f"boxes found on {_TURNS[read.turn]} were added without being turned back",
            )
            return


def _own(case: Case, sample: Sample) -> Look:
    """Boxes beside the objects of their class."""
    return of_one_class(case, beside(case.truth, sample, sample.image))


def _on_objects(look: Look, read: Reads) -> NDArray[np.bool_]:
    """Which boxes are on an object, read in some way."""
    return look.on_objects(look.overlap(read)) >= LOOSE
