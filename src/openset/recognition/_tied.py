"""Ties: openness of so few values that which sample ranks higher is often left open.

A pair of a known and an unknown sample with one openness counts one half. Where such pairs leave
the area under the ROC curve further open than chance does, the numbers are of the file, not of the
classifier: it was rounded, or is a probability that reaches 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.ranking import area_under_roc
from openset.recognition.scores import Scores

_WIDE = 1.96  # standard deviations of an area: half of its 95 % interval
_DIGITS = 4  # decimals; of more, no test set is large enough to be hurt
_EXACT = 1e-6  # of a step: what single precision makes of a number that was rounded
_SATURATES = (
    "a probability that reaches 1, as a softmax in single or half precision does",
    "take the largest logit or the energy, which do not saturate; nothing, if there is no other",
)
_BY_NATURE = "write openness with all its digits; nothing, if it has so few values by its nature"


def often_tied(scores: Scores) -> Finding | None:
    """OS831, if ties leave the area under the ROC curve further open than chance does.

    Two values are a decision (OS824), and one tells nothing (OS805).
    """
    known, unknown = scores.n_known, scores.n_unknown
    if not known or not unknown or len(scores.ranking) < 3:
        return None
    area, tied = float(area_under_roc(scores.ranking)), _tied_pairs(scores)
    if tied / 2 <= _WIDE * _deviation(area, known, unknown):
        return None
    every = np.concatenate([scores.openness, scores.unknown_openness])
    values, counts = np.unique(every, return_counts=True)
    most = int(counts.argmax())
    decimals = _decimals(values)
    low, high = 100 * (area - tied / 2), 100 * (area + tied / 2)
    said = f"openness has {len(values)} values in {len(every)} samples, {_said(decimals)}"
    said += f"{tied:.1%} of pairs of a known and an unknown sample are tied and count one half: "
    said += f"AUC may be anything from {low:.1f} to {high:.1f} %, and OpenAUC likewise"
    example = f"{counts[most]} samples have the openness {values[most]:g}"
    count = int(counts[counts > 1].sum())
    if decimals is None or decimals == 0:  # whole numbers are mostly counts: votes, neighbours
        cause, fix = _SATURATES if decimals is None else ("few values, such as votes", _BY_NATURE)
        return Finding("OS831", Level.NOTE, said, count, example, cause, fix)
    cause = f"openness was rounded to {decimals} decimals where it was written (%.{decimals}f)"
    return Finding("OS831", Level.WARNING, said, count, example, cause)


def _said(decimals: int | None) -> str:
    return f"none with more than {decimals} decimals; " if decimals else ""


def _tied_pairs(scores: Scores) -> float:
    """The share of pairs of a known and an unknown sample that have one openness."""
    ranking = scores.ranking
    pairs = ranking.known.astype(np.int64) @ ranking.unknown.astype(np.int64)
    return float(pairs / (scores.n_known * scores.n_unknown))


def _deviation(area: float, known: int, unknown: int) -> float:
    """Standard deviation of an area under the ROC curve (Hanley and McNeil, Radiology 1982)."""
    one, two = area / (2 - area), 2 * area * area / (1 + area)
    spread = area * (1 - area) + (unknown - 1) * (one - area**2) + (known - 1) * (two - area**2)
    return float(max(spread, 0.0) / (known * unknown)) ** 0.5


def _decimals(values: NDArray[np.float64]) -> int | None:
    """How many decimals all of some values were rounded to; None if they were not."""
    if not np.isfinite(values).all():
        return None
    for digits in range(_DIGITS + 1):
        steps = values * 10.0**digits
        if (np.abs(steps - np.round(steps)) <= _EXACT * np.maximum(np.abs(steps), 1)).all():
            return digits
    return None
