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


def drawn(chart: Any) -> dict[str, Any]:
    """A chart of the usual size, as a specification."""
    return dict(chart.properties(width=WIDTH, height=HEIGHT).to_dict(validate=False))


def by_model(names: Sequence[str]) -> tuple[Any, Any]:
    """The colours and the dashes of models, with a legend where there are several."""
    import altair as alt

    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    dashes = [DASHES[at % len(DASHES)] for at in range(len(names))]
    columns = 2 if max(map(len, names)) <= LONGEST_IN_TWO_COLUMNS else 1
    legend = alt.Legend(title=None, orient="bottom", columns=columns) if len(names) > 1 else None
    return (
        alt.Color("model:N", scale=alt.Scale(domain=list(names), range=colours), legend=legend),
        alt.StrokeDash("model:N", scale=alt.Scale(domain=list(names), range=dashes), legend=legend),
    )


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
    look = alt.Axis(format=".0%" if percent else "~g" if field == "x" else ",d", tickCount=5)
    return channel(f"{field}:Q", title=title, scale=alt.Scale(**options), axis=look)


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
