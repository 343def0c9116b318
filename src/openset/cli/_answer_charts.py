"""Answer charts: what `openset diagnose --figures` draws of the questions that have a picture.

The figures of Dhamija et al. (WACV 2020): Figure 3, what detections are made of, a bar per recall
and ratio, closed set and open set below each other; Figure 4, all labels against the known classes;
and Table 4 as pictures: the thresholds of best F-beta, and what they do at other wilderness ratios.
Also the reliability diagram of scores.

Nothing is counted here. Other questions have no chart; the report has its own (`report.charts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from openset.diagnosis import Diagnosis
from openset.diagnosis.calibration import Calibrated
from openset.diagnosis.confusion import ConfusionMatrix
from openset.diagnosis.errors import ERROR_TYPES, ErrorTypes
from openset.diagnosis.operating_point import OperatingPoints
from openset.diagnosis.transfer import ALL, Transfer
from openset.diagnosis.view import Panels, closed_or_ratio
from openset.vega import COLOURS, WIDTH, Row, Spec, chart, field, fields, layers, mark, panels

CELL, BAR = 12, 22  # pixels
RIGHT = "#E6E6E6"  # what is correct stays in the background
LEGEND: Spec = {"title": None, "orient": "bottom", "columns": 3}
LABELS: Spec = {"labelLimit": 200}
SHARE: Spec = {"scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}

Parts = Sequence[tuple[Row, Any]]
"""Where a question was asked, and its answer."""


def answer_chart(answer: Diagnosis) -> Spec | None:
    """The Vega-Lite chart of an answer; None if it has none, or if there is nothing to draw."""
    parts = answer.parts if isinstance(answer, Panels) else (({}, answer),)
    if type(parts[0][1]) not in _DRAWN:
        return None
    rows_of, draw = _DRAWN[type(parts[0][1])]
    rows = list(rows_of(parts))
    return draw(rows) if rows else None


ORDER = (*ERROR_TYPES[1:], ERROR_TYPES[0])  # bars begin with the errors


def _error_rows(parts: Parts) -> Iterable[Row]:
    for where, one in parts:
        for rank, name in enumerate(ORDER if one.shares else ()):
            share, n = one.shares[name], one.totals[name]
            here = {"panel": _place(where), "type": name, "rank": rank}
            yield here | {"share": share, "detections": n}


def _error_bars(rows: list[Row]) -> Spec:
    """A bar per recall and ratio."""
    colours = {"domain": ORDER, "range": [*COLOURS[: len(ORDER) - 1], RIGHT]}
    bars = chart(
        rows,
        mark("bar", stroke="white", strokeWidth=0.5),
        y=_named("panel", rows, title=None, axis=LABELS),
        x=field("share:Q", title="share of detections", **SHARE),
        color=field("type:N", scale=colours, legend=LEGEND),
        order=field("rank:Q"),
        tooltip=fields("panel:N", "type:N", "detections:Q"),
    )
    return bars | {"width": WIDTH, "height": {"step": BAR}}


def _heat(rows: list[Row]) -> Spec:
    """Labels from left to right, known ones first; what they are called from top to bottom."""
    shades = {"type": "symlog", "range": ["white", COLOURS[0]], "interpolate": "rgb"}
    cells = chart(
        rows,
        mark("rect"),
        x=_named("label", rows, title=None, axis=LABELS),
        y=_named("called", rows, title="detected as"),
        color=field("detections:Q", scale=shades),
        tooltip=fields("label:N", "above:N", "called:N", "detections:Q", "objects:Q"),
    )
    size = {"width": {"step": CELL}, "height": {"step": CELL}}
    return panels(cells | size, row=_named("panel", rows, title=None))


def _cells(parts: Parts) -> Iterable[Row]:
    for where, one in parts:
        yield from _cells_of(_place(where), one)


def _cells_of(panel: str, one: ConfusionMatrix) -> Iterable[Row]:
    found = one.confusion
    for r in one.rows_of:
        for c in one.columns_of:
            yield {
                "panel": panel,
                "label": found.labels[r],
                "above": one.above[r],
                "called": found.classes[c],
                "detections": int(found.counts[r, c]),
                "objects": int(found.total[r]),
            }


def _point_rows(parts: Parts) -> Iterable[Row]:
    for _, one in parts:
        for point in sorted(one.points, key=lambda it: (it.ratio is None, it.ratio, it.beta)):
            panel, rule = closed_or_ratio(point.ratio), f"F{point.beta:g}"
            here = {"class": point.label, "panel": panel, "rule": rule}
            yield here | {"threshold": point.threshold, "f": point.f}


def _points(rows: list[Row]) -> Spec:
    """Every class at its best threshold, a panel per ratio."""
    points = chart(
        rows,
        mark("point", filled=True),
        x=field("threshold:Q", title="threshold of best F"),
        y=field("f:Q", title="F there", scale={"domain": [0, 1]}),
        color=_by(rows, "rule"),
        tooltip=fields("class:N", "rule:N", "threshold:Q", "f:Q"),
    )
    return panels(points, column=_named("panel", rows, title=None))


def _transfer_rows(parts: Parts) -> Iterable[Row]:
    means = [one for _, answer in parts for one in answer.judged if one.label == ALL]
    for best in (False, True):  # the best that could be had comes last, in the legend too
        for one in means:
            if one.f is not None:
                here = {"judged": closed_or_ratio(one.judged_at), "panel": one.rule}
                whose = "best there" if best else f"chosen at {one.chosen_at:g}"
                yield here | {"threshold": whose, "f": one.best_f if best else one.f}


def _transfers(rows: list[Row]) -> Spec:
    """F of transferred thresholds at each ratio, and the best that could be had there."""
    means = chart(
        rows,
        mark("line", point=True),
        x=_named("judged", rows, title="judged at", axis=LABELS),
        y=field("f:Q", title="mean F over classes", scale={"zero": False}),
        color=_by(rows, "threshold"),
        strokeDash=_named("threshold", rows, legend=None),
        tooltip=fields("threshold:N", "judged:N", "f:Q"),
    )
    repeated = panels(means | {"width": WIDTH / 2}, column=_named("panel", rows, title=None))
    return repeated | {"resolve": {"scale": {"y": "independent"}}}


def _reliability_rows(parts: Parts) -> Iterable[Row]:
    for _, one in parts:
        for view in one.views:
            for row in view.rows()[1:]:  # without the one of all boxes
                yield {name: row[name] for name in ("view", "mean_score", "right", "boxes")}


def _reliability(rows: list[Row]) -> Spec:
    """Scores against what they are worth, and the line on which they would be probabilities."""
    ends = [{"mean_score": end, "right": end} for end in (0, 1)]
    across = {"x": field("mean_score:Q"), "y": field("right:Q")}
    found = chart(
        rows,
        mark("line", point=True),
        x=field("mean_score:Q", title="mean score of a bin", **SHARE),
        y=field("right:Q", title="share of its boxes that are right", **SHARE),
        color=_by(rows, "view"),
        tooltip=fields("view:N", "mean_score:Q", "right:Q", "boxes:Q"),
    )
    honest = chart(ends, mark("line", color=RIGHT), **across)
    return layers(honest, found) | {"width": WIDTH, "height": WIDTH}


Rows = Callable[[Parts], Iterable[Row]]
_DRAWN: Mapping[type, tuple[Rows, Callable[[list[Row]], Spec]]] = {
    ErrorTypes: (_error_rows, _error_bars),
    ConfusionMatrix: (_cells, _heat),
    OperatingPoints: (_point_rows, _points),
    Transfer: (_transfer_rows, _transfers),
    Calibrated: (_reliability_rows, _reliability),
}


def _named(name: str, rows: list[Row], **look: Any) -> Spec:
    """Names in the order of the rows."""
    return field(f"{name}:N", sort=_distinct(rows, name), **look)


def _by(rows: list[Row], name: str) -> Spec:
    scale = {"domain": _distinct(rows, name), "range": COLOURS}
    return field(f"{name}:N", scale=scale, legend=LEGEND)


def _distinct(rows: Iterable[Row], name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


def _place(where: Row) -> str:
    """Where a question was asked, in words: recall 0.3, closed-set images."""
    recall = [f"recall {where['recall']:g}"] if "recall" in where else []
    return ", ".join([*recall, closed_or_ratio(where.get("ratio"))])
