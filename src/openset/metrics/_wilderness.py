"""The readings of Wilderness Impact: one function each, from weighted matches to numbers by class.

Which wild images take part is a matter of image weights (0 leaves one out), so that a wilderness
ratio, a curve over ratios and a bootstrap are one mechanism. Every reading has one column per
column of weights, NaN where a class takes no part or a number does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.matching.curves import resampled_precision
from openset.metrics._by_class import ByClass, divided
from openset.metrics._float32 import torch_levels
from openset.metrics._points import as_columns, nearest_to, threshold_for, weights_of
from openset.tables.columns import ranks

Numbers = NDArray[np.float64]
Names = Sequence[str]
Counts = tuple[NDArray[np.int64], NDArray[np.int64]]


def _ratio_of_sums(matches: Matches, recall: float) -> Counts:
    return _at_nearest(matches, recall, matches.open_set_errors, ~matches.outcome().ignored)


def _nearest_recall(matches: Matches, recall: float) -> Counts:
    outcome = matches.outcome()
    wrong = matches.open_set_errors & outcome.wrong
    return _at_nearest(matches, recall, wrong, ~(outcome.ignored | wrong))


def _at_nearest(
    matches: Matches, recall: float, part: NDArray[np.bool_], whole: NDArray[np.bool_]
) -> Counts:
    """Two counts of detections to be divided, each known class cut at its nearest recall."""
    points = nearest_to(matches, recall, matches.outcome().correct, part, whole)
    above, below = (counts[:-1].sum(axis=0) for counts in points.counts)
    return above, below


def at_thresholds(matches: Matches, recall: float, *more: NDArray[np.bool_]) -> tuple[Numbers, ...]:
    """Per known class and column: detections and hits on closed images, and `more` masks.

    The threshold of a class is the score at which its recall on closed-set images reaches the
    level; classes that never reach it are NaN.
    """
    outcome = matches.outcome()
    closed = ~matches.wild[matches.image]
    correct, counted = outcome.correct & closed, ~outcome.ignored & closed
    positives = as_columns(matches.closed_positives)
    points = threshold_for(matches, recall, correct, counted, *more, positives=positives)
    total, *others = points.counts
    tables = (total, points.hits, *others)
    return tuple(np.where(points.reached, table, np.nan)[:-1] for table in tables)


def on_wild(matches: Matches) -> NDArray[np.bool_]:
    """Detections on wild images that count."""
    return ~matches.outcome().ignored & matches.wild[matches.image]


class Kept(NamedTuple):
    """What is kept at a recall, by known class and column; NaN for classes that do not reach it.

    Attributes:
        total: Detections on closed-set images.
        right: Those of them that are right.
        wrong: Detections on wild images.
    """

    total: Numbers
    right: Numbers
    wrong: Numbers


def kept_at(matches: Matches, recall: float) -> Kept:
    """What is kept where each class reaches a recall: all that three of the readings need."""
    return Kept(*at_thresholds(matches, recall, on_wild(matches)))


def _pooled(kept: Kept, names: Names) -> ByClass:
    return ByClass.of("ratio of sums", names, kept.wrong, kept.total)


def _mean_precision(kept: Kept, names: Names) -> ByClass:
    closed, open_ = kept.right / kept.total, kept.right / (kept.total + kept.wrong)
    return ByClass.of("change of means", names, closed, open_)


def _mean_ratio(kept: Kept, names: Names) -> ByClass:
    return ByClass.of("mean", names, kept.wrong / kept.total)


AT_THRESHOLDS: dict[str, Callable[[Kept, Names], ByClass]] = {
    "pooled": _pooled,
    "mean-precision": _mean_precision,
    "mean-ratio": _mean_ratio,
}


def elephant(matches: Matches, recall: float) -> ByClass:
    """Interpolated precision of each class: without wild images, and with them."""
    weights = weights_of(matches)
    objects = weights if matches.object_weights is None else matches.object_weights
    closed = matches.resampled(weights * ~matches.wild[:, None], objects)
    both = (closed, matches.resampled(weights, objects))
    terms = (_interpolated(one, recall) for one in both)
    return ByClass.of("change of means, float32", matches.vocabulary.known, *terms)


def _interpolated(matches: Matches, recall: float) -> NDArray[np.float32]:
    """The envelope precision at a recall of each class with detections, in float32.

    The envelope at one recall is an average precision over a grid of one point.
    """
    precision = resampled_precision(matches, None, grid=np.array([recall]))[:-1]
    present = matches.detected_by_class[:-1] > 0
    return np.where(present, np.nan_to_num(precision).astype(np.float32), np.float32(np.nan))


# The readings that need no split into closed and wild images.
WITHOUT_SPLIT: dict[str, Callable[[Matches, float], Counts]] = {
    "ratio-of-sums": _ratio_of_sums,
    "nearest-recall": _nearest_recall,
}
VARIANTS = (*AT_THRESHOLDS, "elephant", *WITHOUT_SPLIT)


def first_wild(matches: Matches, wanted: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Weights that keep all closed-set images and the first `wanted` wild ones, a column each."""
    member = np.ones((matches.n_images, len(wanted)), np.uint8)
    member[matches.wild] = wild_place(matches)[matches.wild, None] < wanted
    return member


def wild_place(matches: Matches) -> NDArray[np.int64]:
    """The place of each wild image among the wild ones: by id, or as listed in the file.

    Ids, so that the order of a file does not decide a number; the authors' code takes the order of
    the file, and so does its protocol.
    """
    order = np.arange(matches.n_images)
    if matches.protocol.wilderness != "elephant":
        order = np.argsort(ranks(matches.image_ids), kind="stable")
    place = np.empty(matches.n_images, np.int64)
    place[order] = np.cumsum(matches.wild[order]) - 1
    return place


def curve_levels(matches: Matches) -> tuple[Numbers, NDArray[np.int64]]:
    """Wilderness ratios 0, 0.1, ..., below 5, and how many wild images take part at each."""
    wanted = _wanted(matches, np.array([np.count_nonzero(~matches.wild)]))[:, 0]
    wanted = wanted[wanted <= np.count_nonzero(matches.wild)]
    return np.arange(len(wanted)) / 10, wanted


def _wanted(matches: Matches, closed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Wild images at each ratio [ratios, n], for numbers of closed-set images.

    The authors' code multiplies torch's float32 levels, by which 45 closed images take 117 wild
    ones at 2.6; under NumPy 1 the product was float64 and a level could lose an image, which
    `numpy1_levels` reproduces.
    """
    steps = torch_levels()[:, None]
    kind = np.float64 if matches.protocol.numpy1_levels else np.float32
    return (steps.astype(kind) * closed.astype(kind)).astype(np.int64)


def pooled_average(matches: Matches, recall: float) -> ByClass:
    """Mean of the pooled reading over the curve's ratios above 0, in the data or per resample.

    A false positive on the n-th wild image counts at every ratio that has reached n images. That
    number of ratios is below 64, so its bits are six flags and one pass counts them all.
    """
    _, wanted = curve_levels(matches)
    reached = len(wanted) - np.searchsorted(wanted, wild_place(matches), side="right")
    # Bytes are enough for what is below 64, and there is one for every detection.
    times = np.where(matches.wild, reached, 0).astype(np.uint8)[matches.image]
    times *= ~matches.outcome().ignored
    bits = [(times >> bit & 1).astype(np.bool_) for bit in range(6)]
    total, _hits, *wrong = at_thresholds(matches, recall, *bits)
    above = np.sum([2**bit * counts for bit, counts in enumerate(wrong)], axis=0)
    share = _mean_share(matches) / _mean_share(replace(matches, weights=None))
    mean = above * share / max(len(wanted) - 1, 1)
    return ByClass.of("ratio of sums", matches.vocabulary.known, mean, total)


def _mean_share(matches: Matches) -> Numbers:
    """Share of the wild images that takes part, mean over the ratios above 0; NaN without any.

    A resample has ratios of its own: with more wild images, or fewer closed ones, the curve is
    longer, and a new ratio at its end moves the mean.
    """
    closed, wild = (np.atleast_1d(matches.count_images(x)) for x in (~matches.wild, matches.wild))
    wanted = _wanted(matches, closed)[1:]
    reached = wanted <= wild
    return divided((wanted * reached).sum(axis=0), reached.sum(axis=0) * wild)
