"""Transfer: what becomes of a threshold that was chosen at one wilderness ratio, at another.

Table 4 of Dhamija et al. (WACV 2020, supplement) shows that the threshold with the best F-beta
moves with the wilderness. A deployed detector does not move with it: its thresholds were chosen on
closed-set images, or on a little wilderness, and are judged by what comes. Here each known class
gets its threshold at a ratio, by F-beta or by a recall on closed-set images, and is read at others;
beside F stands the best that the class could have there, and the difference is what the choice
costs.

The table of the paper prints 1.25 P R for F0.5, without its denominator; here F is the printed
formula of section 5.2. Not an average precision, and a threshold chosen and judged at the same
ratio is optimistic: it saw the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._points import (
    chosen_images,
    ends_at_recall,
    objects_per_class,
    thresholds_of,
)
from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.operating_point import operating_points
from openset.findings import UsageError
from openset.matching import Matches

ALL = "all"
Threshold = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """A class at a threshold, at another ratio than that was chosen at.

    Attributes:
        label: The class, or ``all`` for the mean over classes.
        rule: How the threshold was chosen: ``F1``, ``recall 0.3`` ...
        chosen_at: Wilderness ratio at which.
        judged_at: Wilderness ratio at which it is judged, None for all images.
        threshold: The score; None for the mean.
        precision: Precision there; None where nothing is kept.
        recall: Recall there.
        f: F-beta there, None for a choice by recall.
        best_f: The best that the class could have there.
        lost: What the choice costs: the difference.
    """

    label: str
    rule: str
    chosen_at: float
    judged_at: float | None
    threshold: float | None
    precision: float | None
    recall: float
    f: float | None
    best_f: float | None

    @property
    def lost(self) -> float | None:
        """What the choice costs in F."""
        return None if self.f is None or self.best_f is None else self.best_f - self.f


@dataclass(frozen=True)
class Transfer(Diagnosis):
    """Thresholds and what becomes of them; means over classes first, then what loses most."""

    judged: tuple[Judged, ...]
    left_out: int

    def rows(self) -> list[Row]:
        """One row per choice, judgement and class."""
        means = [one for one in self.judged if one.label == ALL]
        classes = [one for one in self.judged if one.label != ALL]
        classes.sort(key=lambda one: -(one.lost or 0.0))
        return [{"class": row.pop("label"), **row} for row in map(_row, (*means, *classes))]

    def notes(self) -> list[str]:
        """What "all" is, and who is not in it."""
        notes = ["all: the mean over the classes that have a threshold at that choice"]
        if self.left_out:
            notes.append(f"known classes without a threshold at some recall: {self.left_out}")
        return notes


def _row(one: Judged) -> Row:
    return {**asdict(one), "lost": one.lost}


def transfer(
    matches: Matches,
    *,
    chosen_at: Sequence[float] = (0.0,),
    judged_at: Sequence[float | None] = (0.0, None),
    betas: Sequence[float] = (1.0,),
    recalls: Sequence[float] = (),
) -> Transfer:
    """Judge thresholds of one wilderness ratio at others.

    Args:
        matches: Matched detections.
        chosen_at: Ratios at which the thresholds of best F-beta are chosen; 0 is the closed set.
        judged_at: Ratios at which they are judged; None for all images.
        betas: Above 1 recall counts more, below 1 precision.
        recalls: Also choose thresholds by these recalls, on closed-set images.

    Raises:
        UsageError: No image is wild, so that there is nothing to transfer to.
    """
    if not matches.wild.any():
        raise UsageError("no image is wild: a threshold has no other ratio to be judged at")
    found: list[Judged] = []
    for beta in betas:
        for ratio in chosen_at:
            level = _best(matches, beta, ratio)[0]
            found += _judge_all(matches, _Choice(f"F{beta:g}", ratio, beta, level), judged_at)
    left_out = 0
    for recall in recalls:
        level = thresholds_of(matches, ends_at_recall(matches, recall))
        left_out = max(left_out, int(np.isnan(level).sum()))
        found += _judge_all(matches, _Choice(f"recall {recall:g}", 0.0, None, level), judged_at)
    return Transfer(tuple(found), left_out)


@question(
    "transfer",
    title="Threshold transfer",
    paper="Dhamija et al., WACV 2020, Table 4",
    reads=("recalls", "ratios", "chosen_at", "betas"),
)
def at_other_ratios(one: Deployed) -> Transfer:
    """What thresholds chosen at one wilderness ratio, by default 0, do at others."""
    view = one.view
    return transfer(
        one.matches,
        chosen_at=view.chosen_at,
        judged_at=view.ratios or (0.0, None),
        betas=view.betas or (1.0,),
        recalls=view.recalls,
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    """Thresholds per class (NaN: none), and by what they were chosen."""

    rule: str
    ratio: float
    beta: float | None
    level: Threshold


def _judge_all(matches: Matches, choice: _Choice, ratios: Sequence[float | None]) -> list[Judged]:
    return [one for ratio in ratios for one in _judge(matches, choice, ratio)]


def _judge(matches: Matches, choice: _Choice, ratio: float | None) -> list[Judged]:
    """Every class that has a threshold at a ratio, and their mean before them."""
    hits, kept, objects = _counts(matches, choice.level, ratio)
    best = None if choice.beta is None else _best(matches, choice.beta, ratio)[1]
    found = []
    for at in np.flatnonzero(~np.isnan(choice.level) & (objects > 0)):
        right, n, there = int(hits[at]), int(kept[at]), int(objects[at])
        f = None if choice.beta is None else _f(right, n, there, choice.beta)
        found.append(
            Judged(
                matches.vocabulary.known[at],
                choice.rule,
                choice.ratio,
                ratio,
                float(choice.level[at]),
                right / n if n else None,
                right / there,
                f,
                None if best is None else float(best[at]),
            )
        )
    return [_mean(found), *found] if found else []


def _f(hits: int, kept: int, objects: int, beta: float) -> float:
    weight = beta**2
    return (1 + weight) * hits / (kept + weight * objects)


def _counts(
    matches: Matches, level: Threshold, ratio: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per known class: right and kept detections at its threshold, and objects."""
    images, outcome, end = chosen_images(matches, ratio), matches.outcome(), matches.known_end
    klass = matches.klass[:end]
    keep = (matches.score[:end] >= level[klass]) & images[matches.image[:end]]
    keep &= ~outcome.ignored[:end]
    n = matches.n_known
    hits = np.bincount(klass[keep & outcome.correct[:end]], minlength=n)
    return hits, np.bincount(klass[keep], minlength=n), objects_per_class(matches, images)[:-1]


def _best(matches: Matches, beta: float, ratio: float | None) -> tuple[Threshold, Threshold]:
    """Per known class: the threshold of best F at a ratio, and that F; NaN where there is none."""
    level, f = np.full((2, matches.n_known), np.nan)
    place = {name: at for at, name in enumerate(matches.vocabulary.known)}
    for point in operating_points(matches, betas=(beta,), ratios=(ratio,)).points:
        level[place[point.label]], f[place[point.label]] = point.threshold, point.f
    return level, f


def _mean(found: Sequence[Judged]) -> Judged:
    def mean(name: str) -> float | None:
        held = [value for one in found if (value := getattr(one, name)) is not None]
        return float(np.mean(held)) if held else None

    first = found[0]
    return Judged(
        ALL,
        first.rule,
        first.chosen_at,
        first.judged_at,
        None,
        mean("precision"),
        mean("recall") or 0.0,
        mean("f"),
        mean("best_f"),
    )
