"""Greedy COCO matching in NumPy.

A detection takes the best free object, in order of score, separately at each threshold: one bit
per threshold of a mask. Images and classes do not interact, so step s handles the s-th pair of
every image and class, in all size ranges, at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.kernels.match import Problem
from openset.kernels.numpy_twins.sorting import counting_argsort, place_in_run, run_starts


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a detection, by its row among those grouped by image, and an object."""

    row: NDArray[np.intp]
    object: NDArray[np.int32]
    iou: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Detections that may match; see `openset.kernels.MatchColumns`."""

    row: NDArray[np.intp]
    matched: NDArray[np.uint16]
    ignored: NDArray[np.uint16]
    object: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Trials:
    """Pairs in all size ranges, in the order in which they are tried.

    Attributes:
        candidate: Index of the candidate, plus range times the number of candidates.
        object: Index of the object, plus range times the number of objects.
        mask: Thresholds that the pair reaches.
        ignored: Whether the object is ignored in this range.
        step: When the pair is tried.
    """

    candidate: NDArray[np.intp]
    object: NDArray[np.intp]
    mask: NDArray[np.uint16]
    ignored: NDArray[np.bool_]
    step: NDArray[np.intp]


def no_pairs(problem: Problem) -> Pairs:
    """Return an empty list of pairs."""
    return Pairs(np.empty(0, np.intp), np.empty(0, np.int32), np.empty(0, problem.columns.x1.dtype))


def concatenate(parts: list[Pairs]) -> Pairs:
    """Join lists of pairs."""
    return Pairs(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.object for part in parts]),
        np.concatenate([part.iou for part in parts]),
    )


def real_thresholds(problem: Problem) -> NDArray[Any]:
    """Thresholds in the precision of the boxes; a perfect overlap reaches threshold 1."""
    return np.minimum(problem.thresholds, 1 - 1e-10).astype(problem.columns.x1.dtype)


def match(problem: Problem, cell: NDArray[np.int64], pairs: Pairs) -> Candidates:
    """Match greedily, given the pairs of one class that reach the lowest threshold."""
    pairs = _by_preference(problem, pairs)
    starts = run_starts(pairs.row)
    row, candidate = pairs.row[starts], np.cumsum(starts) - 1
    mask = np.zeros(len(candidate), np.uint16)
    for t, threshold in enumerate(real_thresholds(problem)):
        mask |= (pairs.iou >= threshold).astype(np.uint16) << np.uint16(t)
    step = place_in_run(run_starts(cell[pairs.row]))
    trials = _join([*_trials(problem, pairs, candidate, mask, step)])
    won = _play(problem, len(row), trials)
    return _collect(problem, row, trials, won)


def _by_preference(problem: Problem, pairs: Pairs) -> Pairs:
    """Sort each detection's pairs by falling overlap, equal ones as the rule says."""
    tie = -pairs.object if problem.prefer_later else pairs.object
    order = np.lexsort((tie, -pairs.iou, pairs.row))
    return Pairs(pairs.row[order], pairs.object[order], pairs.iou[order])


def _trials(
    problem: Problem,
    pairs: Pairs,
    candidate: NDArray[np.intp],
    mask: NDArray[np.uint16],
    step: NDArray[np.intp],
) -> Iterator[Trials]:
    objects = problem.objects
    n_candidates = int(candidate[-1]) + 1 if len(candidate) else 0
    for number, (low, high) in enumerate(problem.size_ranges):
        outside = (objects.size < low) | (objects.size > high)
        ignored = (objects.ignore | outside)[pairs.object]
        # A detection tries all counted objects before the ignored ones.
        order = counting_argsort(candidate * 2 + ignored, 2 * n_candidates)
        yield Trials(
            candidate=candidate[order] + number * n_candidates,
            object=pairs.object[order].astype(np.intp) + number * len(objects.image),
            mask=mask[order],
            ignored=ignored[order],
            step=step,
        )


def _join(parts: list[Trials]) -> Trials:
    """Merge the size ranges and sort by step."""
    step = np.concatenate([part.step for part in parts])
    order = counting_argsort(step, int(step.max(initial=0)) + 1)
    return Trials(
        np.concatenate([part.candidate for part in parts])[order],
        np.concatenate([part.object for part in parts])[order],
        np.concatenate([part.mask for part in parts])[order],
        np.concatenate([part.ignored for part in parts])[order],
        step[order],
    )


def _play(problem: Problem, n_candidates: int, trials: Trials) -> NDArray[np.uint16]:
    """Return the thresholds at which each trial is won."""
    n_ranges = len(problem.size_ranges)
    everything = np.uint16((1 << len(problem.thresholds)) - 1)
    wanted = np.full(n_candidates * n_ranges, everything, np.uint16)
    free = np.full(len(problem.objects.image) * n_ranges, everything, np.uint16)
    endless = np.where(problem.objects.region, everything, np.uint16(0))
    endless = np.tile(endless, n_ranges)  # a region is free for everyone
    won = np.empty(len(trials.mask), np.uint16)
    ends = np.searchsorted(trials.step, np.arange(int(trials.step.max(initial=-1)) + 2))
    for begin, end in itertools.pairwise(ends):
        now = slice(begin, end)
        candidate, obj = trials.candidate[now], trials.object[now]
        open_, left = wanted[candidate], free[obj]
        got = open_ & left & trials.mask[now]
        wanted[candidate] = open_ & ~got
        free[obj] = left & ~got | endless[obj]
        won[now] = got
    return won


def _collect(
    problem: Problem, row: NDArray[np.intp], trials: Trials, won: NDArray[np.uint16]
) -> Candidates:
    n, n_ranges, n_thresholds = len(row), len(problem.size_ranges), len(problem.thresholds)
    success = np.flatnonzero(won)
    candidate, won = trials.candidate[success], won[success]
    ignored = trials.ignored[success]
    # A candidate wins each threshold at most once: adding masks is the same as or-ing them.
    counted = np.bincount(candidate, np.where(ignored, 0, won), minlength=n * n_ranges)
    uncounted = np.bincount(candidate, np.where(ignored, won, 0), minlength=n * n_ranges)
    matched_object = np.full((n, n_thresholds), -1, np.int32)
    in_first = np.flatnonzero(candidate < n)
    for t in range(n_thresholds):
        here = in_first[(won[in_first] >> np.uint16(t)) & np.uint16(1) != 0]
        matched_object[candidate[here], t] = trials.object[success[here]]
    return Candidates(
        row=row,
        matched=_by_candidate(counted, n_ranges, n),
        ignored=_by_candidate(uncounted, n_ranges, n),
        object=matched_object,
    )


def _by_candidate(masks: NDArray[Any], n_ranges: int, n: int) -> NDArray[np.uint16]:
    return np.ascontiguousarray(masks.reshape(n_ranges, n).T.astype(np.uint16))
