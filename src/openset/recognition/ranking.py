"""Ranking: known and unknown samples by openness, as counts at every distinct value.

Everything that does not depend on a threshold is a sum over these levels, so one sort serves all
metrics and all resamples, and ties are seen: samples of one level cannot be told apart. Counts are
whole numbers, or a column of weights per resample.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Samples at each distinct openness, least unknown first.

    Attributes:
        order: Samples by openness, known ones (numbered first) before unknown ones where equal.
        start: Where each level starts in that order.
        correct_sample: Whether each known sample is classified correctly.
        known: Known samples at each level.
        correct: Known samples classified correctly at each level.
        unknown: Unknown samples at each level.
    """

    order: NDArray[np.intp]
    start: NDArray[np.intp]
    correct_sample: NDArray[np.bool_]
    known: Counts
    correct: Counts
    unknown: Counts

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def known_up_to(self) -> Counts:
        """Known samples up to each level, after a 0: no threshold accepts less."""
        return _running(self.known)

    @cached_property
    def correct_up_to(self) -> Counts:
        """Known samples classified correctly up to each level, after a 0."""
        return _running(self.correct)

    @cached_property
    def unknown_up_to(self) -> Counts:
        """Unknown samples up to each level, after a 0."""
        return _running(self.unknown)

    @property
    def n_known(self) -> Any:
        """All known samples; a number, or one per resample."""
        return _wide(self.known_up_to[-1])

    @property
    def n_unknown(self) -> Any:
        """All unknown samples; a number, or one per resample."""
        return _wide(self.unknown_up_to[-1])

    def unknown_from(self) -> Counts:
        """Unknown samples at a level or above it, the most unknown level first."""
        return self.unknown_up_to[-1] - self.unknown_up_to[-2::-1]

    def known_from(self) -> Counts:
        """Known samples at a level or above it, the most unknown level first."""
        return self.known_up_to[-1] - self.known_up_to[-2::-1]

    def weighted(self, known: NDArray[Any], unknown: NDArray[Any]) -> Ranking:
        """The ranking with every sample counted as often as it was drawn, a column per resample."""
        right = known * self.correct_sample[:, None]
        blank_known, blank_unknown = np.zeros_like(known), np.zeros_like(unknown)
        return replace(
            self,
            known=self._levels(known, blank_unknown),
            correct=self._levels(right, blank_unknown),
            unknown=self._levels(blank_known, unknown),
        )

    def _levels(self, known: NDArray[Any], unknown: NDArray[Any]) -> Counts:
        if not len(self):
            return np.zeros((0, known.shape[1]))
        rows = np.concatenate([known, unknown])[self.order].astype(np.float64)
        return rows if len(self) == len(rows) else np.add.reduceat(rows, self.start, axis=0)

    def leading_correct(self) -> NDArray[np.bool_]:
        """Whether the first known sample of each level, in the order of input, is correct."""
        first = self.order[self.start]
        is_known = first < len(self.correct_sample)
        return is_known & np.append(self.correct_sample, False)[np.where(is_known, first, -1)]


def rank(openness: Floats, correct: NDArray[np.bool_], unknown_openness: Floats) -> Ranking:
    """Rank known and unknown samples.

    >>> found = rank(np.array([0.1, 0.5]), np.array([True, True]), np.array([0.5, 0.9]))
    >>> found.known.tolist(), found.unknown.tolist()
    ([1, 1, 0], [0, 1, 1])
    """
    order, values = _sorted(openness, unknown_openness)
    start = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    del values
    is_known = order < len(openness)
    is_correct = np.append(correct, False)[np.minimum(order, len(correct))]
    known, right, unknown = (_at(m, start) for m in (is_known, is_correct, ~is_known))
    return Ranking(order, start, correct, known, right, unknown)


def _sorted(known: Floats, unknown: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Samples by openness, known ones first where equal, and their openness.

    Both kinds are sorted at the same time; the sort that joins them only merges two runs.
    """
    with ThreadPoolExecutor(2) as pool:
        (first, low), (second, high) = pool.map(_order, (known, unknown))
    values = np.concatenate([low, high])
    merged = np.argsort(values, kind="stable")
    second += len(known)
    return np.concatenate([first, second])[merged], values[merged]


def _order(values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """What ``np.argsort(values, kind="stable")`` gives, in half the time, and the sorted values.

    Sorting is faster than sorting indices: the leading bits of a value and its index fit into one
    word. What is left to do for values that differ in their last bits only is a stable sort of an
    almost sorted array, which takes linear time.
    """
    bits = np.uint64(max(len(values) - 1, 1).bit_length())
    raw = (values + 0.0).view(np.int64)  # adding 0 turns -0 into 0, which is equal to it
    sign = np.int64(-(2**63))
    word = raw.view(np.uint64) ^ ((raw >> 63) | sign).view(np.uint64)  # in the order of values
    word >>= bits
    word <<= bits
    word |= np.arange(len(values), dtype=np.uint64)
    word.sort()
    word &= (np.uint64(1) << bits) - np.uint64(1)
    order = word.view(np.int64)
    almost = values[order]
    rest = np.argsort(almost, kind="stable")
    return order[rest], almost[rest]


def _at(mask: NDArray[np.bool_], start: NDArray[np.intp]) -> Counts:
    """How many samples of a kind each level has; bytes if there are no ties."""
    if len(start) == len(mask):
        return mask.astype(np.int8)
    return np.add.reduceat(mask, start, dtype=np.int32)


def _running(counts: Counts) -> Counts:
    """How many there are up to each level; whole numbers take half the usual memory."""
    whole = counts.dtype.kind in "iu"
    total = np.zeros((len(counts) + 1, *counts.shape[1:]), np.int32 if whole else np.float64)
    np.cumsum(counts, axis=0, out=total[1:])
    return total


def _wide(count: Any) -> Any:
    """A count that can be multiplied with another."""
    return count if np.ndim(count) else np.int64(count)
