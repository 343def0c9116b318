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

from openset.matching import Matches
from openset.metrics._left_out import below, resting, silent_images
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
CELLS = 1 << 16  # detections times resamples at a time: their counts fit into a cache
VOS = "Du et al., VOS: Learning What You Don't Know by Virtual Outlier Synthesis, ICLR 2022"


@metric("auroc", title="AUROC", paper=VOS, headline=True)
def auroc(matches: Matches) -> Value:
    """Probability that a detection on a wild image looks more unknown than one on a closed image.

    Ties count one half, as in scikit-learn. (torchmetrics 0.11 and later pass scores outside
    [0, 1] through a sigmoid first, which saturates energies into ties; not here.)
    """
    return _measure(matches, area_under_roc)


@metric("aupr", title="AUPR", paper=VOS)
def aupr(matches: Matches) -> Value:
    """Area under the precision-recall curve of the positive class "in distribution".

    ``steps`` is average precision (scikit-learn, VOS); ``trapezoid`` interpolates linearly between
    points (FMIYC), which is optimistic. Depends on the ratio of known to unknown detections.
    """
    trapezoid = matches.protocol.aupr == "trapezoid"
    return _measure(matches, _aupr_trapezoid if trapezoid else _aupr)


@metric("fpr_at_95_tpr", title="FPR95", better="lower", paper=VOS, headline=True)
def fpr_at_95_tpr(matches: Matches, *, tpr: float = 0.95) -> Value:
    """Share of wild detections accepted when 95 % of the in-distribution ones are.

    The least false-positive rate with a true-positive rate of at least 95 %. VOS's code takes the
    *nearest* true-positive rate, which may lie below, and on a plateau its end with the most
    false positives; its protocol does the same.
    """
    nearest = matches.protocol.fpr == "nearest"
    rate = _fpr_nearest if nearest else false_positive_rate
    return _measure(matches, lambda ranking: rate(ranking, tpr))


def _measure(matches: Matches, function: Callable[[Ranking], Numbers]) -> Value:
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
        return Value(_resampled(ranking, image, matches.weights, function))
    parts = {"closed": len(closed), "wild": len(strange)}
    value = Value(float(function(ranking)), params=shown, parts=parts)
    said = below(matches, matches.protocol.minimum_score), silent_images(matches, keep)
    return resting(value, *said, detections=len(ranking.order), **parts)


def _resampled(
    ranking: Ranking,
    image: NDArray[np.int32],
    weights: NDArray[np.uint8],
    function: Callable[[Ranking], Numbers],
) -> Numbers:
    """The number in every resample, NaN in those that drew none of a population."""
    numbers = np.empty(weights.shape[1])
    columns = max(1, CELLS // len(image))
    for start in range(0, len(numbers), columns):
        part = slice(start, start + columns)
        drawn = ranking.weighted(weights[:, part].take(image, axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = function(drawn)
        numbers[part] = np.where((drawn.n_known > 0) & (drawn.n_unknown > 0), found, np.nan)
    return numbers


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
