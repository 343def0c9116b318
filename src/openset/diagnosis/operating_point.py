"""Operating points: which score threshold to deploy, and what it does to unknown objects.

`operating_points` answers with F-beta (section 5.2 and the supplement of Dhamija et al., WACV
2020): per class, ``F = (1 + b^2) P R / (R + b^2 P)`` on the raw precision and recall, not on the
envelope, of closed-set images and a share of the wild ones. F is read at distinct scores only (a
threshold keeps all equal scores), and among equal F the highest threshold is taken. The paper's
point is that the best threshold moves with the wilderness ratio.

`thresholds` counts what becomes of the detections at 101 score thresholds common to all classes.

Neither is a metric: they say where to operate, not how good the detector is. A threshold chosen on
the data it is judged on is optimistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._points import chosen_images, objects_per_class
from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.matching import Matches

BETAS = (0.5, 1.0, 1.5)
LEVELS = 101
OUTCOMES = (
    "known_correct",
    "known_duplicate",
    "known_as_other_known",
    "unknown_as_known",
    "background_as_known",
    "unknown_correct",
    "unknown_duplicate",
    "known_as_unknown",
    "background_as_unknown",
    "ignored",
)


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The threshold of a class with the largest F-beta.

    Attributes:
        label: The class.
        beta: Weight of recall against precision.
        ratio: Wilderness ratio, None for all images.
        f: F-beta there.
        precision: Precision there.
        recall: Recall there.
        threshold: The score: keep detections of at least this one.
    """

    label: str
    beta: float
    ratio: float | None
    f: float
    precision: float
    recall: float
    threshold: float


@dataclass(frozen=True)
class OperatingPoints(Diagnosis):
    """Operating points of all classes that have objects and detections."""

    points: tuple[OperatingPoint, ...]

    def rows(self) -> list[Row]:
        """One row per class, beta and ratio."""
        return [asdict(point) for point in self.points]


def operating_points(
    matches: Matches,
    *,
    betas: Sequence[float] = BETAS,
    ratios: Sequence[float | None] = (None,),
) -> OperatingPoints:
    """The threshold that maximises F-beta, per known class, beta and wilderness ratio.

    Classes without an object that counts, or without a detection, have no such point.

    Args:
        matches: Matched detections.
        betas: Above 1 recall counts more, below 1 precision.
        ratios: Wild images per closed-set image, taken in the order of the file; None for all.
    """
    points: list[OperatingPoint] = []
    ends = _distinct_ends(matches)
    for ratio in ratios:
        curve = _RawCurves.of(matches, ends, chosen_images(matches, ratio))
        for beta in betas:
            points += curve.best(matches, beta, ratio)
    return OperatingPoints(tuple(points))


@question(
    "operating_points",
    title="Operating points",
    paper="Dhamija et al., WACV 2020, section 5.2",
    reads=("ratios", "betas"),
)
def worst_first(one: Deployed) -> OperatingPoints:
    """The score threshold with the best F-beta of each known class, the worst class first."""
    betas, ratios = one.view.betas or (1.0,), one.view.ratios or (None,)
    points = operating_points(one.matches, betas=betas, ratios=ratios).points
    return OperatingPoints(tuple(sorted(points, key=lambda point: point.f)))


def _distinct_ends(matches: Matches) -> NDArray[np.intp]:
    """The last detection of each distinct score of each known class."""
    changes = np.diff(matches.score[: matches.known_end]) != 0
    within = np.flatnonzero(changes)
    ends = matches.class_start[1:-1] - 1
    return np.union1d(within, ends[ends >= 0])


@dataclass(frozen=True, slots=True)
class _RawCurves:
    """Counts at the distinct scores of all known classes: hits, detections and objects."""

    ends: NDArray[np.intp]
    start: NDArray[np.intp]
    hits: NDArray[np.int64]
    counted: NDArray[np.int64]
    positives: NDArray[np.int64]

    @classmethod
    def of(cls, matches: Matches, ends: NDArray[np.intp], images: NDArray[np.bool_]) -> _RawCurves:
        outcome = matches.outcome()
        taking = images[matches.image] & ~outcome.ignored
        begin = matches.class_start[matches.klass[ends]]
        hits, counted = (
            total[ends + 1] - total[begin]
            for total in map(_running, (outcome.correct & taking, taking))
        )
        positives = objects_per_class(matches, images)[matches.klass[ends]]
        start = np.searchsorted(ends, matches.class_start[:-1])
        return cls(ends, start, hits, counted, positives)

    def best(self, matches: Matches, beta: float, ratio: float | None) -> list[OperatingPoint]:
        """The point of largest F of every class that has one; the first, so the highest score."""
        hits, n, positives, weight = self.hits, self.counted, self.positives, beta**2
        # Where nothing has been detected yet, or there is no object, is no point of the curve.
        exists = (n > 0) & (positives > 0)
        # F as one division of counts, so that equal F are equal numbers.
        f = (1 + weight) * hits / np.where(exists, n + weight * positives, 1)
        f = np.where(exists, f, -1.0)
        points = []
        for klass, label in enumerate(matches.vocabulary.known):
            low, high = int(self.start[klass]), int(self.start[klass + 1])
            at = low + int(f[low:high].argmax()) if high > low else -1
            if at >= 0 and f[at] >= 0:
                score = float(matches.score[self.ends[at]])
                p, r = float(hits[at] / n[at]), float(hits[at] / positives[at])
                best = (1 + weight) * p * r / (r + weight * p) if hits[at] else 0.0
                points.append(OperatingPoint(label, beta, ratio, best, p, r, score))
        return points


def _running(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])


# ---------------------------------------------------------------------- score thresholds


@dataclass(frozen=True)
class Thresholds(Diagnosis):
    """What becomes of detections and objects at score thresholds.

    Attributes:
        levels: The thresholds, ascending; a detection of exactly that score is kept.
        counts: Kept detections per threshold and outcome (the order of `OUTCOMES`).
        known_objects: Known objects that count.
        unknown_objects: Unknown objects that count.
    """

    levels: NDArray[np.float64]
    counts: NDArray[np.int64]
    known_objects: int
    unknown_objects: int

    def __getitem__(self, outcome: str) -> NDArray[np.int64]:
        return self.counts[:, OUTCOMES.index(outcome)]

    def rows(self) -> list[Row]:
        """One row per threshold, with the objects that nothing claimed."""
        missed_known = self.known_objects - self["known_correct"]
        missed_unknown = self.unknown_objects - self["unknown_correct"]
        return [
            {
                "threshold": float(level),
                **dict(zip(OUTCOMES, self.counts[i].tolist(), strict=True)),
                "known_missed": int(missed_known[i]),
                "unknown_missed": int(missed_unknown[i]),
            }
            for i, level in enumerate(self.levels)
        ]


def thresholds(matches: Matches, *, levels: Sequence[float] | None = None) -> Thresholds:
    """Count every detection once, by outcome, at score thresholds.

    A detection is correct or ignored as matching says; else a duplicate if it overlaps an object of
    its class; else it belongs to the other object that it overlaps most (the unknown one on equal
    overlap); else to the background. Overlap means the protocol's first IoU threshold.

    Objects go to detections by falling score, so what is correct above a threshold does not depend
    on what lies below; under the ``elephant`` rule, where the order given decides, it may.

    Args:
        matches: Matched detections.
        levels: Ascending score thresholds; by default 101 from 0 to 1, or over the range of the
            scores if they leave it.
    """
    grid = _levels(matches.score) if levels is None else np.asarray(levels, np.float64)
    step = np.searchsorted(grid, matches.score, side="right")  # 0: below every threshold
    n = len(OUTCOMES)
    cells = step * n + _outcomes(matches)
    objects = objects_per_class(matches, chosen_images(matches, None))
    table = np.bincount(cells, minlength=(len(grid) + 1) * n).reshape(-1, n)[1:]
    return Thresholds(
        levels=grid,
        counts=table[::-1].cumsum(axis=0)[::-1],
        known_objects=int(objects[:-1].sum()),
        unknown_objects=int(objects[-1]),
    )


@question("thresholds", title="Score thresholds")
def at_thresholds(one: Deployed) -> Thresholds:
    """What becomes of detections at score thresholds common to all classes."""
    return thresholds(one.matches, levels=one.levels[:: len(one.levels) // 5].tolist())


def _levels(score: NDArray[np.float64]) -> NDArray[np.float64]:
    low = min(0.0, float(score.min(initial=0.0)))
    return np.linspace(low, max(1.0, float(score.max(initial=1.0))), LEVELS)


def _outcomes(matches: Matches) -> NDArray[np.int8]:
    """The outcome of every detection, as an index into `OUTCOMES`."""
    outcome, columns, end = matches.outcome(), matches.columns, matches.known_end
    near = matches.overlaps
    same, known = near(columns.iou_same), near(columns.iou_known)
    unknown = near(columns.iou_unknown) & (columns.iou_unknown >= columns.iou_known)
    at = {name: np.int8(i) for i, name in enumerate(OUTCOMES)}
    kind = np.full(len(matches), at["background_as_known"], np.int8)
    kind[end:] = at["background_as_unknown"]
    kind[:end][known[:end]] = at["known_as_other_known"]
    kind[:end][unknown[:end]] = at["unknown_as_known"]
    kind[end:][known[end:]] = at["known_as_unknown"]
    for part, name in ((slice(0, end), "known"), (slice(end, None), "unknown")):
        kind[part][same[part]] = at[f"{name}_duplicate"]
        kind[part][outcome.correct[part]] = at[f"{name}_correct"]
    kind[outcome.ignored] = at["ignored"]
    return kind
