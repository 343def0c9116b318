"""Average precision: how well known and unknown classes are found, over all thresholds of score.

Known AP is the class mean, unknown AP the AP of the single class "unknown" (all unknown objects
against all detections labelled unknown). In open-world learning the known classes split into
previous and current tasks.

Three estimators are in use under one name: 101 points (COCO), 11 points (VOC 2007) and the exact
area (VOC 2010 on). They differ by up to a few points on one curve; the protocol says which.
Not the "average precision" log line of OWOD, which is the precision of unknown at fixed recalls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.matching import Matches
from openset.matching.curves import Curve, curve, envelope, hits_needed, resampled_precision
from openset.matching.matches import DETECTION_LIMITS
from openset.matching.sizes import SIZE_RANGES
from openset.metrics._classes import (
    class_mean,
    settle,
    settled_by_detections,
    where_unknown,
    without_unknown,
)
from openset.metrics._left_out import also, beyond, ignored_objects, neither
from openset.metrics._spec import Value, metric
from openset.plugins import lookup

COCO = "Lin et al., Microsoft COCO, ECCV 2014"
OWOD = "Joseph et al., Towards Open World Object Detection, CVPR 2021"


@metric("ap_known", title="AP known", paper=COCO, headline=True, of="id")
def ap_known(matches: Matches, **options: Any) -> Value:
    """Mean average precision over the known classes.

    AP_c = area under the interpolated precision-recall curve of class c; AP = mean over c (and
    over IoU thresholds .50:.05:.95 in COCO protocols). Unknown objects enter only as objects that
    known-labelled detections may wrongly fire on.

    Args:
        matches: Matched detections.
        options: `iou` (one threshold instead of the protocol's mean), `size` (``small``,
            ``medium``, ``large``), `interpolation` (``101-point``, ``area``, ``11-point``).
    """
    return _mean_ap(matches, range(matches.n_known), "known classes", **options)


@metric(
    "ap_unknown",
    title="AP unknown",
    paper="Han et al., Expanding Low-Density Latent Regions, CVPR 2022",
    headline=True,
    of="ood",
)
def ap_unknown(matches: Matches, **options: Any) -> Value:
    """Average precision of the class "unknown" (AP_U).

    Every unknown object, whatever its true class, is one class; only detections labelled unknown
    count. Ranked by the detections' scores, which need not be an unknownness. Options as in
    `ap_known`.
    """
    if not np.any(matches.positives[-1]):
        return without_unknown(matches)
    value = _mean_ap(matches, [matches.n_known], "unknown classes", **options)
    if matches.weights is None:
        return value
    return where_unknown(matches, value.value, matches.positives[-1])


@metric("ap_previous", title="AP previous", paper=OWOD, of="id")
def ap_previous(matches: Matches, **options: Any) -> Value:
    """Mean average precision over the classes of earlier tasks. Options as in `ap_known`."""
    previous = range(len(matches.vocabulary.previous))
    return _mean_ap(matches, previous, "classes of earlier tasks", **options)


@metric("ap_current", title="AP current", paper=OWOD, of="id")
def ap_current(matches: Matches, **options: Any) -> Value:
    """Mean average precision over the classes of the current task. Options as in `ap_known`."""
    current = range(len(matches.vocabulary.previous), matches.n_known)
    return _mean_ap(matches, current, "classes of the current task", **options)


@metric("ar_known", title="AR known", paper=COCO, of="id")
def ar_known(matches: Matches, *, limit: int = 100, size: str = "all") -> Value:
    """Average recall over known classes and IoU thresholds, with at most `limit` detections.

    The limit is per image and class, and never above the protocol's; sizes as in COCO. Needs a
    protocol with COCO matching.
    """
    return _mean_recall(matches, range(matches.n_known), "known classes", limit, size)


@metric("ar_unknown", title="AR unknown", paper=COCO, of="ood")
def ar_unknown(matches: Matches, *, limit: int = 100, size: str = "all") -> Value:
    """Average recall of the class "unknown" over IoU thresholds. Options as in `ar_known`."""
    return _mean_recall(matches, [matches.n_known], "unknown classes", limit, size)


def _mean_recall(
    matches: Matches, classes: Sequence[int], what: str, limit: int, size: str
) -> Value:
    if matches.protocol.rule != "coco":
        return Value.missing(f"protocol {matches.protocol.name} does not match at many IoUs")
    if limit not in DETECTION_LIMITS:
        raise UsageError(f"limit must be one of {DETECTION_LIMITS}, not {limit}")
    if matches.weights is not None:
        recall = _resampled_recall(matches, classes, limit, size)
        return class_mean(recall, matches, classes, what)
    limits = matches.detection_limits
    column = limits.index(min(limit, limits[-1]))
    recall = matches.precision_recall.recall[:, :, _size_index(size), column].mean(axis=0)
    value = class_mean(recall, matches, classes, what).with_params(limit=limit, size=size)
    return _on_objects(value, matches, classes, limit)


def _resampled_recall(
    matches: Matches, classes: Sequence[int], limit: int, size: str
) -> NDArray[np.float64]:
    columns = matches.columns
    near = columns.rank[columns.position] < limit
    near &= np.isin(matches.class_at(columns.position), classes)
    at = columns.position[near]
    mask = np.zeros(len(matches), np.bool_)
    mask[at] = True
    # Recall is linear in hits, so the hits of all thresholds can be added up first.
    hits = matches.count_by_class(mask, np.bitwise_count(columns.matched[near, _size_index(size)]))
    return _over(hits, matches.positives_of_size(size) * len(matches.protocol.iou))


@metric("precision_known", title="precision known", paper="Han et al., CVPR 2022", of="id")
def precision_known(matches: Matches) -> Value:
    """Mean over known classes of the precision of all their detections (P@K of opendet2)."""
    outcome = matches.outcome()
    hits = matches.hits_by_class
    values = np.nan_to_num(_over(hits, matches.count_by_class(~outcome.ignored)))
    if matches.protocol.empty_class == "skip":
        values[matches.detected_by_class == 0] = np.nan
    skips, known = matches.protocol.empty_class == "skip", range(matches.n_known)
    lacking = "have no detection"
    value = class_mean(
        values, matches, known, "known classes", lacking=lacking, by_detections=skips
    )
    said = neither(matches, ~matches.labelled_unknown)
    return also(value, said, known_detections=matches.known_end)


@metric("recall_known", title="recall known", paper="Han et al., CVPR 2022", of="id")
def recall_known(matches: Matches) -> Value:
    """Mean over known classes of the recall of all their detections (R@K of opendet2)."""
    hits = matches.hits_by_class
    values = settle(_over(hits, matches.positives), matches)
    return _settled_mean(values, matches, range(matches.n_known), "known classes")


def _settled_mean(
    values: NDArray[np.float64], matches: Matches, classes: Sequence[int], what: str
) -> Value:
    by_detections = settled_by_detections(matches)
    skipped = matches.protocol.empty_class == "detected"
    lacking = "have no detection" if skipped else "have no object"
    value = class_mean(values, matches, classes, what, lacking=lacking, by_detections=by_detections)
    return _on_objects(value, matches, classes)


def _on_objects(
    value: Value, matches: Matches, classes: Sequence[int], limit: int | None = None
) -> Value:
    """With the objects that it rests on, and what of objects and detections was left out."""
    if matches.weights is not None:
        return value
    unknown = matches.n_known in classes
    said = ignored_objects(matches, unknown=unknown), beyond(matches, unknown=unknown, limit=limit)
    return also(value, *said, objects=matches.positives[list(classes)].sum())


def _over(hits: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, hits / total, np.nan)


def _mean_ap(
    matches: Matches,
    classes: Sequence[int],
    what: str,
    *,
    iou: float | None = None,
    size: str = "all",
    interpolation: str | None = None,
) -> Value:
    values = per_class(matches, iou=iou, size=size, interpolation=interpolation)
    used = interpolation or matches.protocol.interpolation
    shown: dict[str, Any] = {"iou": list(matches.protocol.iou) if iou is None else iou}
    if size != "all":
        shown["size"] = size
    return _settled_mean(values, matches, classes, what).with_params(interpolation=used, **shown)


def per_class(
    matches: Matches,
    *,
    iou: float | None = None,
    size: str = "all",
    interpolation: str | None = None,
) -> NDArray[np.float64]:
    """Average precision of each known class and of unknown [K + 1], settled by the protocol."""
    how = interpolation or matches.protocol.interpolation
    if matches.weights is not None and size == "all":
        values = _resampled(matches, iou, how)
        return settle(values, matches, nan_counts_zero=how.startswith("11-point"))
    if how == "101-point" and matches.protocol.rule == "coco":
        return _grid_ap(matches, iou, size)
    if size != "all":
        raise UsageError("size ranges need COCO matching and 101-point interpolation")
    curves = curve(matches, iou)
    if how == "area":
        return settle(_area(curves, matches.positives), matches)
    if how not in _POINTS:
        lookup(dict.fromkeys([*_POINTS, "area"]), how, "interpolation")
    values = _at_points(curves, matches.positives, how)
    return settle(values, matches, nan_counts_zero=how != "101-point")


def _resampled(matches: Matches, iou: float | None, how: str) -> NDArray[np.float64]:
    """Average precision per class and resample [K + 1, B]."""
    if iou is None and how == "101-point" and matches.protocol.rule == "coco":
        return np.asarray(matches.resampled_precision.mean(axis=1))
    grid = None if how == "area" else _POINTS[how].astype(np.float64)
    if how == "11-point-float32":
        grid = np.arange(11) / 10  # in float32 a recall of k/10 meets the point .k
    return resampled_precision(matches, iou, grid=grid)


def _size_index(size: str) -> int:
    lookup(SIZE_RANGES, size, "size range")
    return list(SIZE_RANGES).index(size)


def _grid_ap(matches: Matches, iou: float | None, size: str) -> NDArray[np.float64]:
    """COCO: mean over 101 recall points, and over thresholds unless one is named."""
    precision = matches.precision_recall.precision[..., _size_index(size)]
    if iou is not None:
        precision = precision[[matches.threshold_index(iou)]]
    values = precision.mean(axis=(0, 1))
    return settle(values, matches) if size == "all" else np.asarray(values)


_POINTS = {
    "101-point": np.linspace(0, 1, 101),
    # In float64 three of these lie just above .3, .6, .7, so that a recall of exactly 3/10 misses
    # the .3 point; in torch's float32 no tenth misses its own. Both are published.
    "11-point": np.arange(0.0, 1.1, 0.1),
    "11-point-float32": (np.arange(11) / 10).astype(np.float32),
}


def _area(curves: Curve, positives: NDArray[Any]) -> NDArray[np.float64]:
    """VOC 2010: the exact area under the envelope."""
    height = envelope(curves.precision, curves.start)
    n = np.repeat(np.maximum(positives, 1), np.diff(curves.start))
    width = curves.hits / n - (curves.hits - 1) / n
    area = height * width
    pairs = zip(curves.start[:-1], curves.start[1:], strict=True)
    values = np.array([area[low:high].sum() for low, high in pairs])
    return np.where(positives > 0, values, np.nan)


def _at_points(curves: Curve, positives: NDArray[Any], how: str) -> NDArray[np.float64]:
    """VOC 2007 and Elephant: the mean of the envelope at fixed recalls, 0 where never reached."""
    points = _POINTS[how]
    kind = points.dtype.type
    height = np.append(envelope((curves.hits / curves.counted).astype(kind), curves.start), kind(0))
    sums = np.zeros(len(positives), kind)
    most = np.diff(curves.start)
    for point in points:
        need = _needed(positives, point, kind)
        reached = need <= most
        where = np.where(reached, curves.start[:-1] + np.maximum(need - 1, 0), len(height) - 1)
        # At recall 0 the envelope's peak is its value at the first hit, if there is one.
        where = np.where(most > 0, where, len(height) - 1)
        sums = sums + height[where] / kind(len(points))
    return np.where(positives > 0, sums.astype(np.float64), np.nan)


def _needed(positives: NDArray[Any], point: Any, kind: Any) -> NDArray[np.int64]:
    if kind is np.float64:
        return hits_needed(positives, point)
    n = np.maximum(positives, 1).astype(np.float32)
    need = np.floor(point * n) - 1
    for _ in range(3):  # float32 division decides, so step up until it says yes
        need = np.where(need.astype(np.float32) / n < point, need + 1, need)
    return np.asarray(np.maximum(need, 0), np.int64)
