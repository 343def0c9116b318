"""Objects of another data set on images whose ids are the same.

Where two ground truths were put together and both number their images from 1, objects of one lie
on images of the other. They come later in the list of annotations, and boxes meet them by chance
alone: no better than objects of other images, while those that come before are met.

Not detections on the wrong images (OS424, OS448), whose objects are all missed alike, nor objects
that are hard to see: these are met better than by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, object_at, share
from openset.tables._look import Array, Index, Look, alike, beside, by_file
from openset.tables.boxes import Convention

_SAMPLE = 200, 30  # images, and boxes of each
_CUTS = (0.25, 0.33, 0.5, 0.67, 0.75)  # of the annotations, in their order
_IMAGES = 30  # with objects before and after
_BOTH = 0.1  # of the objects of a class, before and after: else the list is sorted by class
_ALIKE = 0.5  # median areas of objects before and after
_SHIFTS = (0.25, 0.5, 0.75)
_BY_CHANCE, _SEEN = 0.03, 0.2  # mean best overlap beyond chance


class _Cut(NamedTuple):
    """A place in the list of annotations.

    Attributes:
        at: How many come before it.
        label: The label of each.
        both: Labels that the detector names and that come on both sides.
    """

    at: int
    label: NDArray[np.int32]
    both: NDArray[np.bool_]

    def sides(self, objects: Index) -> tuple[Index, Index]:
        """Which of some objects of these labels come before it, and which after."""
        kept, late = self.both[self.label[objects]], objects >= self.at
        return np.flatnonzero(kept & ~late), np.flatnonzero(kept & late)

    def means(self, look: Look, best: Array) -> tuple[float, float]:
        """How well objects before it, and after it, are met."""
        before, after = (best[one] for one in self.sides(look.objects))
        return float(before.sum()) / max(len(before), 1), float(after.sum()) / max(len(after), 1)


def _cuts(case: Case) -> Iterator[_Cut]:
    """Places that are looked at."""
    label = case.truth.label
    total = np.bincount(label, minlength=len(case.truth.labels))
    for at in (int(cut * len(label)) for cut in _CUTS):
        part = np.bincount(label[:at], minlength=len(total)) / np.maximum(total, 1)
        yield _Cut(at, label, (part >= _BOTH) & (part <= 1 - _BOTH) & case.named)


def collided(case: Case) -> Iterator[Finding]:
    """The finding that objects of a last part of the annotations are met by chance alone."""
    ours, sample = Convention.of(case.written.boxes), by_file(case, *_SAMPLE)
    look = beside(case.truth, sample, sample.image)
    best = look.met(ours).best
    for cut in _cuts(case):
        before, after = cut.means(look, best)
        if before - after < _SEEN:
            continue  # as nearly always: what else there is to ask is not worth the time
        late = _late(case, look, cut)
        if late is None or alike(case.truth, sample, sample.image):
            continue
        others = [beside(case.truth, sample, sample.image, shift) for shift in _SHIFTS]
        chance = np.mean([cut.means(one, one.met(ours).best) for one in others], axis=0)
        if before - chance[0] < _SEEN or after - chance[1] > _BY_CHANCE:
            continue
        count, total = len(case.truth) - cut.at, len(case.truth)
        yield Finding(
            "OS468",
            Level.WARNING,
            f"boxes meet the objects that come last ({share(count, total, 'annotations')}) no "
            f"better than those of other images (mean best IoU {after:.2f} and {chance[1]:.2f}), "
            f"and those that come first on the same images better ({before:.2f})",
            count=count,
            example=object_at(case.truth, int(look.objects[late].min())),
        )
        return


def _late(case: Case, look: Look, cut: _Cut) -> Index | None:
    """Objects that come after a place, of images and classes that have some before it as well."""
    early, late = cut.sides(look.objects)
    here, there = (np.bincount(look.slot[one]) > 0 for one in (early, late))
    size = min(len(here), len(there))
    both = int(np.count_nonzero(here[:size] & there[:size]))
    images = int(np.count_nonzero(there))
    if both < max(_IMAGES, images / 2):
        return None
    area = case.truth.box[look.objects, 2:].prod(axis=1)  # a list may be sorted by it
    before, after = (float(np.median(area[one])) for one in (early, late))
    return late if _ALIKE * before <= after <= before / _ALIKE else None
