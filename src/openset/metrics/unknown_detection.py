"""Unknown detection: are unknown objects found, and are they called unknown?

Unknown recall asks both at once; Zhao et al. split it into UDR (found under any label) and UDP
(called unknown, once found), with ``unknown_recall = UDR * UDP``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.matching.near import Kind
from openset.matching.protocol import COCO_IOU
from openset.metrics._classes import share_of_unknown, where_unknown, without_unknown
from openset.metrics._left_out import beyond, beyond_best, ignored_objects, neither, resting
from openset.metrics._points import Points, level_name, nearest_to, nearest_to_each
from openset.metrics._spec import Value, metric
from openset.metrics.open_set_error import _countable_unknown, hit_by
from openset.plugins import lookup

GUPTA = "Gupta et al., OW-DETR: Open-World Detection Transformer, CVPR 2022"
LIANG = "Liang et al., Unknown Sniffer for Object Detection, CVPR 2023"
KIM = "Kim et al., Learning Open-World Object Proposals without Learning to Classify, RA-L 2022"
Misnamed = Literal["overlapping", "wrong"]
LIMITS = (10, 30, 50, 100)
NO_LABEL = "no detection is labelled unknown"
ZHAO = "Zhao et al., Revisiting Open World Object Detection, TCSVT 2023"


@metric(
    "unknown_recall",
    title="unknown recall",
    paper="Joseph et al., CVPR 2021",
    headline=True,
    of="ood",
)
def unknown_recall(matches: Matches, *, limit: int | None = None) -> Value:
    """Share of unknown objects that a detection labelled unknown finds (U-Recall, R_U).

    TP_u / (TP_u + FN_u) at the protocol's IoU over all detections labelled unknown: no score
    threshold but the detector's own.

    Args:
        matches: Matched detections.
        limit: Only the so many detections of the highest scores in every image, known and unknown
            alike (U-Recall@K); all of them by default.
    """
    total = matches.count_objects(_countable_unknown(matches))
    shown = {"iou": matches.protocol.iou[0]} | ({} if limit is None else {"limit": limit})
    found = matches.count_objects(_found_mask(matches, limit))
    over = None if limit is None else beyond_best(matches, limit)
    said = over, beyond(matches, unknown=True)
    return share_of_unknown(matches, found, total, *said, params=shown)


@metric("unknown_recall_at_k", title="unknown recall at K", paper=GUPTA, of="ood")
def unknown_recall_at_k(matches: Matches, *, limit: int = 100) -> Value:
    """Share of unknown objects found as unknown by the best K detections of an image (U-Recall@K).

    The K detections of the highest scores in every image are kept, known and unknown alike, as
    detectors of the DETR family put out their 100 best pairs of query and class. `parts` has K =
    10, 30, 50 and 100. Known detections take places: a detector that fills them finds less.
    """
    value = unknown_recall(matches, limit=limit)
    if matches.weights is not None or value.value is None:
        return value
    parts = {str(k): unknown_recall(matches, limit=k).value for k in LIMITS}
    return replace(value, parts=parts)


@metric("unknown_f1", title="unknown F1", paper=LIANG, of="ood")
def unknown_f1(matches: Matches) -> Value:
    """F1 of the label unknown (U-F1): 2 TP_u / (unknown objects + detections labelled unknown).

    The harmonic mean of `unknown_precision` and `unknown_recall` over all detections labelled
    unknown; 0 where there is none. `count` is the sum of objects and detections.
    """
    objects = matches.count_objects(_countable_unknown(matches))
    labelled = matches.count(matches.labelled_unknown & ~matches.outcome().ignored)
    if np.ndim(objects):
        numbers = 2 * _found(matches) / np.maximum(objects + labelled, 1)
        return where_unknown(matches, numbers, objects)
    if objects == 0:
        return without_unknown(matches)
    shown = {"iou": matches.protocol.iou[0]}
    value = Value.ratio(2 * _found(matches), objects + labelled, params=shown)
    said = ignored_objects(matches, unknown=True), neither(matches, matches.labelled_unknown)
    counts = {"unknown_objects": objects, "unknown_detections": labelled}
    return resting(value, *said, objects_and_detections=objects + labelled, **counts)


@metric("unknown_recall_any_label", title="unknown recall, any label", paper=KIM, of="ood")
def unknown_recall_any_label(
    matches: Matches, *, limit: int = 100, iou: float | str | None = None
) -> Value:
    """Share of unknown objects that any of the best K boxes of an image covers, whatever its label.

    Class-agnostic recall of unknown objects, as work on open-world proposals reports it (AR_N). An
    object counts if it is the best unknown object of a box; several boxes may cover one object, and
    false alarms do not enter. `parts` has K = 10 and 100, at the protocol's IoU (``R@K``) and as
    mean over IoU .50:.05:.95 (``AR@K``). Not `udr`, which counts all boxes and follows labels.

    Args:
        matches: Matched detections.
        limit: The so many boxes of the highest scores in every image.
        iou: One threshold (the protocol's by default), or ``"mean"`` for .50:.05:.95.
    """
    numbers, total = _covered(matches, limit, iou)
    shown = {"limit": limit, "iou": matches.protocol.iou[0] if iou is None else iou}
    over = beyond_best(matches, limit)
    value = share_of_unknown(matches, numbers, total, over, params=shown)
    if np.ndim(total) or not total:
        return value
    kinds = {"R": None, "AR": "mean"}
    parts = {
        f"{kind}@{k}": _covered(matches, k, way)[0] / total
        for kind, way in kinds.items()
        for k in (10, 100)
    }
    return replace(value, parts=parts)


def _covered(matches: Matches, limit: int, iou: float | str | None) -> tuple[Any, Any]:
    """How many unknown objects the best boxes cover, on average over thresholds; and how many."""
    levels = COCO_IOU if iou == "mean" else [matches.protocol.iou[0] if iou is None else float(iou)]
    reached, end = np.zeros(len(matches.objects)), matches.known_end
    kinds: tuple[Kind, ...] = ("unknown", "same")
    for kind in kinds:
        # An unknown object is one of its own class to what is labelled unknown.
        near = matches.near(kind, min(levels))
        own = near.position < end if kind == "unknown" else near.position >= end
        near = near.only(own & (matches.place[near.position] < limit))
        np.maximum.at(reached, near.object, near.iou)
    matches.forget()
    countable = _countable_unknown(matches)
    counts = [matches.count_objects(countable & matches.overlaps(reached, at)) for at in levels]
    return sum(counts) / len(counts), matches.count_objects(countable)


@metric(
    "unknown_precision",
    title="unknown precision",
    paper="Han et al., CVPR 2022",
    headline=True,
    of="ood",
)
def unknown_precision(matches: Matches) -> Value:
    """Share of detections labelled unknown that lie on an unknown object (P_U).

    Unlabelled objects in the background count against it, so on data sets whose annotation is not
    exhaustive it is a lower bound. Without such detections there is none; evaluators of the VOC
    family print 0, and so do their protocols.
    """
    outcome = matches.outcome()
    total = matches.count(matches.labelled_unknown & ~outcome.ignored)
    value = Value.ratio(_true_unknown(matches), total, why=NO_LABEL)
    if np.ndim(total):
        return Value(np.where(total > 0, value.value, _of_nothing(matches)))
    value = Value(0.0) if value.value is None and _of_nothing(matches) == 0 else value
    said = neither(matches, matches.labelled_unknown)
    return resting(value, said, unknown_detections=total)


@metric("udr", title="UDR", paper=ZHAO, headline=True, of="ood")
def udr(matches: Matches, *, misnamed: Misnamed = "overlapping") -> Value:
    """Unknown Detection Recall: share of unknown objects found under any label.

    (TP_u + FN*_u) / (TP_u + FN_u), where FN*_u are missed unknown objects that are the best unknown
    object of a known-labelled detection. The authors released no code; this follows OSOD-III's.
    The paper speaks of objects that are misclassified, which a right detection of a known object
    that merely overlaps an unknown one is not: `misnamed="wrong"` leaves those out, and `parts` has
    both readings.

    Args:
        matches: Matched detections.
        misnamed: Which known-labelled detections make FN*: all that are ``overlapping``, or only
            those that are ``wrong``.
    """
    total = matches.count_objects(_countable_unknown(matches))
    said = [beyond(matches, unknown=unknown) for unknown in (True, False)]

    def read(which: Misnamed) -> Value:
        found = _found(matches) + _misnamed(matches, which)
        return share_of_unknown(matches, found, total, *said)

    return _with_readings(matches, read, misnamed)


@metric("udp", title="UDP", paper=ZHAO, headline=True, of="ood")
def udp(matches: Matches, *, misnamed: Misnamed = "overlapping") -> Value:
    """Unknown Detection Precision: of the unknown objects found, the share called unknown.

    TP_u / (TP_u + FN*_u). Not the precision of the unknown label: false alarms do not enter.

    Args:
        matches: Matched detections.
        misnamed: The reading of FN*, as in UDR; `parts` has both.
    """
    found = _found(matches)
    total = matches.count_objects(_countable_unknown(matches))
    ignored = ignored_objects(matches, unknown=True)

    def read(which: Misnamed) -> Value:
        some = found + _misnamed(matches, which)
        value = Value.ratio(found, some, why="no unknown object is found under any label")
        return resting(value, ignored, found_objects=some, unknown_objects=total)

    return _with_readings(matches, read, misnamed)


def _with_readings(
    matches: Matches, read: Callable[[Misnamed], Value], misnamed: Misnamed
) -> Value:
    """A number under one reading of FN*; beside the data's own, both."""
    lookup(dict.fromkeys(get_args(Misnamed)), misnamed, "value of misnamed")
    value = read(misnamed)
    if matches.weights is not None or value.value is None:
        return value
    both = {which: read(which).value for which in get_args(Misnamed)}
    return replace(value, params={**value.params, "misnamed": misnamed}, parts=both)


@metric(
    "unknown_precision_at_recall",
    title="unknown precision at recall",
    paper="Joseph et al., CVPR 2021",
    of="ood",
)
def unknown_precision_at_recall(matches: Matches, *, recall: float | None = None) -> Value:
    """Precision of the unknown label at the point of nearest recall.

    OWOD logs it for recalls .1 to .9 as "avg precision"; it is one class and no average. `parts`
    has all levels of the protocol.
    """
    level = matches.protocol.recall if recall is None else recall
    if len(matches) == matches.known_end:
        return Value.missing(NO_LABEL)
    outcome = matches.outcome()
    # Known labels are masked out, so that only the class "unknown" is walked.
    hit, counted = (x & matches.labelled_unknown for x in (outcome.correct, ~outcome.ignored))
    if matches.weights is not None:
        return Value(_precision(matches, nearest_to(matches, level, hit, counted)))
    levels = sorted({*matches.protocol.recalls, level})
    points = nearest_to_each(matches, levels, hit, counted)
    numbers = _precision(matches, points).tolist()
    names = map(level_name, levels)
    parts = {k: None if np.isnan(v) else v for k, v in zip(names, numbers, strict=True)}
    found = parts[level_name(level)]
    why = "" if found is not None else "only ignored detections are labelled unknown there"
    value = Value(found, why, params={"recall": level}, parts=parts)
    said = neither(matches, matches.labelled_unknown)
    at_point = points.counts[0][-1, levels.index(level)]
    return resting(value, said, unknown_detections=at_point)


def _precision(matches: Matches, points: Points) -> NDArray[np.float64]:
    """Precision of the class "unknown" at its points; NaN where it has no detection at all."""
    counted, drawn = points.counts[0][-1], points.reached[-1]
    nothing = np.where(drawn, _of_nothing(matches), np.nan)
    return np.where(counted > 0, points.hits[-1] / np.maximum(counted, 1), nothing)


def _of_nothing(matches: Matches) -> float:
    """Precision where no detection counts: none, or the 0 that the VOC family prints."""
    return 0.0 if matches.protocol.empty_class in ("nan", "zero") else np.nan


def _true_unknown(matches: Matches) -> np.ndarray:
    return matches.count(matches.outcome().correct & matches.labelled_unknown)


def _found_mask(matches: Matches, limit: int | None = None) -> np.ndarray:
    outcome, start = matches.outcome(), matches.known_end
    correct = outcome.correct[start:]
    if limit is not None:
        correct = correct & matches.top(limit)[start:]
    mask = np.zeros(len(matches.objects), np.bool_)
    mask[outcome.object[start:][correct]] = True
    return mask


def _found(matches: Matches) -> np.ndarray:
    """Unknown objects found by a detection labelled unknown (TP_u)."""
    return matches.count_objects(_found_mask(matches))


def _misnamed(matches: Matches, which: Misnamed) -> np.ndarray:
    """Missed unknown objects that a known-labelled detection fires on (FN*_u)."""
    missed = _countable_unknown(matches) & ~_found_mask(matches)
    fired = matches.open_set_errors
    if which == "wrong":
        fired = fired & ~matches.outcome().correct
    return matches.count_objects(missed & hit_by(matches, fired))
