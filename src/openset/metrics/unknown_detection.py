"""Unknown detection: are unknown objects found, and are they called unknown?

Unknown recall asks both at once; Zhao et al. split it into UDR (found under any label) and UDP
(called unknown, once found), with ``unknown_recall = UDR * UDP``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics._classes import share_of_unknown
from openset.metrics._points import Points, level_name, nearest_to, nearest_to_each
from openset.metrics._spec import Value, metric
from openset.metrics.open_set_error import _countable_unknown, _hit_by_known

NO_LABEL = "no detection is labelled unknown"
ZHAO = "Zhao et al., Revisiting Open World Object Detection, TCSVT 2023"


@metric("unknown_recall", title="unknown recall", paper="Joseph et al., CVPR 2021", headline=True)
def unknown_recall(matches: Matches) -> Value:
    """Share of unknown objects that a detection labelled unknown finds (U-Recall, R_U).

    TP_u / (TP_u + FN_u) at the protocol's IoU over all detections labelled unknown: no score
    threshold but the detector's own.
    """
    total = matches.count_objects(_countable_unknown(matches))
    shown = {"iou": matches.protocol.iou[0]}
    return share_of_unknown(matches, _found(matches), total, params=shown)


@metric(
    "unknown_precision", title="unknown precision", paper="Han et al., CVPR 2022", headline=True
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
    return Value(0.0) if value.value is None and _of_nothing(matches) == 0 else value


@metric("udr", title="UDR", paper=ZHAO, headline=True)
def udr(matches: Matches) -> Value:
    """Unknown Detection Recall: share of unknown objects found under any label.

    (TP_u + FN*_u) / (TP_u + FN_u), where FN*_u are missed unknown objects that are the best unknown
    object of a known-labelled detection. The authors released no code; this follows OSOD-III's.
    """
    total = matches.count_objects(_countable_unknown(matches))
    return share_of_unknown(matches, _found(matches) + _misnamed(matches), total)


@metric("udp", title="UDP", paper=ZHAO, headline=True)
def udp(matches: Matches) -> Value:
    """Unknown Detection Precision: of the unknown objects found, the share called unknown.

    TP_u / (TP_u + FN*_u). Not the precision of the unknown label: false alarms do not enter.
    """
    found = _found(matches)
    why = "no unknown object is found under any label"
    return Value.ratio(found, found + _misnamed(matches), why=why)


@metric(
    "unknown_precision_at_recall",
    title="unknown precision at recall",
    paper="Joseph et al., CVPR 2021",
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
    numbers = _precision(matches, nearest_to_each(matches, levels, hit, counted)).tolist()
    names = map(level_name, levels)
    parts = {k: None if np.isnan(v) else v for k, v in zip(names, numbers, strict=True)}
    found = parts[level_name(level)]
    why = "" if found is not None else "only ignored detections are labelled unknown there"
    return Value(found, why, params={"recall": level}, parts=parts)


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


def _found_mask(matches: Matches) -> np.ndarray:
    outcome = matches.outcome()
    mask = np.zeros(len(matches.objects), np.bool_)
    mask[outcome.object[matches.known_end :][outcome.correct[matches.known_end :]]] = True
    return mask


def _found(matches: Matches) -> np.ndarray:
    """Unknown objects found by a detection labelled unknown (TP_u)."""
    return matches.count_objects(_found_mask(matches))


def _misnamed(matches: Matches) -> np.ndarray:
    """Missed unknown objects that a known-labelled detection fires on (FN*_u)."""
    missed = _countable_unknown(matches) & ~_found_mask(matches)
    return matches.count_objects(missed & _hit_by_known(matches))
