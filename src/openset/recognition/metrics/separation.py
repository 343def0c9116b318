"""Separation: does openness tell known from unknown samples? Which class is named plays no part.

Novelty detection, the older way to report open-set recognition. A model that confuses all known
classes can have an AUC of 1: read it beside the closed-set accuracy, or read OpenAUC.

``flavour="arpl"`` gives the numbers of ARPL's code, which walks over the samples one by one and
removes known samples first where openness is equal.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from openset.metrics import Value, metric
from openset.plugins import lookup
from openset.ranking import average_precision, false_positive_rate, last_nearest, pick, reached
from openset.recognition.metrics._pairs import Ties, measure, ordered, share_in
from openset.recognition.metrics._walk import area_in, area_out, tnr_nearest
from openset.recognition.ranking import AnswerRanking
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

    def area(ranking: AnswerRanking) -> Any:
        if flavour == "arpl" and scores.weights is None:
            return (area_out if positive == "unknown" else area_in)(ranking)
        if positive == "known":
            level, true, false = ranking.known, ranking.known_up_to[1:], ranking.unknown_up_to[1:]
        else:
            level = ranking.unknown[::-1]
            true, false = ranking.unknown_from(), ranking.known_from()
        if flavour == "normalised":
            true, false = (part * part[-1].astype(np.float64) for part in (true, false))
        return average_precision(level, true, false)

    return measure(scores, area, positive=positive, flavour=flavour)


@metric("dtacc", title="detection accuracy", range=(0.5, 1), paper=ODIN)
def dtacc(scores: Scores) -> Value:
    """Best mean of the shares of known samples accepted and of unknown samples rejected.

    ``max_t ½ (TPR + TNR)``, over all thresholds: an upper bound, chosen on the test samples. Not an
    accuracy of classes, and blind to how many samples of each kind there are.
    """

    def best(ranking: AnswerRanking) -> Any:
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

    def rejected(ranking: AnswerRanking) -> Any:
        if flavour == "arpl" and scores.weights is None:
            return tnr_nearest(ranking, wanted)
        return 1 - false_positive_rate(ranking, wanted)

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

    def accuracy(ranking: AnswerRanking) -> Any:
        if flavour == "published" and scores.weights is None:
            return _published_accuracy(ranking, wanted)
        unknown = ranking.unknown_from()
        level = reached(unknown, wanted * ranking.n_unknown)
        right = pick(unknown, level) - pick(ranking.known_from(), level)
        return (right + ranking.n_known) / (ranking.n_known + ranking.n_unknown)

    return measure(scores, accuracy, tpr=wanted, flavour=flavour)


def _published_accuracy(ranking: AnswerRanking, tpr: float) -> float:
    found = np.append(0, ranking.unknown_from())
    false = np.append(0, ranking.known_from())
    above = max(
        int(last_nearest(found / found[-1], tpr)) - 1, 0
    )  # what lies strictly above the threshold of that point
    right = found[above] + ranking.n_known - false[above]
    return float(right / (ranking.n_known + ranking.n_unknown))
