"""Charts: the report's pictures as Vega-Lite, made with altair.

One specification gives the interactive chart of the page and the PDF, SVG or PNG of a paper.
Detectors differ in colour (Okabe and Ito's, which colour-blind people can tell apart) and in
dashes, never in colour alone. A chart may have a data set called ``cursor``: what the page
moves along with its sliders; in a paper's figure it stands at the operating point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from openset.diagnosis.deployed import Deployed
from openset.report import curves
from openset.report.curves import Row

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4])
WIDTH, HEIGHT = 340, 240
LONGEST_IN_TWO_COLUMNS = 18  # letters of a name in a legend below a chart so wide


@dataclass(frozen=True)
class Figure:
    """A chart with its words.

    Attributes:
        name: Its key, and its file name.
        title: What it shows.
        note: How to read it.
        cursor: What its cursor follows on the page, or nothing.
        spec: The Vega-Lite specification; None if there is nothing to draw.
        missing: Why there is nothing to draw.
    """

    name: str
    title: str
    note: str
    cursor: str
    spec: dict[str, Any] | None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Axes:
    x: str
    y: str
    percent_x: bool = True
    percent_y: bool = True
    domain_x: tuple[float, float] | None = (0, 1)
    domain_y: tuple[float, float] | None = (0, 1)
    y_type: str = "linear"


def curve_figures(models: Sequence[Deployed]) -> list[Figure]:
    """The charts along thresholds, recall and wilderness."""
    return [make(models) for make in _CURVES]


def _known_pr(models: Sequence[Deployed]) -> Figure:
    at = [(m, m.flow.known_recall, m.flow.known_precision) for m in models]
    return _lines(
        "precision-recall-known",
        "Known classes: precision and recall",
        "All known boxes pooled, along the score slider. A duplicate is a wrong box.",
        "pr-known",
        curves.known_precision_recall(models),
        _Axes("recall of known objects", "precision of known boxes"),
        models,
        points=at,
    )


def _unknown_pr(models: Sequence[Deployed]) -> Figure:
    at = [(m, m.flow.unknown_recall, m.flow.unknown_precision) for m in models]
    return _lines(
        "precision-recall-unknown",
        "Unknown objects: precision and recall",
        "Boxes called unknown, along the second slider, the score at each detector's operating "
        "point.",
        "pr-unknown",
        curves.unknown_precision_recall(models),
        _Axes("recall of unknown objects", "precision of unknown boxes"),
        models,
        points=at,
        missing="no detector calls any unknown object unknown",
    )


def _by_ratio(models: Sequence[Deployed]) -> Figure:
    return _lines(
        "precision-wilderness",
        "Precision as the world gets wilder",
        "Precision of known boxes at the operating point, wild images counted more often than the "
        "data hold them.",
        "ratio",
        curves.precision_by_ratio(models),
        _Axes(
            "wild images per closed-set image",
            "precision of known boxes",
            percent_x=False,
            domain_x=(0, 5),
        ),
        models,
        rule=models[0].sliders.ratio,
        missing="the data do not hold both closed-set and wild images",
    )


def _wi_ratio(models: Sequence[Deployed]) -> Figure:
    level = models[0].matches.protocol.recall
    return _lines(
        "wilderness-impact-ratio",
        "Wilderness Impact and wilderness ratio",
        f"Loss of precision at recall {level:g} of the known classes, as wild images join.",
        "ratio",
        curves.wilderness_by_ratio(models),
        _Axes(
            "wild images per closed-set image",
            "Wilderness Impact",
            percent_x=False,
            domain_x=None,
            domain_y=None,
        ),
        models,
        rule=models[0].sliders.ratio,
        missing="this protocol's Wilderness Impact knows no wilderness ratio, or no image is wild",
    )


def _wi_recall(models: Sequence[Deployed]) -> Figure:
    return _lines(
        "wilderness-impact-recall",
        "Wilderness Impact and recall",
        "A class that never reaches a recall drops out there; the published level is the "
        f"protocol's, {models[0].matches.protocol.recall:g}.",
        "recall",
        curves.wilderness_by_recall(models),
        _Axes("recall of known classes", "Wilderness Impact", domain_y=None),
        models,
        rule=models[0].matches.protocol.recall,
        missing="no known class reaches a recall of 0.05",
    )


def _errors_score(models: Sequence[Deployed]) -> Figure:
    return _lines(
        "a-ose-score",
        "Open-set errors and score",
        "Known boxes on unknown objects (A-OSE) that a least score leaves.",
        "score",
        curves.errors_by_score(models),
        _Axes(
            "least score",
            "open-set errors",
            percent_x=False,
            percent_y=False,
            domain_x=None,
            domain_y=None,
            y_type="sqrt",
        ),
        models,
        rule=models[0].score,
    )


def _errors_recall(models: Sequence[Deployed]) -> Figure:
    return _lines(
        "a-ose-recall",
        "Open-set errors and recall",
        "A-OSE up to a recall of each known class: fair between detectors of different scores.",
        "recall",
        curves.errors_by_recall(models),
        _Axes("recall of known classes", "open-set errors", percent_y=False, domain_y=None),
        models,
        rule=models[0].flow.known_recall or 0.0,
    )


def _roc(models: Sequence[Deployed]) -> Figure:
    return _lines(
        "roc",
        "Unknownness: ROC",
        "Boxes on closed-set images accepted against boxes on wild images accepted, right or "
        "wrong. It does not ask whether an unknown object was found.",
        "roc",
        curves.roc_points(models),
        _Axes("wild boxes accepted", "closed-set boxes accepted"),
        models,
        points=[],
        missing="no detector gives an unknownness (see openset.scorers)",
    )


def _oscr(models: Sequence[Deployed]) -> Figure:
    at = [(m, m.flow.unknown_as_known, m.flow.known_recall) for m in models]
    return _lines(
        "oscr",
        "Knowns found, unknowns accepted (OSCR)",
        "The curve of open-set recognition on matched objects, along the score slider. Up and left "
        "is better. Not a published number of detection: compare within this page only.",
        "oscr",
        curves.oscr(models),
        _Axes("unknown objects under a known name", "known objects called right", domain_x=None),
        models,
        points=at,
        missing="there are not both known and unknown objects",
    )


_CURVES: tuple[Callable[[Sequence[Deployed]], Figure], ...] = (
    _known_pr,
    _unknown_pr,
    _oscr,
    _by_ratio,
    _errors_score,
    _wi_ratio,
    _wi_recall,
    _errors_recall,
    _roc,
)


def _lines(
    name: str,
    title: str,
    note: str,
    cursor: str,
    rows: list[Row],
    axes: _Axes,
    models: Sequence[Deployed],
    *,
    points: Sequence[tuple[Deployed, float | None, float | None]] | None = None,
    rule: float | None = None,
    missing: str = "nothing to draw",
) -> Figure:
    """Lines by detector, with a cursor that is a point per detector or a vertical rule."""
    if not rows:
        return Figure(name, title, note, cursor, None, missing)
    import altair as alt

    names = [model.title for model in models]
    lines, colour = _drawn(rows, axes, names), _by_model(names)[0]
    if rule is not None:
        here = alt.Chart(alt.InlineData(values=[{"x": round(rule, 5)}], name="cursor"))
        mark = here.mark_rule(strokeDash=[3, 3], opacity=0.75, clip=True).encode(x=alt.X("x:Q"))
    else:
        values = [_at(*point) for point in points or [] if None not in point]
        here = alt.Chart(alt.InlineData(values=values, name="cursor"))
        mark = here.mark_point(size=130, filled=False, opacity=1, strokeWidth=2.5).encode(
            x=alt.X("x:Q"), y=alt.Y("y:Q"), color=colour, shape=_shape()
        )
    chart = (lines + mark).properties(width=WIDTH, height=HEIGHT)
    return Figure(name, title, note, cursor, chart.to_dict(validate=False))


def share_curves(
    figure: Figure, rows: list[Row], axes: tuple[str, str], names: Sequence[str]
) -> Figure:
    """A figure with lines of one share against another, by classifier, if there are any points."""
    if not rows:
        return figure
    import altair as alt

    lines = _drawn(rows, _Axes(*axes), names, who="classifier")
    chart = alt.layer(lines).properties(width=WIDTH, height=HEIGHT)
    return replace(figure, spec=chart.to_dict(validate=False))


def _drawn(rows: list[Row], axes: _Axes, names: Sequence[str], *, who: str = "detector") -> Any:
    """Lines by name, through their points in the order of the rows."""
    import altair as alt

    colour, dash = _by_model(names)
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=_axis(alt.X, "x", axes),
            y=_axis(alt.Y, "y", axes),
            color=colour,
            strokeDash=dash,
            order=alt.Order("row:Q"),
            tooltip=_tips(axes, who),
        )
        .transform_window(row="row_number()")
    )


def _tips(axes: _Axes, who: str) -> list[Any]:
    import altair as alt

    return [
        alt.Tooltip("model:N", title=who),
        alt.Tooltip("x:Q", title=axes.x, format=".1%" if axes.percent_x else ".3~f"),
        alt.Tooltip("y:Q", title=axes.y, format=".1%" if axes.percent_y else ",d"),
    ]


def _at(model: Deployed, x: float | None, y: float | None) -> Row:
    here = {"x": round(x or 0.0, 5), "y": round(y or 0.0, 5)}
    return {"model": model.title, "at": model.index % len(COLOURS), **here}


def _axis(channel: Any, field: str, axes: _Axes) -> Any:
    import altair as alt

    title, percent, domain, kind = (
        (axes.x, axes.percent_x, axes.domain_x, "linear")
        if field == "x"
        else (axes.y, axes.percent_y, axes.domain_y, axes.y_type)
    )
    options: dict[str, Any] = {"type": kind, "nice": True}
    if domain:
        options["domain"] = list(domain)
    look = alt.Axis(format=".0%" if percent else "~g" if field == "x" else ",d", tickCount=5)
    return channel(f"{field}:Q", title=title, scale=alt.Scale(**options), axis=look)


def _by_model(names: Sequence[str]) -> tuple[Any, Any]:
    import altair as alt

    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    dashes = [DASHES[at % len(DASHES)] for at in range(len(names))]
    columns = 2 if max(map(len, names)) <= LONGEST_IN_TWO_COLUMNS else 1
    legend = alt.Legend(title=None, orient="bottom", columns=columns) if len(names) > 1 else None
    return (
        alt.Color("model:N", scale=alt.Scale(domain=list(names), range=colours), legend=legend),
        alt.StrokeDash("model:N", scale=alt.Scale(domain=list(names), range=dashes), legend=legend),
    )


def _shape() -> Any:
    import altair as alt

    shapes = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down"]
    scale = alt.Scale(domain=list(range(len(shapes))), range=shapes)
    return alt.Shape("at:N", scale=scale, legend=None)
