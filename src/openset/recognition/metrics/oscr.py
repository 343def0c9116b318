"""OSCR: correct classification of known samples against accepted unknown ones, and the area.

The curve is exact: a point at every distinct openness, straight between them. Its area is OpenAUC
with ties counted one half. The area that ARPL's code prints is a little less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.metrics import Value, metric
from openset.plugins import lookup
from openset.recognition.metrics._pairs import lacking, measure, ordered
from openset.recognition.ranking import AnswerRanking
from openset.recognition.scores import Scores

LEVELS = np.unique([0.001, 0.002, 0.005, *np.linspace(0, 1, 101).round(2)])
PAPER = "Dhamija et al., Reducing Network Agnostophobia, NeurIPS 2018; area: Chen et al., ARPL"


class OscrCurve(NamedTuple):
    """The OSCR curve, from rejecting everything to accepting everything.

    Attributes:
        threshold: Samples with an openness up to this are accepted.
        ofpr: Share of unknown samples accepted.
        cotpr: Share of known samples accepted and classified correctly.
    """

    threshold: NDArray[np.float64]
    ofpr: NDArray[np.float64]
    cotpr: NDArray[np.float64]


def oscr_curve(scores: Scores) -> OscrCurve:
    """The points of the OSCR curve, at every distinct openness.

    >>> one = Scores([0, 0], [0, 0], [0.1, 0.4], [0.3], None, ("a",))
    >>> [c.tolist() for c in oscr_curve(one)]
    [[-inf, 0.1, 0.3, 0.4], [0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0]]
    """
    why = lacking(scores)
    if why:
        raise UsageError(f"there is no OSCR curve: {why}")
    ranking = scores.ranking
    ofpr = ranking.unknown_up_to / scores.n_unknown
    cotpr = ranking.correct_up_to / scores.n_known
    return OscrCurve(scores.thresholds(), ofpr, cotpr)


@metric("oscr", title="OSCR", paper=PAPER)
def oscr(scores: Scores, *, flavour: Literal["exact", "arpl"] = "exact") -> Value:
    """Area under the curve of correct classification rate against accepted unknown samples.

    ``exact`` is the area of the curve with straight lines between its points: OpenAUC, ties one
    half. ``arpl`` is what the code of ARPL and of "A Good Closed-Set Classifier" computes, with a
    stable sort: it pairs each rate with the next sample's, which in closed form is
    ``OpenAUC(strict) - A / (2 Nk Nu)``, A the number of unknown samples that are directly followed
    by a correct known one. It is too low by at most ``1 / (2 max(Nk, Nu))`` without ties, depends
    on the order of the file with ties, and takes quadratic time there, not here. Resamples have
    the exact area. Its parts are the curve: the rate of correct classification where at most such
    a share of unknown samples is accepted.
    """
    chosen = lookup({"exact": _exact, "arpl": _arpl}, flavour, "flavour of oscr:")
    if scores.weights is not None:
        return measure(scores, _exact, flavour=flavour)
    area = measure(scores, chosen, flavour=flavour)
    return area if area.value is None else replace(area, parts=_by_level(scores))


def _by_level(scores: Scores) -> dict[str, float]:
    accepted, correct = scores.ranking.unknown_up_to, scores.ranking.correct_up_to
    at = np.searchsorted(accepted, (LEVELS + 1e-9) * scores.n_unknown, side="right") - 1
    rates = correct[at] / scores.n_known
    return {f"{level:g}": float(rate) for level, rate in zip(LEVELS, rates, strict=True)}


def _exact(ranking: AnswerRanking) -> Any:
    return ordered(ranking, "half", correct=True)


def _arpl(ranking: AnswerRanking) -> float:
    strict = ordered(ranking, "strict", correct=True)
    # Least known first: the unknown samples of a level come last in it, then the level below.
    followed = (ranking.unknown[1:] > 0) & ranking.leading_correct()[:-1]
    return float(strict - followed.sum() / (2 * ranking.n_known * ranking.n_unknown))
