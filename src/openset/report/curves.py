"""Curves: the points that the charts draw, as plain rows.

Every row names its detector. Fractions are rounded to five decimals: a picture shows no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis import rates
from openset.diagnosis.calibration import OPEN, calibration
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import Flow
from openset.diagnosis.sliders import Sliders
from openset.findings import InputError
from openset.metrics import Value
from openset.vega import Row

RATIOS = np.linspace(0, 5, 51)
POINTS = 200  # of a curve: a picture shows no more


@dataclass(frozen=True, slots=True)
class Roc:
    """False- and true-positive rates of unknownness at every position of the second slider."""

    false: NDArray[np.float64]
    true: NDArray[np.float64]


def known_precision_recall(models: Sequence[Deployed]) -> list[Row]:
    """Precision and recall of known classes, all boxes pooled, along the score slider."""
    return _line(models, rates.known_precision_recall)


def unknown_precision_recall(models: Sequence[Deployed]) -> list[Row]:
    """Precision and recall of what is called unknown, along the second slider."""
    rows = []
    for model in models:
        table, i = model.sliders, model.position[0]
        for j, level in enumerate(table.second.tolist()):
            flow = table.count(i, j)
            if flow.unknown_recall:
                rows += _point(model, flow.unknown_recall, flow.unknown_precision, level)
    return rows


def oscr(models: Sequence[Deployed]) -> list[Row]:
    """Known objects called right against unknown objects called known, along the score slider."""
    return _line(models, rates.oscr)


def _line(models: Sequence[Deployed], of: Callable[[Sliders], list[rates.Point]]) -> list[Row]:
    return [row for one in models for at in of(one.sliders) for row in _point(one, *at)]


def _point(model: Deployed, x: float | None, y: float | None, level: float) -> list[Row]:
    if x is None or y is None:
        return []
    return [{"model": model.title, "x": _short(x), "y": _short(y), "level": _short(level)}]


def precision_by_ratio(models: Sequence[Deployed]) -> list[Row]:
    """Precision of known classes at the operating point as the world gets wilder."""
    rows = []
    for model in models:
        table = model.sliders
        if not table.ratio:
            continue
        closed, wild = (table.count(*model.position, weight) for weight in (0.0, 1.0))
        for ratio in RATIOS.tolist():
            value = _mixed(closed, wild, ratio / table.ratio)
            rows += _point(model, ratio, value, ratio)
    return rows


def _mixed(closed: Flow, all_: Flow, weight: float) -> float | None:
    """Precision when what lies on wild images counts `weight` times."""
    right, boxes = (
        getattr(closed, name) + weight * (getattr(all_, name) - getattr(closed, name))
        for name in ("known_right", "boxes_known")
    )
    return right / boxes if boxes else None


def wilderness_by_ratio(models: Sequence[Deployed]) -> list[Row]:
    """Wilderness Impact against the wilderness ratio, as far as the data reach."""
    return _parts({m.title: m.evaluation.value("wilderness_curve") for m in models})


def wilderness_by_recall(models: Sequence[Deployed]) -> list[Row]:
    """Wilderness Impact against the recall of known classes."""
    rows = []
    for model in models:
        for recall in np.arange(1, 20) / 20:
            value = model.evaluation.value("wilderness_impact", recall=float(recall)).value
            if value is not None:
                rows.append({"model": model.title, "x": _short(recall), "y": _short(value)})
    return rows


def errors_by_score(models: Sequence[Deployed]) -> list[Row]:
    """Open-set errors (A-OSE) that a minimum score leaves."""
    rows = []
    for model in models:
        levels = model.sliders.score
        scores = np.sort(model.matches.score[model.matches.open_set_errors])
        above = len(scores) - np.searchsorted(scores, levels, side="left")
        for level, n in zip(levels.tolist(), above.tolist(), strict=True):
            rows.append({"model": model.title, "x": _short(level), "y": n})
    return rows


def wilderness_by_score(models: Sequence[Deployed]) -> list[Row]:
    """Open-set errors per other known box above a minimum score: Wilderness Impact, classes pooled.

    With closed-set precision ``TP / (TP + FP)`` and that with unknown objects ``TP / (TP + FP +
    OSE)``, their quotient less one is ``OSE / (TP + FP)`` (OSOD-III, Figure 3).
    """
    rows = []
    for model in models:
        matches, levels = model.matches, model.sliders.score
        counted = ~matches.labelled_unknown & ~matches.outcome().ignored
        errors = matches.open_set_errors
        wrong, others = (
            len(scores) - np.searchsorted(np.sort(scores), levels, side="left")
            for scores in (matches.score[errors & counted], matches.score[counted & ~errors])
        )
        for level, n, of in zip(levels.tolist(), wrong.tolist(), others.tolist(), strict=True):
            rows += _point(model, level, n / of if of else None, level)
    return rows


def unknown_ranked(models: Sequence[Deployed]) -> list[Row]:
    """Precision and recall of boxes labelled unknown by falling score: what AP unknown is of."""
    rows = []
    for model in models:
        matches, first = model.matches, model.matches.known_end
        outcome, objects = matches.outcome(), int(matches.positives[-1])
        taken = ~outcome.ignored[first:]
        right = np.cumsum(outcome.correct[first:][taken])
        if not objects or not len(right):
            continue
        place = np.flatnonzero(np.diff(right, prepend=0))  # where recall grows
        place = place[:: max(1, len(place) // POINTS)]
        score = matches.score[first:][taken]
        for at in place.tolist():
            rows += _point(model, right[at] / objects, right[at] / (at + 1), score[at])
    return rows


def reliability(models: Sequence[Deployed]) -> list[Row]:
    """Mean score of known boxes on all images, bin by bin, against the share that is right.

    Scores that are no probabilities have no such line.
    """
    rows = []
    for model in models:
        with suppress(InputError):
            view = calibration(model.matches)[OPEN]
            for row in reversed(view.rows()[1:]):
                rows += _point(model, row["mean_score"], row["right"], row["mean_score"])
    return rows


def order_changes(rows: Sequence[Row]) -> list[float]:
    """Where along x lines cross, so that detectors change places; none of a single one.

    >>> up, down = ([{"model": m, "x": x, "y": y} for x, y in p]
    ...             for m, p in (("a", [(0, 0), (1, 1)]), ("b", [(0, 1), (0.5, 0.4), (1, 0)])))
    >>> order_changes([*up, *down])
    [0.5]
    """
    held: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        held.setdefault(row["model"], []).append((row["x"], row["y"]))
    grid = sorted({x for points in held.values() for x, _ in points})
    each = (np.array(sorted(points)).T for points in held.values())
    lines = [np.interp(grid, x, y) for x, y in each]
    found = set()
    for one, other in combinations(lines, 2):
        sign = np.sign(one - other)
        apart = np.flatnonzero(sign)
        turned = apart[1:][np.diff(sign[apart]) != 0]
        found |= {grid[at] for at in turned.tolist()}
    return sorted(found)


def errors_by_recall(models: Sequence[Deployed]) -> list[Row]:
    """Open-set errors (A-OSE) up to a recall of each known class."""
    return _parts({m.title: m.evaluation.value("a_ose_at_recall") for m in models})


def _parts(values: Mapping[str, Value]) -> list[Row]:
    return [
        {"model": name, "x": float(level), "y": _short(y)}
        for name, value in values.items()
        for level, y in value.parts.items()
        if y is not None
    ]


def roc(model: Deployed) -> Roc | None:
    """Detections on wild images accepted, against those on closed-set images: AUROC's curve.

    As in the metric, in-distribution is positive, and a detection is accepted if its unknownness
    does not exceed the level.
    """
    matches = model.matches
    if matches.unknownness is None:
        return None
    keep = matches.score >= matches.protocol.minimum_score
    wild = matches.wild[matches.image]
    sides = [np.sort(matches.unknownness[keep & side]) for side in (wild, ~wild)]
    if not all(map(len, sides)):
        return None
    levels = model.sliders.second
    false, true = (np.searchsorted(side, levels, side="right") / len(side) for side in sides)
    return Roc(false, true)


def roc_points(models: Sequence[Deployed]) -> list[Row]:
    """The ROC curves of all detectors that have an unknownness."""
    rows = []
    for model in models:
        curve = roc(model)
        if curve is not None:
            pairs = zip(curve.false.tolist(), curve.true.tolist(), strict=True)
            rows += [{"model": model.title, "x": _short(x), "y": _short(y)} for x, y in pairs]
    return rows


def _short(value: float) -> float:
    return round(float(value), 5)
