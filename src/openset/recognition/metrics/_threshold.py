"""Threshold: how metrics that need one get it, and what they then say.

In this order: the one asked for, the one that the scores carry, or the one at which the metric is
best on these very samples. The last is what published code reports; it is optimistic, and the value
says so. An interval is taken at the same threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.metrics import Value
from openset.recognition.answers import Answers, answers_at
from openset.recognition.metrics._pairs import lacking
from openset.recognition.scores import Scores

NAMES_NEEDED = "the class named for unknown samples is not known"
BEST = "best on these samples"


def at_threshold(
    scores: Scores,
    threshold: float | None,
    number: Callable[[Answers], Any],
    *,
    needs_names: bool = False,
    **params: Any,
) -> Value:
    """A metric at a threshold.

    Args:
        scores: The scores.
        threshold: The one asked for, or None.
        number: The metric, from the counts at one threshold or at every one.
        needs_names: Whether it needs the classes that unknown samples are named.
        **params: Parameters to record.
    """
    why = lacking(scores)
    if not why and needs_names and scores.unknown_predicted is None:
        why = NAMES_NEEDED
    if why:
        return Value.missing(why, params=params)
    chosen, how = _threshold(scores, threshold, number, needs_names)
    counts = answers_at(scores, chosen)
    found = number(counts)
    if scores.weights is not None:
        return Value(np.asarray(found, np.float64))
    shown = {"threshold": chosen, "chosen": how, **params}
    parts = {
        "unknown_rejected": float(counts.rejected / counts.n_unknown),
        "known_rejected": float(counts.rejected_known / counts.n_known),
    }
    return Value(float(found), count=scores.n_known + scores.n_unknown, params=shown, parts=parts)


def _threshold(
    scores: Scores, asked: float | None, number: Callable[[Answers], Any], by_class: bool
) -> tuple[float, str]:
    if asked is not None:
        return float(asked), "asked for"
    if scores.threshold is not None:
        return scores.threshold, "of the classifier"
    if number not in scores.best:
        # Means over classes are running sums over all thresholds; the others are had in parts.
        parts = [scores.sweep] if by_class else scores.sweep.parts()
        scores.best[number] = scores.threshold_at(_best(map(number, parts)))
    return scores.best[number], BEST


def _best(parts: Iterable[NDArray[np.float64]]) -> int:
    """The place of the largest number, the first of equals, over parts that follow each other."""
    best, place, start = -np.inf, 0, 0
    for numbers in parts:
        at = int(np.argmax(numbers))
        if numbers[at] > best:
            best, place = float(numbers[at]), start + at
        start += len(numbers)
    return place
