"""Separation: does a detector's unknownness tell known from unknown?

The question of OOD-OD benchmarks: all detections on in-distribution images against all detections
on out-of-distribution (wild) images, right or wrong, above a score threshold. In-distribution is
the positive class. Nothing here asks whether an unknown object was localised: read it beside the
counts, never alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from openset.kernels import Asked, Levels, n_known, n_unknown, ranked
from openset.matching import Matches
from openset.metrics._spec import Value, metric
from openset.ranking import (
    Ranking,
    area_under_roc,
    average_precision,
    false_positive_rate,
    last_nearest,
    pick,
    rank,
)

Numbers = NDArray[np.float64]  # one per resample, or one number
Resampled = Callable[[Levels, NDArray[np.uint8]], Numbers]
VOS = "Du et al., VOS: Learning What You Don't Know by Virtual Outlier Synthesis, ICLR 2022"


@metric("auroc", title="AUROC", paper=VOS, headline=True)
def auroc(matches: Matches) -> Value:
    """Probability that a detection on a wild image looks more unknown than one on a closed image.

    Ties count one half, as in scikit-learn. (torchmetrics 0.11 and later pass scores outside
    [0, 1] through a sigmoid first, which saturates energies into ties; not here.)
    """
    return _measure(matches, area_under_roc, _in_resamples("pairs"))


@metric("aupr", title="AUPR", paper=VOS)
def aupr(matches: Matches) -> Value:
    """Area under the precision-recall curve of the positive class "in distribution".

    ``steps`` is average precision (scikit-learn, VOS); ``trapezoid`` interpolates linearly between
    points (FMIYC), which is optimistic. Depends on the ratio of known to unknown detections.
    """
    way = matches.protocol.aupr
    area = _aupr_trapezoid if way == "trapezoid" else _aupr
    return _measure(matches, area, _in_resamples(way))


@metric("fpr_at_95_tpr", title="FPR95", better="lower", paper=VOS, headline=True)
def fpr_at_95_tpr(matches: Matches, *, tpr: float = 0.95) -> Value:
    """Share of wild detections accepted when 95 % of the in-distribution ones are.

    The least false-positive rate with a true-positive rate of at least 95 %. VOS's code takes the
    *nearest* true-positive rate, which may lie below, and on a plateau its end with the most
    false positives; its protocol does the same.
    """
    nearest = matches.protocol.fpr == "nearest"
    rate = _fpr_nearest if nearest else false_positive_rate
    resampled = _in_resamples("nearest" if nearest else "accepted", tpr)
    return _measure(matches, lambda ranking: rate(ranking, tpr), resampled)


def _measure(
    matches: Matches, function: Callable[[Ranking], Numbers], resampled: Resampled
) -> Value:
    if matches.unknownness is None:
        return Value.missing("the detections have no unknownness (see openset.scorers)")
    keep = matches.score >= matches.protocol.minimum_score
    wild = matches.wild[matches.image]
    closed, strange = np.flatnonzero(keep & ~wild), np.flatnonzero(keep & wild)
    shown = {"minimum_score": matches.protocol.minimum_score, "positive": "closed-set images"}
    if not len(closed) or not len(strange):
        which = "closed-set" if not len(closed) else "wild"
        return Value.missing(f"there is no detection on {which} images", params=shown)
    populations = matches.unknownness[closed], matches.unknownness[strange]
    if any(np.isnan(values).any() for values in populations):  # of forced input
        return Value.missing("an unknownness is not a number", params=shown)
    ranking = rank(*populations)
    if matches.weights is not None:
        image = matches.image[np.concatenate([closed, strange])[ranking.order]]
        levels = Levels.of(image, ranking.start, ranking.is_known)
        return Value(resampled(levels, matches.weights))
    parts = {"closed": len(closed), "wild": len(strange)}
    return Value(float(function(ranking)), count=len(ranking.order), params=shown, parts=parts)


def _in_resamples(asked: Asked, share: float = 0.0) -> Resampled:
    """The number in every resample, NaN in those that drew none of a population."""

    def resampled(levels: Levels, weights: NDArray[np.uint8]) -> Numbers:
        known, unknown = n_known(levels, weights), n_unknown(levels, weights)
        parts = {"pairs": 2 * known * unknown, "steps": known, "trapezoid": known}
        whole = np.where((known > 0) & (unknown > 0), parts.get(asked, unknown), np.nan)
        return ranked(levels, weights, asked, share=share) / whole

    return resampled


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
