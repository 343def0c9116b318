"""Two populations in one order, in NumPy, a block of resamples at a time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from openset.kernels.numpy_twins.resample import drawn, sum_in_order
from openset.kernels.ranked import Asked, Levels

Numbers = NDArray[np.float64]
CELLS = 1 << 16  # members times resamples at a time: their counts fit into a cache


def ranked(
    levels: Levels, weights: NDArray[np.uint8], asked: Collection[Asked], share: float
) -> dict[Asked, Numbers]:
    """See ``openset.kernels.ranked``."""
    n_resamples = weights.shape[1]
    found = {name: np.empty(n_resamples) for name in asked}
    width = max(1, CELLS // max(len(levels.image), 1))
    for begin in range(0, n_resamples, width):
        columns = slice(begin, begin + width)
        counts = _Counts(levels, drawn(weights, levels.image, columns))
        for name in asked:
            found[name][columns] = _ASKED[name](counts, share)
    return found


@dataclass(frozen=True)
class _Counts:
    """The levels of a block of resamples.

    Attributes:
        levels: The members.
        table: Weight by member and resample.
    """

    levels: Levels
    table: NDArray[np.uint8]

    @cached_property
    def known(self) -> NDArray[np.int64]:
        """Known members at each level."""
        return _between(self.table, self.levels.start[:-1], self.levels.unknown_start)

    @cached_property
    def unknown(self) -> NDArray[np.int64]:
        """Unknown members at each level."""
        return _between(self.table, self.levels.unknown_start, self.levels.start[1:])

    @cached_property
    def known_up_to(self) -> NDArray[np.int64]:
        """Known members up to each level."""
        return np.cumsum(self.known, axis=0)

    @cached_property
    def unknown_up_to(self) -> NDArray[np.int64]:
        """Unknown members up to each level."""
        return np.cumsum(self.unknown, axis=0)

    def precision(self, of_none: float) -> Numbers:
        """Share of the known among all up to each level."""
        found = self.known_up_to + self.unknown_up_to
        none = np.full(found.shape, of_none)
        return np.divide(self.known_up_to, found, out=none, where=found > 0)


def _between(
    table: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sums of rows, from each beginning to its end."""
    total = np.zeros((len(table) + 1, table.shape[1]), np.int64)
    np.cumsum(table, axis=0, out=total[1:])
    return total[end] - total[begin]


def _pairs(counts: _Counts, _: float) -> Numbers:
    below = 2 * counts.known_up_to - counts.known
    return (counts.unknown * below).sum(axis=0).astype(np.float64)


def _steps(counts: _Counts, _: float) -> Numbers:
    return sum_in_order(counts.known * counts.precision(0.0))


def _trapezoid(counts: _Counts, _: float) -> Numbers:
    precision = counts.precision(1.0)
    before = np.concatenate([np.ones_like(precision[:1]), precision[:-1]])
    return sum_in_order(counts.known * (precision + before) / 2)


def _accepted(counts: _Counts, share: float) -> Numbers:
    target = share * counts.known_up_to[-1].astype(np.float64) - 1e-9
    open_before = counts.known_up_to - counts.known < target
    return (counts.unknown * open_before).sum(axis=0).astype(np.float64)


def _nearest(counts: _Counts, share: float) -> Numbers:
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = counts.known_up_to / counts.known_up_to[-1]
    ended = np.concatenate([np.zeros_like(recall[:1], bool), recall[:-1] >= 1])
    off = np.where(ended, np.inf, np.abs(recall - share))
    level = len(off) - 1 - np.argmin(off[::-1], axis=0)
    return np.take_along_axis(counts.unknown_up_to, level[None], axis=0)[0].astype(np.float64)


_ASKED = {
    "pairs": _pairs,
    "steps": _steps,
    "trapezoid": _trapezoid,
    "accepted": _accepted,
    "nearest": _nearest,
}
