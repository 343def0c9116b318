"""Load: how much a detector says, and at which threshold it says it best.

Not measures of quality: they tell what a person or a planner downstream has to cope with.
"""

from __future__ import annotations

import numpy as np

from openset.matching import Matches
from openset.metrics._left_out import few_classes, neither, resting
from openset.metrics._spec import Value, metric

NO_IMAGE = "there is no image"


@metric("detections_per_image", better=None, range=(0, None), unit="score", headline=True)
def detections_per_image(matches: Matches) -> Value:
    """Detections per image, known and unknown."""
    number = matches.count(np.ones(len(matches), np.bool_))
    images = _images(matches)
    return resting(Value.ratio(number, images, why=NO_IMAGE), images=images, detections=number)


@metric("false_unknowns_per_image", better="lower", range=(0, None), unit="score")
def false_unknowns_per_image(matches: Matches) -> Value:
    """Detections labelled unknown that lie on no unknown object, per image."""
    wrong = matches.outcome().wrong & matches.labelled_unknown
    images = _images(matches)
    value = Value.ratio(matches.count(wrong), images, why=NO_IMAGE)
    return resting(value, neither(matches, matches.labelled_unknown), images=images)


@metric("images_without_predictions", better=None, paper="FMIYC", of="each")
def images_without_predictions(
    matches: Matches, *, minimum_score: float | None = None, wild: bool | None = None
) -> Value:
    """Share of images on which nothing scores at least `minimum_score`.

    Args:
        matches: Matched detections.
        minimum_score: Score threshold (the protocol's by default).
        wild: Only wild images, only closed-set images, or (None) all of them.
    """
    level = matches.protocol.minimum_score if minimum_score is None else minimum_score
    silent = np.ones(matches.n_images, np.bool_)
    for rows in matches.blocks:
        silent[matches.image[rows][matches.score[rows] >= level]] = False
        matches.forget()
    chosen = np.ones_like(silent) if wild is None else matches.wild == wild
    number, total = matches.count_images(silent & chosen), matches.count_images(chosen)
    value = Value.ratio(number, total, why=NO_IMAGE, params={"minimum_score": level})
    return resting(value, images=total)


@metric(
    "best_threshold",
    title="t* (max F1)",
    better=None,
    unit="score",
    paper="Du et al., ICLR 2022, after Harakeh and Waslander, ICLR 2021",
    resampled=False,
    of="id",
)
def best_threshold(matches: Matches, *, classes: str = "sound") -> Value:
    """Score threshold t* that maximises F1, averaged over known classes.

    F1 on the 101 recall points of the IoU-averaged curve; per class the score at its peak, then
    the mean. Classes without objects or without a true positive have no such point and are left
    out. With ``classes="published"`` they enter as in VOS's code, where a class without objects
    contributes -1 and a class without a true positive its first false positive.
    """
    if matches.protocol.rule != "coco":
        return Value.missing(f"protocol {matches.protocol.name} does not match at many IoUs")
    arrays = matches.precision_recall
    precision, score = arrays.precision[:, :, :-1, 0], arrays.scores[:, :, :-1, 0]
    if classes == "published":
        precision = np.where(np.isnan(precision), -1, precision)
        score = np.where(np.isnan(score), -1, score)
    recall = np.linspace(0, 1, 101)[:, None]
    mean, level = precision.mean(axis=0), score.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * mean * recall / (mean + recall)
    if classes != "published":
        sound = (mean > 0).any(axis=0)
        f1 = np.where(np.isnan(f1), 0, f1)[:, sound]
        level = level[:, sound]
    peak = level[np.argmax(f1, axis=0), np.arange(f1.shape[1])] if f1.size else np.empty(0)
    peak = peak[peak != 0]
    if not len(peak):
        return Value.missing("no known class has a true positive")
    value = Value(float(peak.mean()), params={"classes": classes})
    few = few_classes(len(peak), matches.n_known, "have no object or no true positive")
    return resting(value, few, classes=len(peak), all_classes=matches.n_known)


def _images(matches: Matches) -> np.ndarray:
    return matches.count_images(np.ones(matches.n_images, np.bool_))
