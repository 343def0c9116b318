"""Pairs: what metrics of a ranking share: checks, ties, the count of pairs in the right order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.metrics import Value
from openset.plugins import lookup
from openset.ranking import concordant
from openset.recognition.ranking import AnswerRanking
from openset.recognition.scores import Scores

Ties = Literal["half", "strict", "all"]
_TIES = {"half": 0.5, "strict": 0.0, "all": 1.0}


def lacking(scores: Scores, *, unknown: bool = True) -> str:
    """Why there can be no number, or nothing."""
    if not scores.n_known:
        return "there is no known sample"
    return "there is no unknown sample" if unknown and not scores.n_unknown else ""


def measure(scores: Scores, function: Callable[[AnswerRanking], Any], **params: Any) -> Value:
    """A number of the ranking, or of every resample of it."""
    why = lacking(scores)
    if why:
        return Value.missing(why, params=params)
    number = function(scores.drawn)
    if scores.weights is not None:
        return Value(np.asarray(number, np.float64))
    return Value(float(number), count=scores.n_known + scores.n_unknown, params=params)


def ordered(ranking: AnswerRanking, ties: Ties, *, correct: bool, ofpr: float = 1.0) -> Any:
    """Share of pairs (known, unknown) whose known sample counts and looks less unknown.

    Args:
        ranking: The samples.
        ties: What a pair of equal openness is worth: a half, nothing, or one.
        correct: Whether only known samples count that are classified correctly.
        ofpr: Only the unknown samples that look least unknown, up to this share of them.
    """
    worth = lookup(_TIES, ties, "value of ties:")
    level = ranking.correct if correct else ranking.known
    up_to = ranking.correct_up_to if correct else ranking.known_up_to
    above, limit = ranking.unknown, ofpr * ranking.n_unknown
    if ofpr < 1:
        above, part = _first(ranking, limit)
        if ties == "half":  # the curve rises with a straight line, which the limit may cut
            level = level * part
    return concordant(level, up_to, above, worth) / (ranking.n_known * limit)


def _first(ranking: AnswerRanking, limit: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first `limit` unknown samples of each level, the last in part, and which part of it."""
    first = np.diff(np.minimum(ranking.unknown_up_to, limit), axis=0)
    return first, first / np.maximum(ranking.unknown, 1)


def share_in(name: str, value: float) -> float:
    """A share above 0 and up to 1, or a refusal."""
    if not 0 < value <= 1:
        raise UsageError(f"{name} must be above 0 and at most 1, not {value}")
    return float(value)
