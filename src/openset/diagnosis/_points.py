"""Points: where a class stands at a recall level, and which images a wilderness ratio takes.

A threshold belongs to a class and keeps all detections of at least its score, equal scores
included. Recall is over the objects of closed-set images, as the operating points of Dhamija et
al. (WACV 2020) are chosen before the wilderness is met.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.matching import Matches
from openset.matching.counting import wild_wanted
from openset.matching.curves import hits_needed

TOUCH = 0.1  # least overlap that counts as "on" an object, in Hoiem et al.

Mask = NDArray[np.bool_]


def chosen_images(matches: Matches, ratio: float | None) -> Mask:
    """All images, or the closed-set images and the first `ratio` wild images per closed-set one.

    Images are taken, as the paper takes them; `flow.wild_weight` counts them more or less often.
    """
    if ratio is None:
        return np.ones(matches.n_images, np.bool_)
    wild = np.flatnonzero(matches.wild)
    wanted = wild_wanted(ratio, matches.n_images - len(wild))
    if not 0 <= wanted <= len(wild):
        most = len(wild) / max(matches.n_images - len(wild), 1)
        raise UsageError(f"the data allow wilderness ratios from 0 to {most:.3g}, not {ratio}")
    images = ~matches.wild
    images[wild[:wanted]] = True
    return images


def within_limit(matches: Matches) -> Mask:
    """Detections that the protocol's limit per image and class leaves."""
    limit = matches.protocol.max_detections
    if limit is None:
        return np.ones(len(matches), np.bool_)
    return np.asarray(matches.columns.rank < limit)


def objects_per_class(matches: Matches, images: Mask) -> NDArray[np.int64]:
    """Objects that count on some images, per class [K + 1]."""
    objects = matches.objects
    keep = ~objects.ignored & images[objects.image]
    return np.bincount(objects.klass[keep], minlength=matches.n_known + 1)


def ends_at_recall(matches: Matches, recall: float) -> NDArray[np.int64]:
    """Per known class, the position after its last detection kept; -1 if recall is not reached."""
    closed = ~matches.wild
    hits = np.flatnonzero(matches.outcome().correct & closed[matches.image])
    first = np.searchsorted(hits, matches.class_start)[:-1]
    positives = objects_per_class(matches, closed)[:-1]
    need = np.maximum(hits_needed(positives, recall), 1)
    reached = (need <= np.diff(first)) & (positives > 0)
    ends = np.full(matches.n_known, -1, np.int64)
    for klass in np.flatnonzero(reached):
        low, high = matches.class_start[klass : klass + 2]
        threshold = matches.score[hits[first[klass] + need[klass] - 1]]
        ends[klass] = low + np.searchsorted(-matches.score[low:high], -threshold, side="right")
    return ends


def thresholds_of(matches: Matches, ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """The score threshold of each known class, NaN where the recall is not reached."""
    threshold = np.full(matches.n_known, np.nan)
    threshold[ends >= 0] = matches.score[ends[ends >= 0] - 1]
    return threshold


def kept_at_recall(matches: Matches, ends: NDArray[np.int64]) -> Mask:
    """Known-labelled detections before the ends of their classes."""
    marks = np.zeros(len(matches) + 1, np.int64)
    begin, reached = matches.class_start[:-2], ends >= 0
    np.add.at(marks, begin[reached], 1)
    np.add.at(marks, ends[reached], -1)
    return np.asarray(np.cumsum(marks)[:-1] > 0)
