"""Near: the detections that overlap an object of some kind, and which object most.

Few detections do, so that metrics walk these and not all. Kinds are those of the matching kernel
(`openset.kernels.MatchColumns`): objects of the detection's own class (``same``), of other classes
(``known``), and unknown ones beside what is labelled with a known class (``unknown``).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal["same", "known", "unknown"]
KINDS: tuple[Kind, ...] = ("same", "known", "unknown")
TOUCHES = 0.1  # an overlap below this is background in every published error diagnosis
FITS = 0.5  # an overlap from which a box is on an object


class Near(NamedTuple):
    """Detections that overlap an object of one kind.

    Attributes:
        position: Where they stand in class order, rising.
        object: The object of the kind that each overlaps most.
        iou: Their overlap.
    """

    position: NDArray[np.int32]
    object: NDArray[np.int32]
    iou: NDArray[np.float64]

    @classmethod
    def of(cls, iou: NDArray[np.float64], best: NDArray[np.int32], some: NDArray[Any]) -> Near:
        """Those in a mask, from the overlaps and objects of all."""
        position = np.flatnonzero(some).astype(np.int32)
        return cls(position, best[position], iou[position])

    def only(self, some: NDArray[Any]) -> Near:
        """Some of them, a mask or their indices."""
        return Near(*(column[some] for column in self))

    def at(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Overlap and object of any detections; none, and object -1, of those that are not here.

        >>> near = Near(np.array([1, 4], np.int32), np.array([7, 8], np.int32), np.array([0.5, 1]))
        >>> [column.tolist() for column in near.at(np.array([0, 4]))]
        [[0.0, 1.0], [-1, 8]]
        """
        place = np.searchsorted(self.position, rows)
        iou, best = np.append(self.iou, 0.0), np.append(self.object, np.int32(-1))
        position = np.append(self.position, np.int32(-1))
        place[position[place] != rows] = len(self.position)
        return iou[place], best[place]
