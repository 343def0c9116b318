"""Separation: does a detector's unknownness tell known from unknown?

The question of OOD-OD benchmarks: all detections on in-distribution images against all detections
on out-of-distribution (wild) images, right or wrong, above a score threshold. In-distribution is
the positive class. Nothing here asks whether an unknown object was localised: read it beside the
counts, never alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics._spec import Value, metric

VOS = "Du et al., VOS: Learning What You Don't Know by Virtual Outlier Synthesis, ICLR 2022"


@metric("auroc", title="AUROC", paper=VOS, headline=True)
def auroc(matches: Matches) -> Value:
    """Probability that a detection on a wild image looks more unknown than one on a closed image.

    Ties count one half, as in scikit-learn. (torchmetrics 0.11 and later pass scores outside
    [0, 1] through a sigmoid first, which saturates energies into ties; not here.)
    """
    return _measure(matches, _auroc)


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
    return _measure(matches, lambda c: (_fpr_nearest if nearest else _fpr_at_least)(c, tpr))


class _Points(NamedTuple):
    """Cumulative weights at distinct scores, most known first; one column per resample."""

    positive: NDArray[np.float64]
    negative: NDArray[np.float64]


def _measure(matches: Matches, function: Callable[[_Points], NDArray[np.float64]]) -> Value:
    if matches.unknownness is None:
        return Value.missing("the detections have no unknownness (see openset.scorers)")
    keep = matches.score >= matches.protocol.minimum_score
    wild = matches.wild[matches.image]
    shown = {"minimum_score": matches.protocol.minimum_score, "positive": "closed-set images"}
    n_closed, n_wild = int((keep & ~wild).sum()), int((keep & wild).sum())
    if not n_closed or not n_wild:
        which = "closed-set" if not n_closed else "wild"
        return Value.missing(f"there is no detection on {which} images", params=shown)
    parts = {"closed": n_closed, "wild": n_wild}
    numbers = function(_points(matches, keep, wild))
    if matches.weights is not None:
        return Value(numbers)
    return Value(float(numbers[0]), count=n_closed + n_wild, params=shown, parts=parts)


def _points(matches: Matches, keep: NDArray[np.bool_], wild: NDArray[np.bool_]) -> _Points:
    assert matches.unknownness is not None
    rows = np.flatnonzero(keep)
    rows = rows[np.argsort(matches.unknownness[rows], kind="stable")]
    value = matches.unknownness[rows]
    last = np.append(np.flatnonzero(np.diff(value)), len(value) - 1)
    is_wild = wild[rows]
    if matches.weights is None:
        weight: NDArray[np.float64] = np.ones((len(rows), 1))
    else:
        weight = matches.weights[matches.image[rows]].astype(np.float64)
    positive = np.cumsum(weight * ~is_wild[:, None], axis=0)[last]
    negative = np.cumsum(weight * is_wild[:, None], axis=0)[last]
    return _Points(positive, negative)


def _share(counts: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts over their total, NaN in resamples that drew none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, counts / total, np.nan)


def _auroc(c: _Points) -> NDArray[np.float64]:
    step = np.diff(c.negative, axis=0, prepend=0)
    height = c.positive - np.diff(c.positive, axis=0, prepend=0) / 2
    return _share((step * height).sum(axis=0), c.positive[-1] * c.negative[-1])


def _precision_recall(c: _Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return _share(c.positive, c.positive + c.negative), _share(c.positive, c.positive[-1])


def _both(c: _Points, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN in resamples that lack either side."""
    return np.where((c.positive[-1] > 0) & (c.negative[-1] > 0), numbers, np.nan)


def _aupr(c: _Points) -> NDArray[np.float64]:
    precision, recall = _precision_recall(c)
    return _both(c, np.nansum(np.diff(recall, axis=0, prepend=0) * precision, axis=0))


def _aupr_trapezoid(c: _Points) -> NDArray[np.float64]:
    precision, recall = _precision_recall(c)
    reached = np.argmax(recall >= 1, axis=0)
    keep = np.arange(len(recall))[:, None] <= reached  # the curve ends where recall is complete
    before = np.concatenate([np.ones_like(precision[:1]), precision[:-1]])
    # Before a resample's first detection there is no precision; the curve starts at 1.
    precision, before = np.nan_to_num(precision, nan=1.0), np.nan_to_num(before, nan=1.0)
    area = np.diff(recall, axis=0, prepend=0) * (precision + before) / 2
    return _both(c, np.nansum(np.where(keep, area, 0), axis=0))


def _fpr_at_least(c: _Points, tpr: float) -> NDArray[np.float64]:
    at = np.argmax(_share(c.positive, c.positive[-1]) >= tpr, axis=0)
    accepted = c.negative[at, np.arange(c.negative.shape[1])]
    return _both(c, _share(accepted, c.negative[-1]))


def _fpr_nearest(c: _Points, tpr: float) -> NDArray[np.float64]:
    recall = _share(c.positive, c.positive[-1])
    ended = np.argmax(recall >= 1, axis=0)
    gap = np.where(np.arange(len(recall))[:, None] <= ended, np.abs(recall - tpr), np.inf)
    at = len(gap) - 1 - np.argmin(gap[::-1], axis=0)  # the last of equals: lowest threshold
    accepted = c.negative[at, np.arange(c.negative.shape[1])]
    return _both(c, _share(accepted, c.negative[-1]))
