"""Wilderness Impact: what unknown objects do to the precision of known classes.

Dhamija et al. (WACV 2020) print ``WI = P_closed / P_open - 1 = FP_open / (TP_closed + FP_closed)``
at a fixed recall of each class. Six readings of that line are published, and on one data set they
range over a factor of ten, so the variant is part of the number:

- ``pooled``: the printed formula. Per class the score threshold at which recall on closed-set
  images is reached; counts pooled over classes; FP_open are detections on wild images.
- ``mean-precision``: ratio of the class means of precision, at the same thresholds.
- ``mean-ratio``: class mean of the ratios.
- ``elephant``: the authors' code: ratio of class means of *interpolated* precision, re-thresholded
  on the enlarged image set, float32.
- ``ratio-of-sums``: OWOD, RE-OWOD, opendet2, OSOD-III and FMIYC: known detections that overlap an
  unknown object, over *all* detections of known classes, at the nearest recall. Its denominator
  contains the open-set errors: if each of them is a false positive, printed = x / (1 - x).
- ``nearest-recall``: the printed formula at that operating point, for one set of images: false
  positives on unknown objects over all other detections of known classes.

Not comparable across benchmarks with another wilderness ratio, nor between variants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.matching.counting import wild_wanted
from openset.metrics._by_class import ByClass, divided, nanmean
from openset.metrics._left_out import (
    Maybe,
    also,
    few_classes,
    few_detected,
    ignored_objects,
    neither,
    resting,
)
from openset.metrics._points import level_name, published_by, weights_of
from openset.metrics._spec import Left, Value, metric
from openset.metrics._wilderness import (
    AT_THRESHOLDS,
    VARIANTS,
    WITHOUT_SPLIT,
    Kept,
    at_thresholds,
    curve_levels,
    elephant,
    first_wild,
    kept_at,
    pooled_average,
)
from openset.metrics.average_precision import ap_known
from openset.plugins import lookup

DHAMIJA = "Dhamija et al., The Overlooked Elephant of Object Detection: Open Set, WACV 2020"

NO_SPLIT = "this variant knows no split into closed and wild images"


@metric(
    "wilderness_impact",
    title="Wilderness Impact",
    better="lower",
    range=(None, None),
    scale="log",
    paper=DHAMIJA,
    headline=True,
)
def wilderness_impact(
    matches: Matches,
    *,
    recall: float | None = None,
    ratio: float | None = None,
    variant: str | None = None,
) -> Value:
    """Loss of precision of known classes due to unknown objects, at a recall level.

    WI = FP_open / (TP_closed + FP_closed) in the printed form; see the module for the variants.
    `count` is the denominator, and `rests_on` has all three counts and the classes that reach the
    recall: the others take no part, which is said beside the number. Negative values are possible
    in the interpolated variant when wild images also hold known objects.

    Args:
        matches: Matched detections.
        recall: Recall level of the known classes (the protocol's by default).
        ratio: Wilderness ratio: that many wild images per closed-set image are taken, in the order
            of their ids (in Elephant's protocol in that of the file); all of them by default. Not
            for ``ratio-of-sums`` and ``nearest-recall``,
            which know no split.
        variant: One of the six readings (the protocol's by default).
    """
    level = matches.protocol.recall if recall is None else recall
    name = variant or matches.protocol.wilderness
    lookup(dict.fromkeys(VARIANTS), name, "variant of Wilderness Impact")
    data, unused = matches, _beyond_ratio(0)
    shown: dict[str, Any] = {"recall": level, "variant": name, "iou": matches.protocol.iou[0]}
    shown |= published_by(matches)
    if name in WITHOUT_SPLIT:
        return _without_split(matches, name, shown, ratio)
    missing = _no_split(matches)
    if missing:
        return Value.missing(missing, params=shown)
    wild, closed = int(matches.wild.sum()), int((~matches.wild).sum())
    shown["ratio"] = wild / closed if ratio is None else ratio
    wanted = wild if ratio is None else wild_wanted(ratio, closed)
    if wanted > wild:
        why = f"there are too few wild images for a ratio of {ratio}"
        return Value.missing(why, params=shown)
    if wanted < wild:
        matches, unused = _with_first_wild(matches, wanted), _beyond_ratio(wild - wanted)
    by_class, kept = _reading(matches, name, level)
    numbers, by_class = by_class.number(), by_class.present()
    if data.weights is not None:
        both = (matches.count_images(x) > 0 for x in (matches.wild, ~matches.wild))
        drawn = np.logical_and(*both)
        by_class = replace(by_class, terms=np.where(drawn, by_class.terms, np.nan))
        return Value(np.where(drawn, numbers, np.nan), by_class=by_class)
    if not np.isfinite(numbers[0]):
        return Value.missing(_no_point(matches, name, level), params=shown)
    value = Value(float(numbers[0]), params=shown, by_class=by_class)
    return _resting(value, data, kept, unused)


def _without_split(
    matches: Matches, variant: str, shown: dict[str, Any], ratio: float | None
) -> Value:
    """A reading that knows no split: errors over detections, each class at its nearest recall."""
    if ratio is not None:
        return Value.missing(NO_SPLIT, params=shown | {"ratio": ratio})
    above, below = WITHOUT_SPLIT[variant](matches, shown["recall"])
    numbers = divided(above, below)
    if matches.weights is not None:
        return Value(numbers)
    if not np.isfinite(numbers[0]):
        return Value.missing(_no_point(matches, variant, shown["recall"]), params=shown)
    said = few_detected(matches), neither(matches, ~matches.labelled_unknown)
    counts = {"known_detections": below[0], "open_set_errors": above[0]}
    return resting(Value(float(numbers[0]), params=shown), *said, **counts)


def _beyond_ratio(images: int) -> Maybe:
    """What a wilderness ratio, or the end of a curve of them, leaves out."""
    return Left(images, "wild image", "beyond the ratio") if images else None


def _reading(matches: Matches, variant: str, recall: float) -> tuple[ByClass, Kept | None]:
    """A reading that knows a split, by class; and what is kept where classes reach the recall."""
    if variant == "elephant":
        return elephant(matches, recall), None
    kept = kept_at(matches, recall)
    return AT_THRESHOLDS[variant](kept, matches.vocabulary.known), kept


def _resting(value: Value, matches: Matches, kept: Kept | None, *left: Maybe) -> Value:
    """A number of the data itself with what it rests on, if each class stands at its recall."""
    ignored = ignored_objects(matches, unknown=False), neither(matches, ~matches.labelled_unknown)
    if kept is None:
        detected = np.count_nonzero(matches.detected_by_class[:-1])
        counts = {"classes": detected, "known_classes": matches.n_known}
        return resting(value, few_detected(matches), *ignored, *left, **counts)
    total, right, wrong = (int(np.nansum(column[..., -1])) for column in kept)
    reached, classes = int(np.isfinite(kept.total[..., -1]).sum()), matches.n_known
    counts = {
        "closed_detections": total,
        "fp_open": wrong,
        "tp_closed": right,
        "fp_closed": total - right,
        "classes_reached": reached,
        "known_classes": classes,
    }
    few = few_classes(reached, classes, f"do not reach recall {value.params['recall']:g}")
    # What one false positive more would add to the printed formula.
    stepped = replace(value, step=1 / total if total else 0.0)
    return resting(stepped, few, *ignored, *left, **counts)


def _no_point(matches: Matches, variant: str, level: float) -> str:
    """Why there is no number at a recall."""
    if not matches.known_end:
        return "no detection has a known label"
    if variant in WITHOUT_SPLIT:  # each class stands at its nearest recall, however far
        return "every detection of a known class is ignored up to its nearest recall"
    return f"no known class reaches recall {level}"


def _no_split(matches: Matches) -> str:
    """Why closed-set and wild images cannot be told apart, or nothing."""
    if matches.wild.all():
        return "there is no closed-set image: the split of closed and open set is empty"
    return "" if matches.wild.any() else "there is no wild image: the open set is empty"


def _with_first_wild(matches: Matches, wanted: int) -> Matches:
    member, weights = first_wild(matches, np.array([wanted])), weights_of(matches)
    return matches.resampled(weights * member, weights)


@metric(
    "average_wilderness_impact",
    title="AWI",
    better="lower",
    range=(None, None),
    scale="log",
    paper=DHAMIJA,
)
def average_wilderness_impact(
    matches: Matches,
    *,
    recall: float | None = None,
    variant: str | None = None,
    include_zero: bool = False,
) -> Value:
    """Mean of Wilderness Impact over wilderness ratios 0.1, 0.2, ... (AWI).

    The paper names it and gives no code; it does not say whether ratio 0, where WI is 0, belongs
    to the mean. `include_zero` includes it. `parts` is the curve. Only the pooled reading has an
    interval. The curve ends where wild images end: with few of them a little more or less adds or
    removes a ratio, and the mean jumps; the interval allows for it.
    """
    if matches.weights is not None:
        return _resampled_average(matches, recall, variant)
    curve = wilderness_curve(matches, recall=recall, variant=variant)
    if curve.value is None:
        return curve
    values = [v for level, v in curve.parts.items() if include_zero or float(level) > 0]
    if not values or None in values:
        return Value.missing("the curve has undefined points", parts=curve.parts)
    mean = float(np.mean(np.array(values, np.float64)))
    level, name = curve.params["recall"], curve.params["variant"]
    by_class = pooled_average(matches, level).present() if name == "pooled" else None
    return replace(curve, value=mean, by_class=None if include_zero else by_class)


def _resampled_average(matches: Matches, recall: float | None, variant: str | None) -> Value:
    if (variant or matches.protocol.wilderness) != "pooled" or _no_split(matches):
        return Value.missing("only the pooled reading is resampled")
    level = matches.protocol.recall if recall is None else recall
    average = pooled_average(matches, level)
    return Value(average.number(), by_class=average.present())


@metric(
    "wilderness_curve",
    title="WI curve (end)",
    better="lower",
    range=(None, None),
    paper=DHAMIJA,
    resampled=False,
)
def wilderness_curve(
    matches: Matches, *, recall: float | None = None, variant: str | None = None
) -> Value:
    """Wilderness Impact against the wilderness ratio; the value is the curve's last point.

    Ratios are 0, 0.1, 0.2, ... as far as there are wild images; images join in the order of their
    ids, whatever the order of the file; in Elephant's protocol in that of the file, as published.
    `parts` holds the curve.
    """
    name = variant or matches.protocol.wilderness
    level = matches.protocol.recall if recall is None else recall
    if name in WITHOUT_SPLIT:
        return Value.missing(NO_SPLIT)
    missing = _no_split(matches)
    if missing:
        return Value.missing(missing)
    ratios, wanted = curve_levels(matches)
    lookup(dict.fromkeys(VARIANTS), name, "variant of Wilderness Impact")
    along, kept = _reading(_along(matches, wanted), name, level)
    values = along.number()
    parts = _by_ratio(ratios, values)
    last = parts[f"{ratios[-1]:.1f}"]
    shown = {"recall": level, "variant": name, "ratio": float(ratios[-1])}
    if last is None:
        return Value.missing(f"no class reaches recall {level}", parts=parts, params=shown)
    end = replace(along, terms=along.terms[..., -1:]).present()
    value = Value(last, params=shown, parts=parts, by_class=end)
    unused = int(np.count_nonzero(matches.wild) - wanted[-1])
    return _resting(value, matches, kept, _beyond_ratio(unused))


def _along(matches: Matches, wanted: NDArray[np.int64]) -> Matches:
    """The matches at each wilderness ratio; objects stay, so that recall keeps its base."""
    member = first_wild(matches, wanted)
    return matches.resampled(member, np.ones_like(member))


def _by_ratio(ratios: NDArray[np.float64], values: NDArray[np.float64]) -> dict[str, float | None]:
    pairs = zip(ratios, values.tolist(), strict=True)
    return {f"{ratio:.1f}": None if np.isnan(value) else value for ratio, value in pairs}


@metric(
    "ap_known_curve",
    title="AP known (end of WI curve)",
    paper=DHAMIJA,
    resampled=False,
)
def ap_known_curve(matches: Matches, *, iou: float | None = None) -> Value:
    """AP of known classes at one IoU against the wilderness ratio; the value is the last point.

    Ratios and images as in `wilderness_curve`. Recall keeps all known objects as its base, so that
    the curve falls by false positives alone. `parts` holds the curve.
    """
    missing = _no_split(matches)
    if missing:
        return Value.missing(missing)
    ratios, wanted = curve_levels(matches)
    level = matches.protocol.iou[0] if iou is None else iou
    values = ap_known(_along(matches, wanted), iou=level).value
    parts = _by_ratio(ratios, values)
    last = parts[f"{ratios[-1]:.1f}"]
    shown = {"ratio": float(ratios[-1]), "iou": level}
    if last is None:
        return Value.missing("no known class has an object", params=shown, parts=parts)
    unused = _beyond_ratio(int(np.count_nonzero(matches.wild) - wanted[-1]))
    whole = ap_known(matches, iou=level)
    return also(replace(whole, value=last, params=shown, parts=parts), unused)


@metric(
    "score_at_recall",
    title="score at recall",
    better=None,
    range=(None, None),
    unit="score",
    paper=DHAMIJA,
    resampled=False,
)
def score_at_recall(matches: Matches, *, recall: float | None = None) -> Value:
    """Score at which known classes reach a recall on closed-set images: WI's operating point.

    The value is the mean over the classes that reach it; `parts` has every class.
    """
    level = matches.protocol.recall if recall is None else recall
    above, *_ = at_thresholds(matches, level, np.ones(len(matches), np.bool_))[2:]
    names = matches.vocabulary.known
    parts: dict[str, float | None] = dict.fromkeys(names)
    for klass in np.flatnonzero(~np.isnan(above[:, 0])):
        last = int(matches.class_start[klass] + above[klass, 0]) - 1
        parts[names[klass]] = float(matches.score[last])
    found = [score for score in parts.values() if score is not None]
    shown = {"recall": level}
    if not found:
        return Value.missing(f"no known class reaches recall {level}", params=shown, parts=parts)
    by_class = ByClass.of("mean", names, np.array(list(parts.values()), np.float64)).present()
    value = Value(float(np.mean(found)), params=shown, parts=parts, by_class=by_class)
    few = few_classes(len(found), len(names), f"do not reach recall {level:g}")
    return resting(value, few, classes_reached=len(found), known_classes=len(names))


@metric(
    "wilderness_ratio",
    title="wilderness ratio",
    better=None,
    range=(0, None),
    paper=DHAMIJA,
    unit="score",
)
def wilderness_ratio(matches: Matches) -> Value:
    """Wild images per closed-set image: a property of the data, not of the detector."""
    wild = matches.count_images(matches.wild)
    closed = matches.count_images(~matches.wild)
    value = Value.ratio(wild, closed, why="there is no closed-set image")
    return resting(value, closed_images=closed, wild_images=wild)


@metric(
    "wilderness_profile",
    title="WI at score 0.5",
    better="lower",
    range=(0, 1),
    paper="Hosoya et al., Rectifying Open-set Object Detection, Fig. 3",
    resampled=False,
)
def wilderness_profile(matches: Matches, *, threshold: float = 0.5) -> Value:
    """Share of open-set errors among known detections above a score, class mean, by threshold.

    At each threshold 0, .05, ..., .95 a class stands at its detection of nearest confidence; the
    share of its detections so far that overlap an unknown object is averaged over classes with
    detections. A mean of ratios, unlike `wilderness_impact` in the variant ``ratio-of-sums``.
    Ignored detections take no part; the protocols of OWOD and its descendants count their errors
    all the same, so that a share may exceed 1, and have no mean where a class has no share.
    """
    levels = np.round(np.arange(0, 1, 0.05), 2)
    published = matches.protocol.wilderness == "ratio-of-sums"
    counts = ~matches.outcome().ignored
    errors = matches.open_set_errors & (counts | published)
    rows = []
    for low, high in zip(matches.class_start[:-2], matches.class_start[1:-1], strict=True):
        if low == high:
            continue
        at = _nearest_score(matches.score[low:high], levels)
        wrong, counted = (np.cumsum(mask[low:high])[at] for mask in (errors, counts))
        rows.append(divided(wrong, counted))
    if not rows:
        return Value.missing("no known class has detections")
    means = np.mean(rows, axis=0) if published else nanmean(np.array(rows))
    names = map(level_name, levels.tolist())
    parts = {k: None if np.isnan(v) else v for k, v in zip(names, means.tolist(), strict=True)}
    chosen = lookup(parts, level_name(threshold), "threshold")
    why = "" if chosen is not None else "a known class has only ignored detections there"
    value = Value(chosen, why, params={"threshold": threshold}, parts=parts)
    said = few_detected(matches), neither(matches, ~matches.labelled_unknown)
    return resting(value, *said, classes=len(rows), known_classes=matches.n_known)


def _nearest_score(falling: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.intp]:
    """First index of the score nearest to each level, in scores that fall."""
    below = np.searchsorted(-falling, -levels).clip(0, len(falling) - 1)
    above = np.searchsorted(-falling, -falling[np.maximum(below - 1, 0)])
    closer = np.abs(falling[above] - levels) <= np.abs(falling[below] - levels)
    return np.where(closer, above, np.searchsorted(-falling, -falling[below]))
