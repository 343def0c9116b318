"""Vega: charts as Vega-Lite specifications, lines by model, and any chart as a file for a paper.

A specification is a plain dictionary (https://vega.github.io/vega-lite/docs): `chart` makes one of
rows, a `mark` and what its channels show, each a `field`; what else it has is joined with ``|``:

>>> bars = chart([{"of": "cat", "n": 3}], mark("bar"), x=field("n:Q"), y=field("of:N", title=None))
>>> (bars | {"width": 90})["encoding"]["y"]
{'field': 'of', 'type': 'nominal', 'title': None}

One specification gives the interactive chart of a page and the PDF, SVG or PNG of a paper. Models
differ in colour (Okabe and Ito's, which colour-blind people can tell apart) and in dashes, never
in colour alone. What is drawn, and why, is for the report and for recognition to say. Nothing here
checks a specification; drawing it does.
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
Spec = dict[str, Any]
_TYPES = {"Q": "quantitative", "N": "nominal"}


def chart(rows: Sequence[Row], drawn_as: Spec, /, **channels: Spec | list[Spec]) -> Spec:
    """Rows drawn as marks.

    Args:
        rows: What is drawn.
        drawn_as: The `mark`.
        channels: The `field` of x, y, color and so on; a list of them for a tooltip.
    """
    return {"data": {"values": list(rows)}, "mark": drawn_as, "encoding": channels}


def movable(one: Spec, name: str) -> Spec:
    """A chart whose rows a page can replace, by their name."""
    return one | {"data": one["data"] | {"name": name}}


def mark(kind: str, **look: Any) -> Spec:
    """How rows are drawn: ``line``, ``bar``, and how that looks."""
    return {"type": kind, **look}


def field(shorthand: str, **look: Any) -> Spec:
    """A column of the rows, as quantity (``share:Q``) or name (``model:N``), and its look."""
    name, _, kind = shorthand.rpartition(":")
    return {"field": name, "type": _TYPES[kind], **look}


def fields(*shorthands: str) -> list[Spec]:
    """Several columns, for a tooltip."""
    return [field(shorthand) for shorthand in shorthands]


def layers(*charts: Spec) -> Spec:
    """Charts on top of each other, the first lowest."""
    return {"layer": list(charts)}


def panels(one: Spec, **facets: Spec) -> Spec:
    """A chart repeated for each value of a field: one to a ``row``, to a ``column``, or both."""
    inner = {key: value for key, value in one.items() if key != "data"}
    return {"data": one["data"], "facet": facets, "spec": inner}


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


def lines(rows: list[Row], axes: Axes, names: Sequence[str], *, who: str) -> Spec:
    """Lines by name, through their points in the order of the rows.

    Args:
        rows: Points, with ``model``, ``x`` and ``y``.
        axes: The axes.
        names: The models, in the order of their colours.
        who: What a model is called where the pointer rests.
    """
    colour, dash = by_model(names)
    curves = chart(
        rows,
        mark("line", strokeWidth=2, clip=True),
        x=_axis("x", axes),
        y=_axis("y", axes),
        color=colour,
        strokeDash=dash,
        order=field("row:Q"),
        tooltip=_tips(axes, who),
    )
    return curves | {"transform": [{"window": [{"op": "row_number", "field": "", "as": "row"}]}]}


def stage_lines(rows: list[Row], axes: Axes, stages: Sequence[str], names: Sequence[str]) -> Spec:
    """Lines by name along stages in their order, and the intervals of their points.

    Args:
        rows: Points, with ``model``, ``stage`` and ``y``, and ends ``low`` and ``high`` or none.
        axes: The axes; that of stages has no title.
        stages: All stages.
        names: The models, in the order of their colours.
    """
    colour, dash = by_model(names)
    look = {"scale": {"domain": [*stages]}, "title": None, "axis": {"labelAngle": 0}}
    shared = {"x": field("stage:N", sort=None, **look), "color": colour}
    tips = [field("model:N", title="chain"), field("stage:N"), *_tips(axes, "")[2:]]
    line = mark("line", strokeWidth=2, point=True)
    one = chart(rows, line, y=_axis("y", axes), strokeDash=dash, tooltip=tips, **shared)
    wide = [row for row in rows if "low" in row]
    rule = mark("rule", strokeWidth=1, opacity=0.6)
    ends = chart(wide, rule, y=field("low:Q"), y2={"field": "high"}, **shared)
    return layers(one, *[ends] * bool(wide))


def drawn(one: Spec) -> Spec:
    """A chart of the usual size."""
    return one | {"width": WIDTH, "height": HEIGHT}


def by_model(names: Sequence[str]) -> tuple[Spec, Spec]:
    """The colours and the dashes of models, with a legend where there are several."""
    return _looks(names, COLOURS), _looks(names, DASHES, turned=True)


def shape_of(names: Sequence[str]) -> Spec:
    """The shapes of models, in the same legend as colours and dashes."""
    return _looks(names, SHAPES, turned=True)


def _looks(names: Sequence[str], looks: Sequence[Any], *, turned: bool = False) -> Spec:
    """A look for each name; if turned, a second round begins with another than colours do."""
    rounds = ((at, at // len(looks) if turned else 0) for at in range(len(names)))
    shown = [looks[(at + turns) % len(looks)] for at, turns in rounds]
    scale = {"domain": list(names), "range": shown}
    return field("model:N", scale=scale, legend=_legend(names))


def _legend(names: Sequence[str]) -> Spec | None:
    columns = 2 if max(map(len, names)) <= LONGEST_IN_TWO_COLUMNS else 1
    return {"title": None, "orient": "bottom", "columns": columns} if len(names) > 1 else None


def _tips(axes: Axes, who: str) -> list[Spec]:
    return [
        field("model:N", title=who),
        field("x:Q", title=axes.x, format=".1%" if axes.percent_x else ".3~f"),
        field("y:Q", title=axes.y, format=".1%" if axes.percent_y else ",d"),
    ]


def _axis(name: str, axes: Axes) -> Spec:
    title, percent, domain, kind = (
        (axes.x, axes.percent_x, axes.domain_x, "linear")
        if name == "x"
        else (axes.y, axes.percent_y, axes.domain_y, axes.y_type)
    )
    scale: Spec = {"type": kind, "nice": True}
    if domain:
        scale["domain"] = list(domain)
    axis: Spec = {"format": ".3~%" if percent else "~g" if name == "x" else ",d", "tickCount": 5}
    if axis["format"] == ",d":
        axis["tickMinStep"] = 1  # or several ticks would have the label of one count
    said = title if kind == "linear" else f"{title} ({SCALES[kind]})"
    return field(f"{name}:Q", title=said, scale=scale, axis=axis)


def rendered(spec: Mapping[str, Any], kind: str) -> bytes:
    """A chart as the bytes of a file: pdf, svg or png."""
    convert = lookup(FORMATS, kind, "format of figures")
    return convert(json.dumps({**spec, "config": _PAPER}))


def write_chart(spec: Mapping[str, Any], path: Path) -> Path:
    """Write a chart to a file whose ending names the format: .pdf, .svg or .png."""
    picture = rendered(spec, path.suffix.removeprefix("."))
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
