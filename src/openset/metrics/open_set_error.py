"""Open-set errors: unknown objects that the detector calls by a known name.

Papers call A-OSE now "the number of boxes", now "the number of objects"; all published code counts
boxes, many per object. Both are here, under two names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics._classes import share_of_unknown, where_unknown, without_unknown
from openset.metrics._left_out import beyond, few_detected, ignored_objects, resting
from openset.metrics._points import level_name, nearest_to, nearest_to_each, published_by
from openset.metrics._spec import Left, Value, metric

MILLER = "Miller et al., Dropout Sampling for Robust Object Detection, ICRA 2018"
FMIYC = "FindMeIfYouCan: Bringing Open Set Metrics to near, far and farther OOD Object Detection"


@metric(
    "a_ose",
    title="A-OSE",
    better="lower",
    range=(0, None),
    unit="count",
    scale="log",
    paper=MILLER,
    headline=True,
    of="ood",
)
def a_ose(matches: Matches) -> Value:
    """Absolute Open-Set Error: known-labelled detections that overlap an unknown object.

    Counts detections, not objects: three on one object are three, and a detection that is also a
    true positive of a known object beside it counts too, as in published code. No score threshold
    but the detector's own, so numbers compare only at equal settings of it.
    """
    counts_ignored = matches.protocol.ose_counts_ignored
    n_unknown = matches.count_objects(matches.objects.klass == matches.n_known)
    there = n_unknown if counts_ignored else matches.count_objects(_countable_unknown(matches))
    number = matches.count(matches.open_set_errors)
    if np.ndim(number):
        return where_unknown(matches, number, n_unknown)
    if n_unknown == 0 or (there == 0 and number == 0):  # none, or all of them are ignored
        return without_unknown(matches)
    sizes = matches.count_by_class(matches.open_set_errors)[:-1]
    parts = dict(zip(matches.vocabulary.known, sizes.tolist(), strict=True))
    shown = {"iou": matches.protocol.iou[0]} | published_by(matches)
    value = Value(float(number), step=1.0, params=shown, parts=parts)
    ignored = None if counts_ignored else ignored_objects(matches, unknown=True)
    said = ignored, beyond(matches, unknown=False)
    return resting(value, *said, unknown_objects=there, known_detections=matches.known_end)


@metric(
    "a_ose_objects",
    title="A-OSE (objects)",
    better="lower",
    range=(0, None),
    unit="count",
    scale="log",
    paper="Zhao et al., Revisiting Open World Object Detection, TCSVT 2023",
    of="ood",
)
def a_ose_objects(matches: Matches) -> Value:
    """Unknown objects that at least one known-labelled detection fires on.

    An object counts if it is the best unknown object of such a detection and is not ignored. At
    most the number of unknown objects, unlike `a_ose`.
    """
    countable = _countable_unknown(matches)
    total = matches.count_objects(countable)
    if np.ndim(total) == 0 and total == 0:
        return without_unknown(matches)
    number = matches.count_objects(countable & hit_by(matches, matches.open_set_errors))
    if np.ndim(number):
        return where_unknown(matches, number, total)
    value = Value(float(number), step=1.0, params={"iou": matches.protocol.iou[0]})
    said = ignored_objects(matches, unknown=True), beyond(matches, unknown=False)
    return resting(value, *said, unknown_objects=total)


@metric("nose", title="nOSE", better="lower", range=(0, None), paper=FMIYC, headline=True, of="ood")
def nose(matches: Matches) -> Value:
    """Normalised open-set error: the share of unknown objects called by a known name.

    Objects over objects, so at most 1. FMIYC's code divides *detections* by objects, which can
    exceed 1; its protocol does the same, and so do those of OWOD, opendet2 and OSOD-III's VOC
    loop, whose A-OSE counts detections. Needs unknown objects.
    """
    countable = _countable_unknown(matches)
    total = matches.count_objects(countable)
    if matches.protocol.nose == "detections":
        wrong = matches.count(matches.open_set_errors)
    else:
        wrong = matches.count_objects(countable & hit_by(matches, matches.open_set_errors))
    said, shown = beyond(matches, unknown=False), {"counts": matches.protocol.nose}
    return share_of_unknown(matches, wrong, total, said, params=shown)


@metric(
    "a_ose_profile",
    title="A-OSE above score 0.5",
    better="lower",
    range=(0, None),
    unit="count",
    scale="log",
    paper="Hosoya et al., Rectifying Open-set Object Detection, Fig. 3",
    of="ood",
)
def a_ose_profile(matches: Matches, *, threshold: float = 0.5) -> Value:
    """Open-set errors by confidence: `parts` counts them in bins (t, t + .05], t = 0, .05, ....

    The value is the number above `threshold`. A score of exactly 0 falls in no bin, as in the
    published histogram; scores above 1 fall in the last. In OSOD-III's own histogram a score of
    exactly 0.4 falls in none either, since 0.35 + 0.05 is less than 0.4 in floating point; the
    protocols of its family do the same.
    """
    error = matches.open_set_errors
    number = matches.count(error & (matches.score > threshold))
    if np.ndim(number):
        return Value(number.astype(float))
    score = matches.score[error]
    levels = np.round(np.arange(0, 1, 0.05), 2)
    below = np.searchsorted(levels, score)  # how many levels lie below each score
    if matches.protocol.wilderness == "ratio-of-sums":
        ends = np.append((levels + 0.05)[:-1], np.inf)
        below[score > ends[below - 1]] = 0
    numbers = np.bincount(below, minlength=len(levels) + 1)[1:].tolist()
    parts = dict(zip(map(level_name, levels.tolist()), numbers, strict=True))
    shown = {"threshold": threshold} | published_by(matches)
    value = Value(float(number), step=1.0, params=shown, parts=parts)
    nowhere = len(score) - sum(numbers)
    binless = Left(nowhere, "error", "in no bin of `parts`") if nowhere else None
    said = beyond(matches, unknown=False), binless
    return resting(value, *said, open_set_errors=len(score))


@metric(
    "a_ose_at_recall",
    title="A-OSE at recall",
    better="lower",
    range=(0, None),
    unit="count",
    scale="log",
    paper="Hosoya et al., Rectifying Open-set Object Detection, Fig. 3",
)
def a_ose_at_recall(matches: Matches, *, recall: float | None = None) -> Value:
    """Open-set errors among the detections up to a recall level of each known class.

    Each class stands at its nearest recall, the first on ties; `parts` has all levels of the
    protocol.
    """
    level = matches.protocol.recall if recall is None else recall
    hit, error = matches.outcome().correct, matches.open_set_errors
    if matches.weights is not None:
        point = nearest_to(matches, level, hit, error)
        return Value(point.counts[0][:-1].sum(axis=0).astype(np.float64))
    levels = sorted({*matches.protocol.recalls, level})
    numbers = nearest_to_each(matches, levels, hit, error).counts[0][:-1].sum(axis=0).tolist()
    parts = dict(zip(map(level_name, levels), numbers, strict=True))
    shown = {"recall": level} | published_by(matches)
    value = Value(float(parts[level_name(level)]), step=1.0, params=shown, parts=parts)
    said = few_detected(matches), beyond(matches, unknown=False)
    return resting(value, *said, open_set_errors=np.count_nonzero(error))


def _countable_unknown(matches: Matches) -> np.ndarray:
    return (matches.objects.klass == matches.n_known) & ~matches.objects.ignored


def hit_by(matches: Matches, detections: NDArray[np.bool_]) -> np.ndarray:
    """Objects that are the best unknown object of some of these detections, which overlap it."""
    near, hit = matches.near("unknown"), np.zeros(len(matches.objects), np.bool_)
    hit[near.object[detections[near.position]]] = True
    return hit
