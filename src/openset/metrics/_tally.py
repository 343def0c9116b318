"""Tallies: cumulative counts along the score order of one class, for the data and its resamples.

A tally stands at *stops*: the first detection of a class and each of its hits, because recall
changes nowhere else. Every count has a trailing axis: one column for the data itself, or one per
resample, so that an operating point is found the same way in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset import kernels
from openset.matching import Matches

Table = NDArray[Any]  # [stops, columns]
BLOCK = 256  # resamples at a time, so that a large class stays within the cache


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one class at its stops.

    Attributes:
        klass: The class.
        columns: Which resamples the columns are.
        positions: Where the stops are, in class order.
        hits: The first mask, cumulated: what recall is made of.
        counts: The other masks, cumulated; at the last of equal scores if asked for.
    """

    klass: int
    columns: slice
    positions: NDArray[np.intp]
    hits: Table
    counts: tuple[Table, ...]


def tallies(
    matches: Matches,
    hit: NDArray[np.bool_],
    *masks: NDArray[np.bool_],
    whole_ties: bool = False,
    unknown: bool = False,
) -> Iterator[Tally]:
    """The tally of every known class that has detections, and of unknown if asked for.

    Args:
        matches: Matched detections.
        hit: Which detections recall counts.
        masks: What else to count.
        whole_ties: Count `masks` to the last detection of equal score: a threshold keeps them all.
        unknown: Whether the class "unknown" is among the classes.
    """
    hits = np.flatnonzero(hit)
    first = np.searchsorted(hits, matches.class_start)
    for klass in range(matches.n_known + unknown):
        low, high = (int(x) for x in matches.class_start[klass : klass + 2])
        if low == high:
            continue
        stops = np.concatenate([[low], hits[first[klass] : first[klass + 1]]])
        ends = _tie_ends(matches.score, stops, low, high) if whole_ties else stops
        section = slice(low, high)
        for columns in _blocks(matches):
            count = _Counter(matches, section, columns)
            rest = tuple(count(mask[section], ends - low) for mask in masks)
            yield Tally(klass, columns, stops, count(hit[section], stops - low), rest)


def positives_of(matches: Matches, tally: Tally) -> NDArray[Any]:
    """Objects of a tally's class, one number per column."""
    return np.atleast_1d(matches.positives[tally.klass])[tally.columns]


def n_columns(matches: Matches) -> int:
    """Columns of a tally: one, or one per resample."""
    return 1 if matches.weights is None else matches.weights.shape[1]


def _blocks(matches: Matches) -> Iterator[slice]:
    for begin in range(0, n_columns(matches), BLOCK):
        yield slice(begin, min(begin + BLOCK, n_columns(matches)))


@dataclass(frozen=True, slots=True)
class _Counter:
    """Cumulates masks over one class and one block of resamples."""

    matches: Matches
    section: slice
    columns: slice

    def __call__(self, mask: NDArray[np.bool_], at: NDArray[np.intp]) -> Table:
        if self.matches.weights is None:
            return np.asarray(np.cumsum(mask)[at][:, None])
        size = np.array([0, len(mask)], np.int64)
        return kernels.cumulate(
            size,
            self.matches.image[self.section],
            mask.view(np.uint8),
            self.matches.weights[:, self.columns],
            at.astype(np.int32),
            1,
        )[:, 0]


def _tie_ends(
    score: NDArray[np.float64], stops: NDArray[np.intp], low: int, high: int
) -> NDArray[np.intp]:
    falling = -score[low:high]
    return np.asarray(np.searchsorted(falling, -score[stops], side="right") - 1 + low)


def first_reaching(tally: Tally, positives: NDArray[Any], recall: float) -> NDArray[np.intp]:
    """Per column, the first stop whose recall reaches a level; -1 where none does."""
    with np.errstate(invalid="ignore", divide="ignore"):
        reached = tally.hits / positives >= recall
    return np.where(reached[-1], reached.argmax(axis=0), -1)


def nearest(tally: Tally, positives: NDArray[Any], recall: float) -> NDArray[np.intp]:
    """Per column, the first stop whose recall is nearest to a level.

    Without objects recall is NaN everywhere and published code ends at the first detection.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(tally.hits / positives - recall)
    return np.asarray(np.where(np.isnan(gap), np.inf, gap).argmin(axis=0))


def pick(counts: Table, stop: NDArray[np.intp]) -> NDArray[Any]:
    """One count per column, at that column's stop."""
    return np.asarray(counts[stop, np.arange(counts.shape[1])])
