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
from openset.vega import COLOURS, WIDTH, Row

CELL, BAR = 12, 22  # pixels
RIGHT = "#E6E6E6"  # what is correct stays in the background

Parts = Sequence[tuple[Row, Any]]
"""Where a question was asked, and its answer."""


def answer_chart(answer: Diagnosis) -> dict[str, Any] | None:
    """The Vega-Lite chart of an answer; None if it has none, or if there is nothing to draw."""
    parts = answer.parts if isinstance(answer, Panels) else (({}, answer),)
    if type(parts[0][1]) not in _DRAWN:
        return None
    rows_of, draw = _DRAWN[type(parts[0][1])]
    rows = list(rows_of(parts))
    return dict(draw(rows).to_dict(validate=False)) if rows else None


ORDER = (*ERROR_TYPES[1:], ERROR_TYPES[0])  # bars begin with the errors


def _error_rows(parts: Parts) -> Iterable[Row]:
    for where, one in parts:
        for rank, name in enumerate(ORDER if one.shares else ()):
            share, n = one.shares[name], one.totals[name]
            here = {"panel": _place(where), "type": name, "rank": rank}
            yield here | {"share": share, "detections": n}


def _error_bars(rows: list[Row]) -> Any:
    """A bar per recall and ratio."""
    import altair as alt

    colours = alt.Scale(domain=ORDER, range=[*COLOURS[: len(ORDER) - 1], RIGHT])
    return (
        _of(rows)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("panel:N", title=None, sort=_distinct(rows, "panel"), axis=_labels()),
            x=alt.X(
                "share:Q",
                title="share of detections",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%"),
            ),
            color=alt.Color("type:N", scale=colours, legend=_legend()),
            order=alt.Order("rank:Q"),
            tooltip=["panel:N", "type:N", "detections:Q"],
        )
        .properties(width=WIDTH, height={"step": BAR})
    )


def _heat(rows: list[Row]) -> Any:
    """Labels from left to right, known ones first; what they are called from top to bottom."""
    import altair as alt

    shades = alt.Scale(type="symlog", range=["white", COLOURS[0]], interpolate="rgb")
    return (
        _of(rows)
        .mark_rect()
        .encode(
            x=alt.X("label:N", title=None, sort=_distinct(rows, "label"), axis=_labels()),
            y=alt.Y("called:N", title="detected as", sort=_distinct(rows, "called")),
            color=alt.Color("detections:Q", scale=shades),
            tooltip=["label:N", "above:N", "called:N", "detections:Q", "objects:Q"],
        )
        .properties(width={"step": CELL}, height={"step": CELL})
        .facet(row=alt.Row("panel:N", title=None, sort=_distinct(rows, "panel")))
    )


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


def _points(rows: list[Row]) -> Any:
    """Every class at its best threshold, a panel per ratio."""
    import altair as alt

    return (
        _of(rows)
        .mark_point(filled=True)
        .encode(
            x=alt.X("threshold:Q", title="threshold of best F"),
            y=alt.Y("f:Q", title="F there", scale=alt.Scale(domain=[0, 1])),
            color=_by(rows, "rule"),
            tooltip=["class:N", "rule:N", "threshold:Q", "f:Q"],
        )
        .facet(column=alt.Column("panel:N", title=None, sort=_distinct(rows, "panel")))
    )


def _transfer_rows(parts: Parts) -> Iterable[Row]:
    means = [one for _, answer in parts for one in answer.judged if one.label == ALL]
    for best in (False, True):  # the best that could be had comes last, in the legend too
        for one in means:
            if one.f is not None:
                here = {"judged": closed_or_ratio(one.judged_at), "panel": one.rule}
                whose = "best there" if best else f"chosen at {one.chosen_at:g}"
                yield here | {"threshold": whose, "f": one.best_f if best else one.f}


def _transfers(rows: list[Row]) -> Any:
    """F of transferred thresholds at each ratio, and the best that could be had there."""
    import altair as alt

    names = _distinct(rows, "threshold")
    return (
        _of(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("judged:N", title="judged at", sort=_distinct(rows, "judged"), axis=_labels()),
            y=alt.Y("f:Q", title="mean F over classes", scale=alt.Scale(zero=False)),
            color=_by(rows, "threshold"),
            strokeDash=alt.StrokeDash("threshold:N", sort=names, legend=None),
            tooltip=["threshold:N", "judged:N", "f:Q"],
        )
        .properties(width=WIDTH / 2)
        .facet(column=alt.Column("panel:N", title=None, sort=_distinct(rows, "panel")))
        .resolve_scale(y="independent")
    )


def _reliability_rows(parts: Parts) -> Iterable[Row]:
    for _, one in parts:
        for view in one.views:
            for row in view.rows()[1:]:  # without the one of all boxes
                yield {name: row[name] for name in ("view", "mean_score", "right", "boxes")}


def _reliability(rows: list[Row]) -> Any:
    """Scores against what they are worth, and the line on which they would be probabilities."""
    import altair as alt

    share: dict[str, Any] = {"scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(format=".0%")}
    ends = [{"mean_score": end, "right": end} for end in (0, 1)]
    honest = _of(ends).mark_line(color=RIGHT).encode(x="mean_score:Q", y="right:Q")
    found = (
        _of(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("mean_score:Q", title="mean score of a bin", **share),
            y=alt.Y("right:Q", title="share of its boxes that are right", **share),
            color=_by(rows, "view"),
            tooltip=["view:N", "mean_score:Q", "right:Q", "boxes:Q"],
        )
    )
    return (honest + found).properties(width=WIDTH, height=WIDTH)


Rows = Callable[[Parts], Iterable[Row]]
_DRAWN: Mapping[type, tuple[Rows, Callable[[list[Row]], Any]]] = {
    ErrorTypes: (_error_rows, _error_bars),
    ConfusionMatrix: (_cells, _heat),
    OperatingPoints: (_point_rows, _points),
    Transfer: (_transfer_rows, _transfers),
    Calibrated: (_reliability_rows, _reliability),
}


def _of(rows: list[Row]) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=rows))


def _by(rows: list[Row], name: str) -> Any:
    import altair as alt

    scale = alt.Scale(domain=_distinct(rows, name), range=list(COLOURS))
    return alt.Color(f"{name}:N", scale=scale, legend=_legend())


def _legend() -> Any:
    import altair as alt

    return alt.Legend(title=None, orient="bottom", columns=3)


def _labels() -> Any:
    import altair as alt

    return alt.Axis(labelLimit=200)


def _distinct(rows: Iterable[Row], name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


def _place(where: Row) -> str:
    """Where a question was asked, in words: recall 0.3, closed-set images."""
    recall = [f"recall {where['recall']:g}"] if "recall" in where else []
    return ", ".join([*recall, closed_or_ratio(where.get("ratio"))])
