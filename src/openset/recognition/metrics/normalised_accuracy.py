"""Normalised accuracy: a weighted mean of the accuracies on known and on unknown samples.

It looks at unknown samples, but as printed it can still grow when all of them are accepted
(inconsistency property II, `docs/metrics-flaws.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from openset.findings import UsageError
from openset.metrics import Value, metric
from openset.plugins import lookup
from openset.recognition.answers import Answers, ratio
from openset.recognition.metrics._threshold import at_threshold
from openset.recognition.scores import Scores

PAPER = "Mendes Júnior et al., Nearest Neighbors Distance Ratio Open-Set Classifier, 2017"
Aks = Literal["printed", "accuracy"]
Aus = Literal["precision", "recall"]


@metric("normalised_accuracy", title="normalised accuracy", paper=PAPER)
def normalised_accuracy(
    scores: Scores,
    *,
    threshold: float | None = None,
    weight: float = 0.5,
    aks: Aks = "printed",
    aus: Aus = "precision",
    empty: float = 0.0,
) -> Value:
    """`weight` · AKS + (1 - `weight`) · AUS, the accuracies on known and on unknown samples.

    Both have two readings. AKS as printed (OpenAUC, Eq. 6) is ``Σ(TP + TN) / Σ(TP + TN + FP + FN)``
    over the C known classes: true negatives dominate, and with many classes it is near 1 for any
    model. ``aks="accuracy"`` is the share of known samples accepted and named correctly. AUS as
    printed is the *precision* of "unknown"; its name says ``aus="recall"``, the share of unknown
    samples rejected. Where nothing is rejected that precision is 0 / 0: `empty` says what it is
    then, and decides whether rejecting nothing pays.
    """
    if not 0 <= weight <= 1:
        raise UsageError(f"weight must be from 0 to 1, not {weight}")
    number = _mean(aks, aus, weight, empty)
    params: dict[str, Any] = {"weight": weight, "aks": aks, "aus": aus, "empty": empty}
    return at_threshold(scores, threshold, number, **params)


@cache
def _mean(aks: Aks, aus: Aus, weight: float, empty: float) -> Callable[[Answers], Any]:
    """The metric with its readings chosen; one function per choice."""
    known, unknown = lookup(_AKS, aks, "value of aks:"), lookup(_AUS, aus, "value of aus:")
    return lambda answers: weight * known(answers) + (1 - weight) * unknown(answers, empty)


def _printed(answers: Answers) -> Any:
    missed = answers.n_known - answers.true
    total = answers.n_known + answers.n_unknown
    return 1 - (answers.false + missed) / (answers.n_classes * total)


def _accuracy(answers: Answers) -> Any:
    return answers.true / answers.n_known


def _precision(answers: Answers, empty: float) -> Any:
    return ratio(answers.rejected, answers.rejected + answers.rejected_known, empty)


def _recall(answers: Answers, empty: float) -> Any:
    return answers.rejected / answers.n_unknown


_AKS = {"printed": _printed, "accuracy": _accuracy}
_AUS = {"precision": _precision, "recall": _recall}
