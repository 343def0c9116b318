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

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics._spec import Value, metric
from openset.metrics._tally import (
    first_reaching,
    n_columns,
    nearest,
    pick,
    positives_of,
    tallies,
)
from openset.metrics.average_precision import ap_known
from openset.plugins import lookup

DHAMIJA = "Dhamija et al., The Overlooked Elephant of Object Detection: Open Set, WACV 2020"
WITHOUT_SPLIT = frozenset({"ratio-of-sums", "nearest-recall"})
LEVELS = 0.1  # step of the wilderness ratio in curves, as in the authors' code


@metric(
    "wilderness_impact",
    title="Wilderness Impact",
    better="lower",
    range=(None, None),
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
    `count` is the denominator. Negative values are possible in the interpolated variant when wild
    images also hold known objects.

    Args:
        matches: Matched detections.
        recall: Recall level of the known classes (the protocol's by default).
        ratio: Wilderness ratio: that many wild images per closed-set image are taken, in the order
            of the file; all of them by default. Not for ``ratio-of-sums`` and ``nearest-recall``,
            which know no split.
        variant: One of the six readings (the protocol's by default).
    """
    level = matches.protocol.recall if recall is None else recall
    name = variant or matches.protocol.wilderness
    compute = lookup(_VARIANTS, name, "variant of Wilderness Impact")
    shown: dict[str, Any] = {"recall": level, "variant": name, "iou": matches.protocol.iou[0]}
    if name in WITHOUT_SPLIT:
        return compute(matches, level, None).with_params(**shown)
    wild = int(matches.wild.sum())
    if wild == 0 or wild == matches.n_images:
        which = "no wild image" if wild == 0 else "no closed-set image"
        return Value.missing(f"there is {which}: the split of closed and open set is empty")
    chosen = None if ratio is None else _wild_images(matches, ratio)
    if ratio is not None and chosen is None:
        return Value.missing(f"there are too few wild images for a ratio of {ratio}", params=shown)
    used = ratio if ratio is not None else wild / (matches.n_images - wild)
    return compute(matches, level, chosen).with_params(ratio=used, **shown)


@metric(
    "average_wilderness_impact",
    title="AWI",
    better="lower",
    range=(None, None),
    paper=DHAMIJA,
    resampled=False,
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
    to the mean. `include_zero` includes it. `parts` is the curve.
    """
    curve = wilderness_curve(matches, recall=recall, variant=variant)
    if curve.value is None:
        return curve
    values = [v for level, v in curve.parts.items() if include_zero or float(level) > 0]
    if not values or None in values:
        return Value.missing("the curve has undefined points", parts=curve.parts)
    mean = float(np.mean(np.array(values, np.float64)))
    return Value(mean, count=len(values), params=curve.params, parts=curve.parts)


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

    Ratios are 0, 0.1, 0.2, ... as far as there are wild images; images join in the order of the
    file. `parts` holds the curve.
    """
    name = variant or matches.protocol.wilderness
    level = matches.protocol.recall if recall is None else recall
    if name in WITHOUT_SPLIT:
        return Value.missing("this variant knows no split into closed and wild images")
    if not matches.wild.any() or matches.wild.all():
        return Value.missing("the split of closed and open set is empty")
    ratios, member = _levels(matches)
    whole = matches.resampled(member)
    values = _VARIANTS[name](whole, level, matches.positives[:-1, None]).value
    parts = {
        f"{ratio:.1f}": None if np.isnan(v) else float(v)
        for ratio, v in zip(ratios, values, strict=True)
    }
    last = parts[f"{ratios[-1]:.1f}"]
    shown = {"recall": level, "variant": name, "ratio": float(ratios[-1])}
    if last is None:
        return Value.missing(f"no class reaches recall {level}", parts=parts, params=shown)
    return Value(last, count=len(ratios), params=shown, parts=parts)


@metric(
    "ap_known_curve",
    title="AP known (end of WI curve)",
    paper=DHAMIJA,
    resampled=False,
)
def ap_known_curve(matches: Matches, *, iou: float | None = None) -> Value:
    """AP of known classes against the wilderness ratio; the value is the curve's last point.

    Ratios and images as in `wilderness_curve`. Recall keeps all known objects as its base, so that
    the curve falls by false positives alone. `parts` holds the curve.
    """
    if not matches.wild.any() or matches.wild.all():
        return Value.missing("the split of closed and open set is empty")
    ratios, member = _levels(matches)
    points = [ap_known(matches.on(column.astype(np.bool_)), iou=iou) for column in member.T]
    parts = {f"{ratio:.1f}": point.value for ratio, point in zip(ratios, points, strict=True)}
    last = points[-1]
    return Value(last.value, last.reason, len(points), {"ratio": float(ratios[-1])}, parts)


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
    correct = matches.outcome().correct & ~matches.wild[matches.image]
    positives = _closed_positives(matches)
    parts: dict[str, float | None] = dict.fromkeys(matches.vocabulary.known)
    for tally in tallies(matches, correct):
        stop = int(first_reaching(tally, positives[tally.klass], level)[0])
        if stop >= 0:
            name = matches.vocabulary.known[tally.klass]
            parts[name] = float(matches.score[tally.positions[stop]])
    found = [score for score in parts.values() if score is not None]
    shown = {"recall": level}
    if not found:
        return Value.missing(f"no known class reaches recall {level}", params=shown, parts=parts)
    return Value(float(np.mean(found)), count=len(found), params=shown, parts=parts)


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
    return Value.ratio(wild, closed, why="there is no closed-set image")


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
    """
    levels = np.round(np.arange(0, 1, 0.05), 2)
    wrong = np.concatenate([[0], np.cumsum(matches.open_set_errors)])
    counted = np.concatenate([[0], np.cumsum(~matches.outcome().ignored)])
    rows = []
    for low, high in zip(matches.class_start[:-2], matches.class_start[1:-1], strict=True):
        if low == high:
            continue
        at = low + _nearest_score(matches.score[low:high], levels) + 1
        with np.errstate(invalid="ignore"):
            rows.append((wrong[at] - wrong[low]) / (counted[at] - counted[low]))
    if not rows:
        return Value.missing("no known class has detections")
    values = np.mean(rows, axis=0)
    parts = {
        f"{t:.2f}": None if np.isnan(v) else float(v) for t, v in zip(levels, values, strict=True)
    }
    chosen = lookup(parts, f"{threshold:.2f}", "threshold")
    why = "" if chosen is not None else "a class has only ignored detections there"
    return Value(chosen, why, params={"threshold": threshold}, parts=parts)


def _nearest_score(falling: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.intp]:
    """First index of the score nearest to each level, in scores that fall."""
    below = np.searchsorted(-falling, -levels).clip(0, len(falling) - 1)
    above = np.searchsorted(-falling, -falling[np.maximum(below - 1, 0)])
    closer = np.abs(falling[above] - levels) <= np.abs(falling[below] - levels)
    return np.where(closer, above, np.searchsorted(-falling, -falling[below]))


# ---------------------------------------------------------------------- operating points


def _ratio_of_sums(matches: Matches, recall: float, _: Any) -> Value:
    return _at_nearest(matches, recall, matches.open_set_errors, ~matches.outcome().ignored)


def _nearest_recall(matches: Matches, recall: float, _: Any) -> Value:
    outcome = matches.outcome()
    wrong = matches.open_set_errors & outcome.wrong
    return _at_nearest(matches, recall, wrong, ~(outcome.ignored | wrong))


def _at_nearest(
    matches: Matches, recall: float, part: NDArray[np.bool_], whole: NDArray[np.bool_]
) -> Value:
    """Ratio of two counts of detections, each class cut at its nearest recall."""
    above = np.zeros(n_columns(matches))
    below = np.zeros(n_columns(matches))
    for tally in tallies(matches, matches.outcome().correct, part, whole):
        at = nearest(tally, positives_of(matches, tally), recall)
        above[tally.columns] += pick(tally.counts[0], at)
        below[tally.columns] += pick(tally.counts[1], at)
    return _single(matches, above, below, "no known class has detections")


def _single(matches: Matches, above: Any, below: Any, why: str) -> Value:
    if matches.weights is None:
        return Value.ratio(above[0], below[0], why=why)
    return Value.ratio(above, below)


def _closed_points(
    matches: Matches, recall: float, wild: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], ...]:
    """Per class and column: TP + FP on closed images, TP, and FP on wild images, at one threshold.

    The threshold of a class is the score at which its recall on closed-set images reaches the
    level; classes that never reach it are NaN.
    """
    outcome = matches.outcome()
    open_image = matches.wild if wild is None else wild
    closed, is_open = ~matches.wild[matches.image], open_image[matches.image]
    correct, counted = outcome.correct & closed, ~outcome.ignored & closed
    extra = ~outcome.ignored & is_open
    shape = (matches.n_known, n_columns(matches))
    total, right, wrong = (np.full(shape, np.nan) for _ in range(3))
    positives = _closed_positives(matches)
    for tally in tallies(matches, correct, counted, correct, extra, whole_ties=True):
        at = first_reaching(tally, positives[tally.klass, tally.columns], recall)
        for table, counts in zip((total, right, wrong), tally.counts, strict=True):
            table[tally.klass, tally.columns] = np.where(at < 0, np.nan, pick(counts, at))
    return total, right, wrong


def _closed_positives(matches: Matches) -> NDArray[np.float64]:
    objects = matches.objects
    keep = ~objects.ignored & ~matches.wild[objects.image] & (objects.klass < matches.n_known)
    table = np.zeros((matches.n_known, matches.n_images))
    np.add.at(table, (objects.klass[keep], objects.image[keep]), 1)
    if matches.weights is None:
        return table.sum(axis=1, keepdims=True)
    return np.asarray(table @ matches.weights)


def _pooled(matches: Matches, recall: float, wild: Any) -> Value:
    total, _, wrong = _closed_points(matches, recall, _mask(matches, wild))
    why = f"no known class reaches recall {recall} on closed-set images"
    return _single(matches, np.nansum(wrong, axis=0), np.nansum(total, axis=0), why)


def _mean_precision(matches: Matches, recall: float, wild: Any) -> Value:
    total, right, wrong = _closed_points(matches, recall, _mask(matches, wild))
    return _finish(matches, _nanmean(right / total) / _nanmean(right / (total + wrong)) - 1, recall)


def _mean_ratio(matches: Matches, recall: float, wild: Any) -> Value:
    total, _, wrong = _closed_points(matches, recall, _mask(matches, wild))
    return _finish(matches, _nanmean(wrong / total), recall)


def _nanmean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(present, values, 0).sum(axis=0) / present.sum(axis=0))


def _finish(matches: Matches, values: NDArray[np.float64], recall: float) -> Value:
    if matches.weights is not None:
        return Value(values)
    if not np.isfinite(values[0]):
        return Value.missing(f"no known class reaches recall {recall}")
    return Value(float(values[0]), count=matches.n_known)


def _mask(matches: Matches, wild: Any) -> NDArray[np.bool_] | None:
    """The chosen wild images as a mask; under `wilderness_curve` the weights choose them."""
    return wild if isinstance(wild, np.ndarray) and wild.dtype == np.bool_ else None


def _elephant(matches: Matches, recall: float, wild: Any) -> Value:
    """Ratio of class means of interpolated precision: without wild images, and with them."""
    if matches.weights is None:
        member = np.ones((matches.n_images, 2), np.uint8)
        member[matches.wild, 0] = 0
        chosen = _mask(matches, wild)
        if chosen is not None:
            member[:, 1] = ~matches.wild | chosen
        mean = _interpolated(matches.resampled(member), recall, matches.positives[:-1, None])
        return _finish(matches, (mean[:1] / mean[1:] - 1).astype(np.float64), recall)
    positives = wild if isinstance(wild, np.ndarray) and wild.dtype != np.bool_ else None
    if positives is not None:  # columns are ratios, the first without wild images
        mean = _interpolated(matches, recall, positives)
        return Value((mean[0] / mean - 1).astype(np.float64))
    closed = matches.resampled(matches.weights * ~matches.wild[:, None])
    without = _interpolated(closed, recall, matches.positives[:-1])
    return Value(
        (without / _interpolated(matches, recall, matches.positives[:-1]) - 1).astype(float)
    )


def _interpolated(matches: Matches, recall: float, positives: Any) -> NDArray[np.float32]:
    """Class mean of the envelope precision at a recall, over classes with detections, in float32."""
    outcome = matches.outcome()
    values = np.full((matches.n_known, n_columns(matches)), np.nan, np.float32)
    counted = ~outcome.ignored
    level = np.float32(recall)
    for tally in tallies(matches, outcome.correct, counted):
        n = positives[tally.klass].astype(np.float32)
        n = n[tally.columns] if n.size > 1 else n
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = (tally.hits / tally.counts[0]).astype(np.float32)
            reached = tally.hits.astype(np.float32) / n >= level
        high = np.where(reached & ~np.isnan(precision), precision, 0).max(axis=0)
        present = _detected(matches, tally.klass, tally.columns)
        values[tally.klass, tally.columns] = np.where(present, high, np.nan)
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.where(present, values, np.float32(0)).sum(axis=0, dtype=np.float32)
        return np.asarray(total / present.sum(axis=0).astype(np.float32))


def _detected(matches: Matches, klass: int, columns: slice) -> NDArray[np.bool_]:
    """Per column: whether the class has any detection on the images drawn."""
    assert matches.weights is not None
    low, high = matches.class_start[klass], matches.class_start[klass + 1]
    images = np.unique(matches.image[low:high])
    return np.asarray(matches.weights[images, columns].any(axis=0))


_VARIANTS: dict[str, Callable[[Matches, float, Any], Value]] = {
    "pooled": _pooled,
    "mean-precision": _mean_precision,
    "mean-ratio": _mean_ratio,
    "elephant": _elephant,
    "ratio-of-sums": _ratio_of_sums,
    "nearest-recall": _nearest_recall,
}


# ---------------------------------------------------------------------- wilderness ratios


def _wild_images(matches: Matches, ratio: float) -> NDArray[np.bool_] | None:
    """The first wild images, that many per closed-set image; None if there are too few."""
    wanted = int(ratio * int((~matches.wild).sum()))
    wild = np.flatnonzero(matches.wild)
    if wanted > len(wild):
        return None
    mask = np.zeros(matches.n_images, np.bool_)
    mask[wild[:wanted]] = True
    return mask


def _levels(matches: Matches) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Wilderness ratios 0, 0.1, ..., below 5, and which images take part at each.

    The authors' code multiplies float32 levels; under NumPy 1 the product was float64 and a level
    could lose an image, which `numpy1_levels` reproduces.
    """
    closed = int((~matches.wild).sum())
    steps = np.arange(0, 5, LEVELS).astype(np.float32)
    if matches.protocol.numpy1_levels:
        wanted = (steps.astype(np.float64) * closed).astype(np.int64)
    else:
        wanted = (steps * np.float32(closed)).astype(np.int64)
    wild = np.flatnonzero(matches.wild)
    wanted = wanted[wanted <= len(wild)]
    member = np.ones((matches.n_images, len(wanted)), np.uint8)
    member[wild] = np.arange(len(wild))[:, None] < wanted
    return np.round(steps[: len(wanted)].astype(np.float64), 1), member
