"""Separation: does a detector's unknownness tell known from unknown?

The question of OOD-OD benchmarks: all detections on in-distribution images against all detections
on out-of-distribution (wild) images, right or wrong, above a score threshold. In-distribution is
the positive class. Nothing here asks whether an unknown object was localised: read it beside the
counts, never alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.kernels import Asked, ranked
from openset.matching import Matches
from openset.matching.populations import TPR
from openset.metrics._left_out import below, resting, silent_images
from openset.metrics._spec import Value, metric
from openset.ranking import (
    Ranking,
    area_under_roc,
    average_precision,
    false_positive_rate,
    last_nearest,
    pick,
)

Numbers = NDArray[np.float64]  # one per resample, or one number
VOS = "Du et al., VOS: Learning What You Don't Know by Virtual Outlier Synthesis, ICLR 2022"


class Question(NamedTuple):
    """What is asked of a ranking.

    Attributes:
        value: The number on the data itself.
        asked: The sum over levels that it is made from in resamples (`openset.kernels.ranked`).
        share: Of the detections on closed-set images, where a threshold is asked for.
    """

    value: Callable[[Ranking], Numbers]
    asked: Asked
    share: float = 0.0


@metric("auroc", title="AUROC", paper=VOS, headline=True)
def auroc(matches: Matches) -> Value:
    """Probability that a detection on a wild image looks more unknown than one on a closed image.

    Ties count one half, as in scikit-learn. (torchmetrics 0.11 and later pass scores outside
    [0, 1] through a sigmoid first, which saturates energies into ties; not here.)
    """
    return _measure(matches, Question(area_under_roc, "pairs"))


@metric("aupr", title="AUPR", paper=VOS)
def aupr(matches: Matches) -> Value:
    """Area under the precision-recall curve of the positive class "in distribution".

    ``steps`` is average precision (scikit-learn, VOS); ``trapezoid`` interpolates linearly between
    points (FMIYC), which is optimistic. Depends on the ratio of known to unknown detections.
    """
    way = matches.protocol.aupr
    area = _aupr_trapezoid if way == "trapezoid" else _aupr
    return _measure(matches, Question(area, way))


@metric("fpr_at_95_tpr", title="FPR95", better="lower", paper=VOS, headline=True)
def fpr_at_95_tpr(matches: Matches, *, tpr: float = TPR) -> Value:
    """Share of wild detections accepted when 95 % of the in-distribution ones are.

    The least false-positive rate with a true-positive rate of at least 95 %. VOS's code takes the
    *nearest* true-positive rate, which may lie below, and on a plateau its end with the most
    false positives; its protocol does the same.
    """
    if matches.protocol.fpr == "nearest":
        return _measure(matches, Question(partial(_fpr_nearest, tpr=tpr), "nearest", tpr))
    return _measure(matches, Question(partial(false_positive_rate, tpr=tpr), "accepted", tpr))


def _measure(matches: Matches, question: Question) -> Value:
    both, least = matches.populations, matches.protocol.minimum_score
    if both is None:
        return Value.missing("the detections have no unknownness (see openset.scorers)")
    closed, wild = int(np.count_nonzero(both.closed)), int(np.count_nonzero(both.wild))
    shown = {"minimum_score": least, "positive": "closed-set images"}
    if not closed or not wild:
        which = "wild" if closed else "closed-set"
        return Value.missing(f"there is no detection on {which} images", params=shown)
    if both.ranking is None:  # of forced input
        return Value.missing("an unknownness is not a number", params=shown)
    if matches.weights is not None:
        return Value(_in_resamples(matches, question))
    parts = {"closed": closed, "wild": wild}
    value = Value(float(question.value(both.ranking)), params=shown, parts=parts)
    said = below(matches, least), silent_images(matches, both.closed | both.wild)
    return resting(value, *said, detections=closed + wild, **parts)


def _in_resamples(matches: Matches, question: Question) -> Numbers:
    """The number in every resample, NaN in those that drew none of a population."""
    both, drawn = matches.populations, matches.resampled_populations
    assert both and both.levels and drawn and matches.weights is not None
    (closed, wild, sums), asked = drawn, question.asked
    if question.share not in (0.0, TPR):
        sums = ranked(both.levels, matches.weights, closed, [asked], share=question.share)
    over = {"pairs": 2 * closed * wild, "steps": closed, "trapezoid": closed}
    whole = np.where((closed > 0) & (wild > 0), over.get(asked, wild), np.nan)
    return sums[asked] / whole


def _aupr(ranking: Ranking) -> Numbers:
    return average_precision(ranking.known, ranking.known_up_to[1:], ranking.unknown_up_to[1:])


def _aupr_trapezoid(ranking: Ranking) -> Numbers:
    true, false = ranking.known_up_to[1:], ranking.unknown_up_to[1:]
    # Before a resample's first detection there is no precision; the curve starts at 1.
    precision = np.divide(true, true + false, out=np.ones(true.shape), where=true + false > 0)
    before = np.concatenate([np.ones_like(precision[:1]), precision[:-1]])
    area = ranking.known * (precision + before) / 2
    return area.sum(axis=0) / ranking.n_known


def _fpr_nearest(ranking: Ranking, tpr: float) -> Numbers:
    recall = ranking.known_up_to[1:] / ranking.n_known
    # The curve ends where recall is complete; what follows is as near as that, and is left out.
    ended = np.concatenate([np.zeros_like(recall[:1], bool), recall[:-1] >= 1])
    level = last_nearest(np.where(ended, np.inf, recall), tpr)
    return pick(ranking.unknown_up_to[1:], level) / ranking.n_unknown
