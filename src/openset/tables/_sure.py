"""Sure boxes: what a detector is sure of, on some images, and whether objects are there."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from openset.tables._check_case import Case
from openset.tables._look import LOOSE, Array, beside, by_file
from openset.tables.boxes import Convention

_SAMPLE = 400, 20  # images, and boxes of each
_FEWEST, _RIGHT = 30, 0.5  # sure boxes, and the share of them on an object of their class
_SEEN, _ALONE = 8, 0.5  # boxes that are looked at, and the share of them on no object at all


class Sure(NamedTuple):
    """Sure boxes of known classes on some images.

    Attributes:
        klass: What they are called.
        image: Their images.
        box: Where they are.
        right: Whether they lie on an object of their class.
        alone: Whether they lie on no object.
    """

    klass: NDArray[np.int32]
    image: NDArray[np.int32]
    box: Array
    right: NDArray[np.bool_]
    alone: NDArray[np.bool_]

    @classmethod
    def of(cls, case: Case, score: float) -> Self:
        """Look at some that score so much."""
        sample = by_file(case, *_SAMPLE)
        klass = case.joined.klass[sample.row]
        sure = case.detections.score[sample.row] >= score
        kept = sure & (klass >= 0) & (klass < len(case.vocabulary.known))
        sample, klass = sample.only(kept), klass[kept]
        look = beside(case.truth, sample, sample.image)
        overlap = look.overlap(Convention.of(case.written.boxes))
        objects = case.vocabulary.classes(case.truth.labels)[case.truth.label[look.objects]]
        own = np.where(klass[look.by] == objects[look.at], overlap, 0)
        right, alone = look.on_objects(own) >= LOOSE, look.on_objects(overlap) < LOOSE
        image = case.joined.image[sample.row]
        return cls(klass, image, case.detections.box[sample.row], right, alone)

    def mostly_right(self, which: NDArray[np.bool_]) -> bool:
        """Whether most of some of them are right, and these are not few."""
        return bool(np.count_nonzero(which) >= _FEWEST and self.right[which].mean() >= _RIGHT)

    def on_nothing(self, which: NDArray[np.bool_]) -> bool:
        """Whether most of some of them lie on no object at all, and these are not few."""
        return bool(np.count_nonzero(which) >= _SEEN and self.alone[which].mean() >= _ALONE)
