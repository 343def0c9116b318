"""Two populations in one order, in many resamples of the images at once.

What is asked of all thresholds, or of one, is a sum over the levels of the order; a resample draws
each image some number of times, and its members count that often.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library
from openset.kernels._structures import RankedInput, RankedOutput
from openset.kernels.resample import check_columns, rows, weight_table

Asked = Literal["pairs", "steps", "trapezoid", "accepted", "nearest"]


class Levels(NamedTuple):
    """Members of both populations, level after level, the known ones of a level first.

    Attributes:
        image: Image of each member.
        start: Where each level starts, and the end.
        unknown_start: Where the unknown members of each level start.
    """

    image: NDArray[np.int32]
    start: NDArray[np.int64]
    unknown_start: NDArray[np.int64]

    @classmethod
    def of(
        cls, image: NDArray[np.int32], start: NDArray[np.intp], is_known: NDArray[np.bool_]
    ) -> Levels:
        """The levels that start at `start`, of members that are known or not."""
        known = np.add.reduceat(is_known, start, dtype=np.int64) if len(start) else start
        bounds = np.append(start, len(image)).astype(np.int64)
        return cls(np.ascontiguousarray(image, np.int32), bounds, bounds[:-1] + known)


def ranked(
    levels: Levels,
    weights: NDArray[np.uint8],
    n_known: NDArray[np.integer],
    asked: Collection[Asked],
    *,
    share: float = 0.0,
) -> dict[Asked, NDArray[np.float64]]:
    """What is asked, one number per resample each, from one walk over the levels.

    Args:
        levels: The members.
        weights: How often each resample (columns) drew each image (rows).
        n_known: Known members in each resample.
        asked: ``pairs``: twice the pairs whose unknown member ranks above the known one, a tie
            being one half of a pair. ``steps``: the precision of the known at each of their
            levels, summed over them; ``trapezoid``: the mean of precision before the level and at
            it. ``accepted``: unknown members up to the level where a share of the known is
            reached; ``nearest``: up to the last level where recall comes nearest to it.
        share: Of the known, for ``accepted`` and ``nearest``.

    >>> levels = Levels.of(np.array([0, 1], np.int32), np.array([0, 1]), np.array([True, False]))
    >>> weights = np.array([[1, 2], [1, 3]], np.uint8)
    >>> ranked(levels, weights, np.array([1, 2]), ["pairs"])["pairs"].tolist()
    [2.0, 12.0]
    """
    weights = rows(weights)
    check_columns(levels.start, levels.image, weights)
    if n_known.shape != weights.shape[1:]:
        raise ValueError("n_known must have one entry per resample")
    native = _library.library()
    if native is None:
        from openset.kernels.numpy_twins import ranked as twin

        return twin.ranked(levels, weights, asked, share)
    found = {name: np.empty(weights.shape[1], np.float64) for name in asked}
    given = _library.pack(
        RankedInput,
        image=levels.image,
        level_start=levels.start,
        unknown_start=levels.unknown_start,
        n_known=n_known.astype(np.float64),
        weights=weight_table(weights),
        share=share,
        n_levels=len(levels.unknown_start),
        threads=_library.threads(),
    )
    filled = _library.pack(RankedOutput, **{name: found.get(name) for name in get_args(Asked)})
    _library.check(native, native.openset_ranked(ctypes.byref(given), ctypes.byref(filled)))
    return found
