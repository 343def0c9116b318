"""Ranking: two populations by one number, as counts at every distinct value; areas and rates of it.

Known and unknown samples of a classifier by openness, detections on closed-set and on wild images
by unknownness: whatever does not depend on a threshold is a sum over these levels. One sort serves
all metrics and all resamples, and ties are seen: members of one level cannot be told apart. Counts
are whole numbers, with a column per resample where there are several.

Not a metric: which members take part, and what the number is called, is said where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

LARGE = 100_000  # members whose sorting takes longer than starting threads
Counts = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Members of both populations at each distinct value, least unknown first.

    Attributes:
        order: Members by value, known ones (numbered first) before unknown ones where equal.
        start: Where each level starts in that order.
        is_known: Whether each member is known, in that order.
        known: Known members at each level.
        unknown: Unknown members at each level.
    """

    order: NDArray[np.intp]
    start: NDArray[np.intp]
    is_known: NDArray[np.bool_]
    known: Counts
    unknown: Counts

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def known_up_to(self) -> Counts:
        """Known members up to each level, after a 0: no threshold accepts less."""
        return running(self.known)

    @cached_property
    def unknown_up_to(self) -> Counts:
        """Unknown members up to each level, after a 0."""
        return running(self.unknown)

    @cached_property
    def n_known(self) -> Any:
        """All known members; a number, or one per resample."""
        return self.known.sum(axis=0, dtype=np.int64)

    @cached_property
    def n_unknown(self) -> Any:
        """All unknown members; a number, or one per resample."""
        return self.unknown.sum(axis=0, dtype=np.int64)

    def unknown_from(self) -> Counts:
        """Unknown members at a level or above it, the most unknown level first."""
        return self.unknown_up_to[-1] - self.unknown_up_to[-2::-1]

    def known_from(self) -> Counts:
        """Known members at a level or above it, the most unknown level first."""
        return self.known_up_to[-1] - self.known_up_to[-2::-1]

    def weighted(self, weights: Counts) -> Self:
        """The ranking with every member counted as often as it was drawn.

        Args:
            weights: How often, in the ranking's order; maybe with a column per resample.
        """
        known = only(weights, self.is_known)
        return replace(self, known=self.levels(known), unknown=self.levels(weights - known))

    def levels(self, members: Counts) -> Counts:
        """Counts of members, in the ranking's order, summed over each level."""
        if len(self) == len(members):
            return members.view(np.int8) if members.dtype == np.bool_ else members
        return np.add.reduceat(members, self.start, axis=0, dtype=np.int32)


def rank(known: Floats, unknown: Floats) -> Ranking:
    """Rank two populations.

    >>> found = rank(np.array([0.1, 0.5]), np.array([0.5, 0.9]))
    >>> found.known.tolist(), found.unknown.tolist()
    ([1, 1, 0], [0, 1, 1])
    """
    order, values = _sorted(known, unknown)
    start = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    del values
    is_known = order < len(known)
    bare = Ranking(order, start, is_known, is_known, is_known)
    return replace(bare, known=bare.levels(is_known), unknown=bare.levels(~is_known))


def only(weights: Counts, mask: NDArray[np.bool_]) -> Counts:
    """Weights of some members, 0 for the others."""
    return weights * mask.reshape(-1, *[1] * (weights.ndim - 1))


def running(counts: Counts) -> NDArray[np.int32]:
    """How many there are up to each level, after a 0; 32 bits take half the usual memory."""
    total = np.zeros((len(counts) + 1, *counts.shape[1:]), np.int32)
    np.cumsum(counts, axis=0, out=total[1:])
    return total


def concordant(level: Counts, up_to: Counts, above: Counts, ties: float = 0.5) -> Any:
    """Pairs of a member, and of one of another population that ranks above it.

    Args:
        level: Members at each level.
        up_to: Members up to each level, after a 0.
        above: The other population at each level.
        ties: What a pair of one level is worth.
    """
    return _products(above, up_to[:-1]) + ties * _products(above, level)


def area_under_roc(ranking: Ranking) -> Any:
    """Share of pairs whose known member ranks below the unknown one; a tie counts one half."""
    pairs = concordant(ranking.known, ranking.known_up_to, ranking.unknown)
    return pairs / (ranking.n_known * ranking.n_unknown)


def clearly_below_half(area: float, known: int, unknown: int) -> bool:
    """Whether an area under the ROC curve says that the values are upside down.

    A poor ranking is near one half, on either side. Far below it is one that knows the answer and
    says the contrary; the spread is that of chance (Mann and Whitney), five times over.

    >>> clearly_below_half(0.2, 100, 100), clearly_below_half(0.2, 5, 5)
    (True, False)
    >>> clearly_below_half(0.45, 10_000, 10_000)
    False
    """
    if not known or not unknown:
        return False
    spread = ((known + unknown + 1) / (12 * known * unknown)) ** 0.5
    return area < 0.4 and 0.5 - area >= 5 * spread


def average_precision(positive: Counts, true: Counts, false: Counts) -> Any:
    """Area under the precision-recall curve, in steps.

    Args:
        positive: Positives at each level, the best level first.
        true: Positives up to it.
        false: Negatives up to it.
    """
    precision, found = true.astype(np.float64), false.astype(np.float64)
    found += precision
    np.divide(precision, found, out=precision, where=found > 0)  # 0 / 0 is left at 0
    return _products(precision, positive) / positive.sum(axis=0, dtype=np.float64)


def false_positive_rate(ranking: Ranking, tpr: float) -> Any:
    """Least share of unknown members accepted with at least a share `tpr` of the known ones."""
    level = reached(ranking.known_up_to[1:], tpr * ranking.n_known)
    return pick(ranking.unknown_up_to[1:], level) / ranking.n_unknown


def reached(up_to: Counts, target: Any) -> NDArray[np.intp]:
    """First level at which as many as `target` are there (up to rounding)."""
    return np.argmax(up_to >= target - 1e-9, axis=0)


def pick(counts: Counts, level: NDArray[np.intp]) -> Any:
    """The count at a level, of every column."""
    return counts[level] if counts.ndim == 1 else counts[level, np.arange(counts.shape[1])]


def last_nearest(rates: Floats, wanted: float) -> NDArray[np.intp]:
    """Where a rate is nearest to the one wanted, the last of equals."""
    return len(rates) - 1 - np.argmin(np.abs(rates - wanted)[::-1], axis=0)


def _products(a: Counts, b: Counts) -> Any:
    """The sum of products: whole numbers, exact up to 2**53, without an array of products."""
    return np.einsum("i...,i...->...", a, b, dtype=np.float64)


def _sorted(known: Floats, unknown: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Members by value, known ones first where equal, and their values.

    The sort that joins the populations only merges two runs.
    """
    (first, low), (second, high) = _orders(known, unknown)
    values = np.concatenate([low, high])
    merged = np.argsort(values, kind="stable")
    second += len(known)
    return np.concatenate([first, second])[merged], values[merged]


def _orders(*populations: Floats) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """The order of each population; large ones are sorted at the same time."""
    if sum(map(len, populations)) < LARGE:
        return map(_order, populations)
    from concurrent.futures import ThreadPoolExecutor  # would show in every start-up

    with ThreadPoolExecutor(len(populations)) as pool:
        return pool.map(_order, populations)


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
