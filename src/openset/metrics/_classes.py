"""Class means: what published code does with classes that have no object, or no detection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics._by_class import ByClass, nanmean
from openset.metrics._left_out import Maybe, few_classes, ignored_objects, resting
from openset.metrics._spec import Value


def settle(
    values: NDArray[np.float64], matches: Matches, *, nan_counts_zero: bool = False
) -> NDArray[np.float64]:
    """Give classes without objects or detections the number that the protocol gives them.

    Args:
        values: Per class [K + 1, ...], NaN where a class has no object.
        matches: For counts and the protocol.
        nan_counts_zero: The quantity is 0, not NaN, without objects (11-point average precision).
    """
    rule = matches.protocol.empty_class
    objects = matches.positives > 0
    values = values.copy()
    if rule == "nan":
        values[~objects & (matches.detected_by_class == 0)] = 0.0
        if nan_counts_zero:
            values[~objects] = 0.0
    elif rule == "zero":
        values[~objects] = 0.0
    elif rule == "detected":
        values[~objects] = 0.0
        values[matches.detected_by_class == 0] = np.nan
    return values


def settled_by_detections(matches: Matches) -> bool:
    """Whether `settle` lets detections decide which classes have a number."""
    return matches.protocol.empty_class in ("nan", "detected") and matches.protocol.drop_nan


def without_unknown(matches: Matches) -> Value:
    """What a number about unknown objects is when there are none: no number, or FMIYC's 0."""
    if matches.protocol.empty_class == "zero":
        return Value(0.0)
    return Value.missing("there is no unknown object")


def where_unknown(matches: Matches, numbers: NDArray[Any], present: NDArray[Any]) -> Value:
    """Numbers about unknown objects per resample, where a resample has such objects."""
    absent = 0.0 if matches.protocol.empty_class == "zero" else np.nan
    return Value(np.where(present > 0, numbers, absent))


def share_of_unknown(matches: Matches, part: Any, total: Any, *left: Maybe, **more: Any) -> Value:
    """A part of the unknown objects over all of them, on the data or per resample.

    Args:
        matches: For what is ignored, and the protocol.
        part: How many of them.
        total: How many there are.
        left: What else was left out.
        more: Further fields of the value.
    """
    if np.ndim(total):
        return where_unknown(matches, Value.ratio(part, total).value, total)
    value = Value.ratio(part, total, **more) if total else without_unknown(matches)
    return resting(value, ignored_objects(matches, unknown=True), *left, unknown_objects=total)


def class_mean(
    values: NDArray[np.float64],
    matches: Matches,
    classes: Sequence[int],
    what: str,
    *,
    lacking: str = "have no object",
    by_detections: bool = False,
) -> Value:
    """Mean over some classes, with NaN dropped or propagated as the protocol says.

    Args:
        values: Per class [K + 1], and per resample if there are weights.
        matches: For names and the protocol.
        classes: Which of them.
        what: What they are called.
        lacking: What is the matter with classes that have no number.
        by_detections: Whether detections decide which classes have a number; those of two detectors
            may then differ, and the classes are kept in every resample.
    """
    chosen = values[list(classes)]
    names = (*matches.vocabulary.known, "unknown")
    by_class = partial(ByClass.of, "mean", [names[c] for c in classes], chosen)
    if chosen.ndim > 1:
        found = _means_of_resamples(chosen, drop=matches.protocol.drop_nan or not len(classes))
        return replace(found, by_class=by_class().present() if by_detections else None)
    parts = {names[c]: _none_if_nan(v) for c, v in zip(classes, chosen.tolist(), strict=True)}
    kept = chosen[~np.isnan(chosen)]
    if not len(classes):
        return Value.missing(f"there are no {what}")
    if not len(kept):
        return Value.missing(f"none of the {len(classes)} {what} has an object", parts=parts)
    if len(kept) < len(chosen) and not matches.protocol.drop_nan:
        first = next(name for name, value in parts.items() if value is None)
        why = f"{first!r} has detections but no object, and {matches.protocol.name} lets NaN spread"
        return Value.missing(why, parts=parts)
    value = Value(float(np.mean(kept)), parts=parts, by_class=by_class().present())
    few = few_classes(len(kept), len(classes), lacking, what)
    return resting(value, few, classes=len(kept), all_classes=len(classes))


def _means_of_resamples(values: NDArray[np.float64], *, drop: bool) -> Value:
    """The class mean of every resample, and the bias that these means hide.

    A resample without a rare class is the mean of the others, so that what half of the images do
    to a rare class hardly shows. Each class is therefore followed through the resamples it is in.
    """
    if not drop:
        return Value(np.asarray(values.mean(axis=0)))
    present = ~np.isnan(values)
    means, alone = nanmean(values), nanmean(values.T)
    if present.all() or not present.any():
        return Value(means)
    return Value(means, bias=float(np.nanmean(alone) - np.nanmean(means)))


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else value
