"""Operating points: counts of each class at the score where it reaches a recall.

Every count has a trailing axis: one column for the data itself, or one per resample, so that an
operating point is found the same way in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset import kernels
from openset.matching import Matches

Mask = NDArray[np.bool_]


class Points(NamedTuple):
    """Where the classes stand.

    Attributes:
        hits: What recall counts, by class [K + 1] and column.
        counts: What else was asked for, each by class and column.
        reached: Whether the class reaches the level (or has any detection, for the nearest one).
    """

    hits: NDArray[np.int32]
    counts: tuple[NDArray[np.int32], ...]
    reached: Mask


def level_name(level: float) -> str:
    """The name of a level among the parts of a value: two decimals, or all if it has more.

    >>> level_name(0.8), level_name(0.7951)
    ('0.80', '0.7951')
    """
    short = f"{level:.2f}"
    return short if float(short) == level else repr(float(level))


def published_by(matches: Matches) -> dict[str, str]:
    """The parameter of an open-set error that says under which preset it was published."""
    preset = matches.protocol.errors_from
    return {"published_by": preset} if preset else {}


def weights_of(matches: Matches) -> NDArray[np.uint8]:
    """Image weights: those of the resamples, or a single column of ones for the data itself."""
    if matches.weights is not None:
        return matches.weights
    return np.ones((matches.n_images, 1), np.uint8)


def as_columns(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts by class with a trailing axis, whether or not they have resamples."""
    return counts if counts.ndim == 2 else counts[:, None]


def nearest_to(matches: Matches, recall: float, hit: Mask, *masks: Mask) -> Points:
    """Each class at its first detection of nearest recall, as published code stands."""
    return _points(matches, recall, hit, masks, as_columns(matches.positives), None)


def nearest_to_each(matches: Matches, recalls: Sequence[float], hit: Mask, *masks: Mask) -> Points:
    """The same at many levels of the data itself: one column per level."""
    each = matches.resampled(np.ones((matches.n_images, len(recalls)), np.uint8))
    positives = np.repeat(as_columns(matches.positives), len(recalls), axis=1)
    return _points(each, np.array(recalls), hit, masks, positives, None)


def threshold_for(
    matches: Matches, recall: float, hit: Mask, *masks: Mask, positives: NDArray[np.int64]
) -> Points:
    """Each class at the score at which its recall reaches a level, all equal scores included."""
    return _points(matches, recall, hit, masks, positives, matches.score)


def _points(
    matches: Matches,
    recall: float | NDArray[np.float64],
    hit: Mask,
    masks: tuple[Mask, ...],
    positives: NDArray[np.int64],
    score: NDArray[np.float64] | None,
) -> Points:
    flags = hit.astype(np.uint8)
    for bit, mask in enumerate(masks, start=1):
        flags |= mask.view(np.uint8) << np.uint8(bit)
    counts, reached = kernels.operating_points(
        matches.class_start,
        matches.image,
        flags,
        weights_of(matches),
        positives,
        recall=recall,
        n_flags=1 + len(masks),
        score=score,
    )
    first, *others = counts.transpose(1, 0, 2)
    return Points(first, tuple(others), reached)
