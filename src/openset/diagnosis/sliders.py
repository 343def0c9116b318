"""Sliders: everything the page needs to count a flow at any position of its sliders.

Thresholds stand on a ladder of levels. Of a box only the number of rungs it clears is kept, so that
the page compares small integers and its counts are exactly those of `flow.operating_flow`, which
is the specification, at the level's value. This file is its encoding, which ``counting.js`` of the
report counts in the browser; tests hold the three equal.

A box with `s` rungs of score and `u` rungs of the second threshold is kept at position (i, j) if
``s > i``, and is then called unknown if ``u > j``, else by its known class. Boxes labelled unknown
have no other name: they take no part where they would be called known.

Boxes that speak of no object are grouped and counted. Of those that do, an object needs only the
ones that no other box makes redundant (the Pareto front of score and `u`), which also say what it
is called: by the best-scored box that is kept. So a page of half a million boxes stays small, and
nothing is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.flow import (
    MISSED,
    NO_PART,
    NOTHING,
    RIGHT,
    UNKNOWN,
    WRONG,
    Flow,
    targets,
)
from openset.matching import Matches

RUNGS = 201
ALWAYS = 255  # rungs of a box that a slider does not concern

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Claims:
    """What boxes say about objects: for every object a run of claims, its size in `sizes`.

    Attributes:
        sizes: Claims per object.
        s: Rungs of score; the best-scored claim of an object comes first.
        u: Rungs of the second threshold.
        klass: The class that the box is labelled with.
    """

    sizes: Bytes
    s: Bytes
    u: Bytes
    klass: NDArray[np.uint16]

    @cached_property
    def object(self) -> NDArray[np.intp]:
        """The object of each claim."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@dataclass(frozen=True, eq=False)
class Sliders:
    """One detector's boxes and objects, as rungs.

    Attributes:
        score: Levels of the first slider, ascending.
        second: Levels of the second slider, ascending.
        by_score: Whether the second threshold is the minimum score of boxes labelled unknown.
        unknown: Per object that counts: its role.
        wild: Per object that counts: whether its image is wild.
        right: Claims by boxes of the object's class, which hold while these are called known.
        wrong: Claims by boxes of another known class, likewise.
        alien: Claims by boxes called unknown.
        boxes: Groups of boxes: s, u, flags (1 labelled unknown, 2 on a wild image, 4 on the
            background when called known, 8 the same when called unknown, 16 takes part when called
            known, 32 when called unknown).
        times: How many boxes are in each group.
        closed_images: Closed-set images.
        wild_images: Wild images.
    """

    score: NDArray[np.float64]
    second: NDArray[np.float64]
    by_score: bool
    unknown: NDArray[np.bool_]
    wild: NDArray[np.bool_]
    right: Claims
    wrong: Claims
    alien: Claims
    boxes: Bytes
    times: NDArray[np.uint32]
    closed_images: int
    wild_images: int

    @property
    def ratio(self) -> float:
        """Wild images per closed-set image of the data."""
        return self.wild_images / self.closed_images if self.closed_images else 0.0

    @property
    def rest(self) -> int:
        """The position of the second slider that changes nothing."""
        return 0 if self.by_score else len(self.second) - 1

    @property
    def labels_unknown(self) -> bool:
        """Whether some box is labelled unknown."""
        return bool((self.boxes[:, 2] & 1).any())

    @property
    def says_unknown(self) -> bool:
        """Whether the second slider does anything: some box is, or can be, called unknown."""
        return not self.by_score or self.labels_unknown

    @cached_property
    def _role(self) -> Bytes:
        """Per object: 2 if it is unknown, and 1 more if its image is wild."""
        return self.unknown * np.uint8(2) + self.wild

    @cached_property
    def along_score(self) -> tuple[Flow, ...]:
        """The flow at every position of the first slider, the second at rest."""
        return tuple(self.count(i, self.rest) for i in range(len(self.score)))

    def count(self, i: int, j: int, weight: float = 1.0) -> Flow:
        """The flow at two positions, with wild images counted `weight` times."""
        right, wrong, alien = (
            claims.object[(claims.s > i) & ((claims.u > j) == unknown)]
            for claims, unknown in ((self.right, False), (self.wrong, False), (self.alien, True))
        )
        fate = np.full(len(self.unknown), MISSED, np.uint8)
        fate[alien] = UNKNOWN
        doubted = fate[wrong] == UNKNOWN  # claims beside a box that calls the same object unknown
        fate[wrong], fate[right] = WRONG, RIGHT
        once = np.array([1.0, weight])
        cell = self._role * 4 + fate
        known, unknown = (once @ np.bincount(cell, minlength=16).reshape(2, 2, 4)).tolist()
        both = np.bincount(self._role[np.unique(wrong[doubted])], minlength=4)[2:]
        return Flow(
            known_right=known[RIGHT],
            known_wrong=known[WRONG],
            known_unknown=known[UNKNOWN],
            known_missed=known[MISSED],
            unknown_unknown=unknown[UNKNOWN],
            unknown_wrong=unknown[WRONG],
            unknown_missed=unknown[MISSED],
            unknown_both=float(both @ once),
            images=self.closed_images + weight * self.wild_images,
            **self._count_boxes(i, j, weight),
        )

    def _count_boxes(self, i: int, j: int, weight: float) -> dict[str, float]:
        s, u, flags = self.boxes.T
        kept = s > i
        above, flags, times = u[kept] > j, flags[kept], self.times[kept]
        # How many boxes have which flags, by whether they are called unknown.
        known, unknown = (
            np.bincount(flags[mask], times[mask], minlength=64) for mask in (~above, above)
        )
        return {
            "background_wrong": _flagged(known, 4, weight),
            "background_unknown": _flagged(unknown, 8, weight),
            "boxes_known": _flagged(known, 16, weight),
            "boxes_unknown": _flagged(unknown, 32, weight),
        }


_FLAGS = np.arange(64)


def _flagged(boxes: NDArray[np.number], flag: int, weight: float) -> float:
    """Boxes with a flag, those on wild images counted `weight` times."""
    has, wild = _FLAGS & flag != 0, _FLAGS & 2 != 0
    return float(boxes[has & ~wild].sum() + weight * boxes[has & wild].sum())


def sliders(matches: Matches, score: NDArray[np.float64]) -> Sliders:
    """Encode matched detections on a ladder of score levels (`score_levels`)."""
    by_score = matches.unknownness is None
    second = score if by_score else second_levels(matches)
    s, u = rungs(matches, score, second)
    target = targets(matches)
    counts = ~matches.objects.ignored
    place = np.append(np.cumsum(counts) - 1, [0, 0])
    named, alien = np.flatnonzero(target.known >= 0), np.flatnonzero(target.unknown >= 0)
    fits = matches.objects.klass[target.known[named]] == matches.klass[named]
    n = int(counts.sum())

    def claims(rows: NDArray[np.intp], objects: NDArray[np.int32], *, large_u: bool) -> Claims:
        good = u[rows].astype(np.int64) * (1 if large_u else -1)
        rows = rows[_front(place[objects[rows]], matches.score[rows], good)]
        sizes = np.bincount(place[objects[rows]], minlength=n).astype(np.uint8)
        return Claims(sizes, s[rows], u[rows], matches.klass[rows].astype(np.uint16))

    boxes, times = _groups(matches, s, u, target)
    return Sliders(
        score=score,
        second=second,
        by_score=by_score,
        unknown=(matches.objects.klass == matches.n_known)[counts],
        wild=matches.wild[matches.objects.image][counts],
        right=claims(named[fits], target.known, large_u=False),
        wrong=claims(named[~fits], target.known, large_u=False),
        alien=claims(alien, target.unknown, large_u=True),
        boxes=boxes,
        times=times,
        closed_images=int((~matches.wild).sum()),
        wild_images=int(matches.wild.sum()),
    )


def score_levels(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ladder of scores: 0 to 1 in steps of 0.005, or the range of the scores if they leave it.

    >>> score_levels(np.array([0.2, 0.9]))[[0, 1, 200]].tolist()
    [0.0, 0.005, 1.0]
    """
    low, high = float(scores.min(initial=0.0)), float(scores.max(initial=1.0))
    if low >= 0 and high <= 1:
        return np.arange(RUNGS) / (RUNGS - 1)
    return np.linspace(low, high, RUNGS)


def second_levels(matches: Matches) -> NDArray[np.float64]:
    """The ladder of unknownness: quantiles, from "everything is unknown" to "nothing is"."""
    values = matches.unknownness
    if values is None or not len(values):
        return np.zeros(1)
    inner = np.quantile(values, np.linspace(0, 1, RUNGS - 1), method="inverted_cdf")
    return np.unique(np.append(inner, np.nextafter(inner[0], -np.inf)))


def rungs(
    matches: Matches, score: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[Bytes, Bytes]:
    """Rungs of each box on both ladders."""
    s = np.searchsorted(score, matches.score, side="right")
    said = matches.labelled_unknown
    if matches.unknownness is None:
        return np.where(said, ALWAYS, s).astype(np.uint8), np.where(said, s, 0).astype(np.uint8)
    u = np.searchsorted(second, matches.unknownness, side="left")
    return s.astype(np.uint8), np.where(said, ALWAYS, u).astype(np.uint8)


def _front(
    objects: NDArray[np.intp], score: NDArray[np.float64], good: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Per object, the claims that no other claim outlasts under both sliders, best score first.

    Of equal scores the later box comes first: it is the one that names the object.
    """
    order = np.lexsort((-np.arange(len(objects)), -score, objects))
    # Falling scores within an object: a claim stays if its `good` beats all before it. Objects are
    # set apart by an offset larger than the range of `good`, so that one running maximum serves.
    lifted = good[order] + objects[order].astype(np.int64) * 1024
    before = np.maximum.accumulate(lifted)
    stays = np.ones(len(objects), np.bool_)
    stays[1:] = lifted[1:] > before[:-1]
    return order[stays]


def _groups(
    matches: Matches, s: Bytes, u: Bytes, target: tuple[NDArray[np.int32], NDArray[np.int32]]
) -> tuple[Bytes, NDArray[np.uint32]]:
    known, unknown = target
    flags = (
        matches.labelled_unknown * 1
        + matches.wild[matches.image] * 2
        + (known == NOTHING) * 4
        + (unknown == NOTHING) * 8
        + (known != NO_PART) * 16
        + (unknown != NO_PART) * 32
    )
    key = (s.astype(np.int64) << 16) | (u.astype(np.int64) << 8) | flags
    found, times = np.unique(key, return_counts=True)
    columns = [found >> 16, found >> 8 & 255, found & 255]
    return np.stack(columns, axis=1).astype(np.uint8), times.astype(np.uint32)
