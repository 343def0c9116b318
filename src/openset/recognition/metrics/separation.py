"""Separation: does openness tell known from unknown samples? Which class is named plays no part.

Novelty detection, the older way to report open-set recognition. A model that confuses all known
classes can have an AUC of 1: read it beside the closed-set accuracy, or read OpenAUC.

``flavour="arpl"`` gives the numbers of ARPL's code, which walks over the samples one by one and
removes known samples first where openness is equal.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.metrics import Value, metric
from openset.plugins import lookup
from openset.recognition.metrics._pairs import Ties, measure, ordered, share_in
from openset.recognition.metrics._walk import area_in, area_out, tnr_nearest
from openset.recognition.ranking import Counts, Ranking
from openset.recognition.scores import Scores

NEAL = "Neal et al., Open Set Learning with Counterfactual Images, ECCV 2018"
ODIN = "Liang et al., Enhancing the Reliability of Out-of-Distribution Image Detection, ICLR 2018"
VAZE = "Vaze et al., A Good Closed-Set Classifier Is All You Need?, ICLR 2022"


@metric("auc", title="AUC", paper=NEAL, headline=True)
def auc(scores: Scores, *, ties: Ties = "half") -> Value:
    """Probability that an unknown sample looks more unknown than a known one.

    ``E[1[r(x_u) > r(x_k)]]``. A tie counts one half (scikit-learn); nothing in ARPL's code
    (``ties="strict"``). Not a recognition metric: the class named for a known sample is ignored.
    """
    return measure(scores, lambda r: ordered(r, ties, correct=False), ties=ties)


@metric("aupr", title="AUPR (unknown positive)", paper=VAZE)
def aupr(
    scores: Scores,
    *,
    positive: Literal["unknown", "known"] = "unknown",
    flavour: Literal["steps", "arpl", "normalised"] = "steps",
) -> Value:
    """Area under the precision-recall curve of "unknown" (or of "known").

    ``steps`` is average precision (scikit-learn). ``arpl`` are the trapezoids of ARPL's AUIN (known
    positive) and AUOUT (unknown positive), with end points of its own. ``normalised`` is the
    variant of OpenAUC's code, which multiplies true positives by the number of positives and false
    ones by that of negatives, where dividing would have cancelled their ratio. All of them depend
    on how many unknown samples there are per known one, so they are not comparable across data.
    """
    lookup(dict.fromkeys(("unknown", "known")), positive, "value of positive:")
    lookup(dict.fromkeys(("steps", "arpl", "normalised")), flavour, "flavour of aupr:")

    def area(ranking: Ranking) -> Any:
        if flavour == "arpl" and scores.weights is None:
            return (area_out if positive == "unknown" else area_in)(ranking)
        even = flavour == "normalised"
        if positive == "known":
            found = ranking.known_up_to[1:], ranking.unknown_up_to[1:]
            return _precision(ranking.known, *found, normalised=even)
        found = ranking.unknown_from(), ranking.known_from()
        return _precision(ranking.unknown[::-1], *found, normalised=even)

    return measure(scores, area, positive=positive, flavour=flavour)


def _precision(positive: Counts, found: Counts, wrong: Counts, *, normalised: bool) -> Any:
    """Average precision, from the positives at each level and all samples up to it."""
    true, false = found.astype(np.float64), wrong.astype(np.float64)
    total = true[-1].copy()
    if normalised:
        true, false = true * total, false * false[-1]
    false += true
    precision = np.divide(true, false, out=true, where=false > 0)  # 0 / 0 is left at 0
    return np.einsum("i...,i...->...", precision, positive) / total


@metric("dtacc", title="detection accuracy", range=(0.5, 1), paper=ODIN)
def dtacc(scores: Scores) -> Value:
    """Best mean of the shares of known samples accepted and of unknown samples rejected.

    ``max_t ½ (TPR + TNR)``, over all thresholds: an upper bound, chosen on the test samples. Not an
    accuracy of classes, and blind to how many samples of each kind there are.
    """

    def best(ranking: Ranking) -> Any:
        gap = ranking.known_up_to / ranking.n_known
        gap -= ranking.unknown_up_to / ranking.n_unknown
        return (1 + gap.max(axis=0)) / 2

    return measure(scores, best)


@metric("tnr_at_95_tpr", title="TNR at 95 % TPR", paper=ODIN, headline=True)
def tnr_at_95_tpr(
    scores: Scores, *, tpr: float = 0.95, flavour: Literal["at_least", "arpl"] = "at_least"
) -> Value:
    """Share of unknown samples rejected while 95 % of the known ones are accepted.

    The largest such share with a true-positive rate of at least `tpr`. ARPL's code takes the rate
    *nearest* to it, which may lie below. One minus this is FPR95 with known as positive;
    codes that take unknown as positive have another number, not this one.
    """
    wanted = share_in("tpr", tpr)
    lookup(dict.fromkeys(("at_least", "arpl")), flavour, "flavour of tnr_at_95_tpr:")

    def rejected(ranking: Ranking) -> Any:
        if flavour == "arpl" and scores.weights is None:
            return tnr_nearest(ranking, wanted)
        reached = _reached(ranking.known_up_to[1:], wanted * ranking.n_known)
        return 1 - _pick(ranking.unknown_up_to[1:], reached) / ranking.n_unknown

    return measure(scores, rejected, tpr=wanted, flavour=flavour)


@metric("accuracy_at_95_tpr", title="detection accuracy at 95 % TPR", paper=VAZE)
def accuracy_at_95_tpr(
    scores: Scores, *, tpr: float = 0.95, flavour: Literal["at_least", "published"] = "at_least"
) -> Value:
    """Accuracy of known against unknown when 95 % of the unknown samples are rejected.

    The highest threshold that rejects at least that share. The published code takes the rate
    *nearest* to 95 % (the last of equals) and then rejects only what lies strictly above that
    threshold (``flavour="published"``; resamples have the other). Depends on how many
    unknown samples there are per known one.
    """
    wanted = share_in("tpr", tpr)
    lookup(dict.fromkeys(("at_least", "published")), flavour, "flavour of accuracy_at_95_tpr:")

    def accuracy(ranking: Ranking) -> Any:
        if flavour == "published" and scores.weights is None:
            return _published_accuracy(ranking, wanted)
        unknown = ranking.unknown_from()
        reached = _reached(unknown, wanted * ranking.n_unknown)
        right = _pick(unknown, reached) - _pick(ranking.known_from(), reached)
        return (right + ranking.n_known) / (ranking.n_known + ranking.n_unknown)

    return measure(scores, accuracy, tpr=wanted, flavour=flavour)


def _reached(up_to: Counts, target: Any) -> NDArray[np.intp]:
    """First level at which as many as `target` samples are there (up to rounding)."""
    return np.argmax(up_to >= target - 1e-9, axis=0)


def _pick(counts: Counts, level: NDArray[np.intp]) -> Any:
    """The count at a level, of every column."""
    return counts[level] if counts.ndim == 1 else counts[level, np.arange(counts.shape[1])]


def _published_accuracy(ranking: Ranking, tpr: float) -> float:
    found = np.append(0, ranking.unknown_from())
    false = np.append(0, ranking.known_from())
    gap = np.abs(found / found[-1] - tpr)
    nearest = len(gap) - 1 - int(np.argmin(gap[::-1]))
    above = max(nearest - 1, 0)  # what lies strictly above the threshold of that point
    right = found[above] + ranking.n_known - false[above]
    return float(right / (ranking.n_known + ranking.n_unknown))
