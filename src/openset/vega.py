"""Vega: lines by model as Vega-Lite, made with altair, and any chart as a file for a paper.

One specification gives the interactive chart of a page and the PDF, SVG or PNG of a paper. Models
differ in colour (Okabe and Ito's, which colour-blind people can tell apart) and in dashes, never
in colour alone. What is drawn, and why, is for the report and for recognition to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openset.files import replacing
from openset.plugins import lookup

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 4])
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
WIDTH, HEIGHT = 340, 240
LONGEST_IN_TWO_COLUMNS = 18  # letters of a name in a legend below a chart so wide
PIXELS_PER_POINT = 3.0
_PAPER: Mapping[str, Any] = {
    "background": "white",
    "font": "Helvetica, Arial, sans-serif",
    "axis": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 11},
    "view": {"stroke": None},
}
SCALES = {"sqrt": "√ scale", "log": "log scale"}  # said of axes that are not linear
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Axes:
    """What the axes are called, and what they show: shares from 0 to 1 by default."""

    x: str
    y: str
    percent_x: bool = True
    percent_y: bool = True
    domain_x: tuple[float, float] | None = (0, 1)
    domain_y: tuple[float, float] | None = (0, 1)
    y_type: str = "linear"


def lines(rows: list[Row], axes: Axes, names: Sequence[str], *, who: str) -> Any:
    """Lines by name, through their points in the order of the rows.

    Args:
        rows: Points, with ``model``, ``x`` and ``y``.
        axes: The axes.
        names: The models, in the order of their colours.
        who: What a model is called where the pointer rests.
    """
    import altair as alt

    colour, dash = by_model(names)
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


def stage_lines(rows: list[Row], axes: Axes, stages: Sequence[str], names: Sequence[str]) -> Any:
    """Lines by name along stages in their order, and the intervals of their points.

    Args:
        rows: Points, with ``model``, ``stage`` and ``y``, and ends ``low`` and ``high`` or none.
        axes: The axes; that of stages has no title.
        stages: All stages.
        names: The models, in the order of their colours.
    """
    import altair as alt

    colour, dash = by_model(names)
    along = alt.X(
        "stage:N",
        sort=None,
        scale=alt.Scale(domain=[*stages]),
        title=None,
        axis=alt.Axis(labelAngle=0),
    )
    tips = [alt.Tooltip("model:N", title="chain"), alt.Tooltip("stage:N"), *_tips(axes, "")[2:]]
    line = alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=2, point=True)
    y = _axis(alt.Y, "y", axes)
    line = line.encode(x=along, y=y, color=colour, strokeDash=dash, tooltip=tips)
    wide = [row for row in rows if "low" in row]
    rule = alt.Chart(alt.InlineData(values=wide)).mark_rule(strokeWidth=1, opacity=0.6)
    ends = rule.encode(x=along, y="low:Q", y2="high:Q", color=colour)
    return alt.layer(line, *[ends] * bool(wide))


def drawn(chart: Any) -> dict[str, Any]:
    """A chart of the usual size, as a specification."""
    return dict(chart.properties(width=WIDTH, height=HEIGHT).to_dict(validate=False))


def by_model(names: Sequence[str]) -> tuple[Any, Any]:
    """The colours and the dashes of models, with a legend where there are several."""
    import altair as alt

    return (
        alt.Color("model:N", scale=_scale(names, COLOURS), legend=_legend(names)),
        alt.StrokeDash("model:N", scale=_scale(names, DASHES), legend=_legend(names)),
    )


def shape_of(names: Sequence[str]) -> Any:
    """The shapes of models, in the same legend as colours and dashes."""
    import altair as alt

    return alt.Shape("model:N", scale=_scale(names, SHAPES), legend=_legend(names))


def _scale(names: Sequence[str], looks: Sequence[Any]) -> Any:
    import altair as alt

    return alt.Scale(domain=list(names), range=[looks[at % len(looks)] for at in range(len(names))])


def _legend(names: Sequence[str]) -> Any:
    import altair as alt

    columns = 2 if max(map(len, names)) <= LONGEST_IN_TWO_COLUMNS else 1
    return alt.Legend(title=None, orient="bottom", columns=columns) if len(names) > 1 else None


def _tips(axes: Axes, who: str) -> list[Any]:
    import altair as alt

    return [
        alt.Tooltip("model:N", title=who),
        alt.Tooltip("x:Q", title=axes.x, format=".1%" if axes.percent_x else ".3~f"),
        alt.Tooltip("y:Q", title=axes.y, format=".1%" if axes.percent_y else ",d"),
    ]


def _axis(channel: Any, field: str, axes: Axes) -> Any:
    import altair as alt

    title, percent, domain, kind = (
        (axes.x, axes.percent_x, axes.domain_x, "linear")
        if field == "x"
        else (axes.y, axes.percent_y, axes.domain_y, axes.y_type)
    )
    options: dict[str, Any] = {"type": kind, "nice": True}
    if domain:
        options["domain"] = list(domain)
    look: dict[str, Any] = {"format": ".3~%" if percent else "~g" if field == "x" else ",d"}
    if look["format"] == ",d":
        look["tickMinStep"] = 1  # or several ticks would have the label of one count
    said = title if kind == "linear" else f"{title} ({SCALES[kind]})"
    axis = alt.Axis(**look, tickCount=5)
    return channel(f"{field}:Q", title=said, scale=alt.Scale(**options), axis=axis)


def write_chart(spec: Mapping[str, Any], path: Path) -> Path:
    """Write a chart to a file whose ending names the format: .pdf, .svg or .png."""
    convert = lookup(FORMATS, path.suffix.removeprefix("."), "format of figures")
    picture = convert(json.dumps({**spec, "config": _PAPER}))
    with replacing(path, folder=False) as target:
        target.write_bytes(picture)
    return path


def _pdf(spec: str) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_pdf(spec))


def _svg(spec: str) -> bytes:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec)).encode()


def _png(spec: str) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(spec, scale=PIXELS_PER_POINT))


FORMATS: Mapping[str, Callable[[str], bytes]] = {"pdf": _pdf, "svg": _svg, "png": _png}
