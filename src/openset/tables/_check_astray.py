"""Check that boxes do not fit the objects of other images: ids that went astray.

A list lost an image, and from there on every id is that of a neighbour; the ids of a part were
shuffled. No reading of ids mends such files, but boxes know where they belong. Those of images that
miss their own objects are held against the objects of all images; an image fits another of whose
objects half are met tightly. In a large set some image fits any boxes, by chance:

- Chance does not agree on how far on the other image is, in any order that a list may have.
- Where they agree on nothing, the same boxes mirrored and upside down tell how often chance fits.

Not a search for the right ids: only that they are wrong is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, orders, runs_of_rows, share
from openset.tables._check_twice import hashes, mixed
from openset.tables._look import TIGHT, Array, Index, Sample, alike
from openset.tables.annotations import Annotations
from openset.tables.boxes import TURNS, Convention, sizes
from openset.tables.overlap import iou_of_pairs
from openset.wording import spaced

_BOXES = 10  # of an image
_FEWEST, _TIMES = 8, 3
_TURNS = ("mirrored", "flipped")
_MET = (2, 3)  # objects of another image: the more, the less likely by chance
_SIGNIFICANT = 4.0  # standard deviations
_NEAR = 4  # images apart: those of a film are alike
_PAIRS = 2_000_000  # of like size and place, where all objects are alike
_NEARLY_ALL = 0.9  # of these boxes are those of another image as well
_CELL = -np.log(TIGHT[0])  # sides of boxes that overlap tightly differ by a cell at most


def astray(case: Case, part: Sample, fit: int) -> Iterator[Finding]:
    """The finding that images of a sample fit others.

    Args:
        case: The case.
        part: Detections of images that miss their own objects.
        fit: How many images beside them fit their own.
    """
    part = part.of(all_of(np.isfinite(sizes(case.truth, part.image)))).best(_BOXES)
    if len(part.ids) < _FEWEST or alike(case.truth, part, part.image):
        return
    size = sizes(case.truth, part.image)[part.slot]
    box = Convention.of(case.written.boxes).in_pixels(part.box, size)
    ours = _Fits.of(case.truth, part, box)
    step, order, count = _steps(case.truth, part, ours)
    if count >= _FEWEST:
        side = "after" if step > 0 else "before"
        said = f"the image {spaced(abs(step))} {side} theirs in the order {order}"
        cause = "a list of images lacks one that another has: from there on, ids are off"
        yield _found(case, part, (count, fit), said, cause)
        return
    turned = [_Fits.of(case.truth, part, TURNS[turn](box, size)) for turn in _TURNS]
    for met in _MET:
        there, *chance = (one.images(met) for one in (ours, *turned))
        count = int(np.count_nonzero(there))
        if count >= _FEWEST and all(_clearly(there, one) for one in chance):
            cause = "image ids were shuffled, or belong to another list of the same images"
            if _copied(case, part) >= _NEARLY_ALL:
                cause = "the boxes of one image were written for others, too, as those of its batch"
            yield _found(case, part, (count, fit), "another image", cause)
            return


class _Fits(NamedTuple):
    """Which images of a sample fit which others.

    Attributes:
        size: How many images the sample has.
        slot: One of them.
        image: The image that it fits.
        met: How many of its objects are met.
    """

    size: int
    slot: Index
    image: Index
    met: Index

    @classmethod
    def of(cls, truth: Annotations, sample: Sample, box: Array) -> Self:
        """Hold boxes against the objects of all images but their own."""
        assert truth.crowd is not None
        objects = np.flatnonzero(~truth.crowd & all_of(np.isfinite(truth.box)))
        at, by = _tight(truth.box[objects], box)
        pair = np.unique(sample.slot[by] * len(truth) + objects[at])
        total = len(truth.images)
        slot, image = pair // len(truth), truth.image[pair % len(truth)]
        key, met = np.unique(slot * total + image, return_counts=True)
        slot, image = key // total, key % total
        half = 2 * met >= np.bincount(truth.image[objects], minlength=total)[image]
        kept = half & (sample.image[slot] != image)
        return cls(len(sample.ids), slot[kept], image[kept], met[kept])

    def images(self, met: int) -> NDArray[np.bool_]:
        """Images that fit another with so many objects."""
        return np.bincount(self.slot[self.met >= met], minlength=self.size) > 0


def _steps(truth: Annotations, sample: Sample, fits: _Fits) -> tuple[int, str, int]:
    """How far on most other images are, in which order, and how many; 0 if that is chance."""
    best = 0, "", 0
    for order, rows in orders(truth):
        place = np.argsort(rows)
        apart = place[fits.image] - place[sample.image[fits.slot]]
        step, times = np.unique(apart, return_counts=True)
        at = int(times.argmax()) if len(times) else -1
        chance = times[np.abs(step - step[at]) >= _NEAR].max(initial=0) if at >= 0 else 0
        if at >= 0 and times[at] > best[2] and times[at] >= _TIMES * (chance + 1):
            best = int(step[at]), order, int(times[at])
    return best


def _clearly(there: NDArray[np.bool_], chance: NDArray[np.bool_]) -> bool:
    """Whether more images fit than by chance, of those that differ."""
    more, fewer = np.count_nonzero(there & ~chance), np.count_nonzero(chance & ~there)
    return bool(more - fewer >= _SIGNIFICANT * np.sqrt(more + fewer))


def _copied(case: Case, part: Sample) -> float:
    """The share of boxes that are those of another image as well, digit by digit."""
    table = case.detections
    key = mixed(table.label.astype(np.uint64), table.score.view(np.uint64))
    key = hashes(key, table.box)
    order = np.lexsort((case.joined.image, key))
    key, image = key[order], case.joined.image[order]
    again = np.flatnonzero((key[1:] == key[:-1]) & (image[1:] != image[:-1]))
    return float(np.isin(part.row, order[np.isin(key, key[again])]).mean())


def _found(case: Case, part: Sample, count_fit: tuple[int, int], where: str, cause: str) -> Finding:
    count, fit = count_fit
    return Finding(
        "OS448",
        Level.ERROR,
        f"boxes of {share(count, len(part.ids), 'images')} that miss their objects fit those of "
        f"{where}; {spaced(fit)} images fit their own",
        count=count,
        example=case.where(int(part.row[0])),
        cause=cause,
    )


def _tight(objects: Array, box: Array) -> tuple[Index, Index]:
    """Pairs of an object and a box that overlap tightly.

    Objects are sorted into cells by size, and by place in steps of the width of a cell: whatever
    overlaps a box tightly is in a neighbouring cell.
    """
    (wide, high), centre = _cell(objects[:, 2:]).T, objects[:, 0] + objects[:, 2] / 2
    order = np.lexsort((_step(centre, wide), high, wide))
    key = _key(wide, high, _step(centre, wide))[order]
    (own_wide, own_high), own = _cell(box[:, 2:]).T, box[:, 0] + box[:, 2] / 2
    found: list[tuple[Index, Index]] = []
    for across in (-1, 0, 1):
        place = _step(own, own_wide + across)
        for up in (-1, 0, 1):
            low = np.searchsorted(key, _key(own_wide + across, own_high + up, place - 1))
            end = np.searchsorted(key, _key(own_wide + across, own_high + up, place + 1) + 1)
            count = np.where(np.cumsum(end - low) <= _PAIRS, end - low, 0)
            at, by = order[runs_of_rows(low, count)], np.repeat(np.arange(len(box)), count)
            kept = iou_of_pairs(objects[at], box[by]) >= TIGHT[0]
            found.append((at[kept], by[kept]))
    at, by = (np.concatenate(column) for column in zip(*found, strict=True))
    return at, by


def _cell(sides: Array) -> Index:
    return np.floor(np.log(np.clip(sides, 1, 1e6)) / _CELL).astype(np.int64)


def _step(centre: Array, wide: Index) -> Index:
    return np.floor(np.clip(centre, -1e6, 1e6) / np.exp((wide + 1) * _CELL)).astype(np.int64)


def _key(wide: Index, high: Index, step: Index) -> Index:
    return ((wide << 8) + high << 24) + step
