"""Figures: a run drawn as SVG, with the digest of what it shows, so that it can be verified.

Renderers differ by version in the last digits of a path; the digest of the drawing's specification
does not, and stands in the file. Beside it stands that of the drawing, which tells of edits.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

from openset import json_text, vega
from openset.files import replacing
from openset.papers.page import Figure
from openset.papers.run_file import Estimate, Run

MARGIN = 24  # pixels around long names, which a reader's font may draw wider
SQUARE = 18  # pixels of a cell of a matrix
_COUNTED = re.compile(r"\b(?:clip|gradient_)\d+\b")
_MARK = "<!-- shows {}, drawn as {} -->"


def specification(run: Run, figure: Figure) -> dict[str, Any]:
    """The chart, as Vega-Lite."""
    rows = points(run, figure)
    names = list(dict.fromkeys(row["model"] for row in rows))
    if figure.kind == "matrix":
        return _matrix(rows, names, figure)
    return _lines(rows, names, figure, run) if figure.kind == "lines" else _bars(rows, figure, run)


def draw(run: Run, figure: Figure, path: Path) -> None:
    """Write the figure."""
    spec = specification(run, figure)
    with replacing(path, folder=False) as draft:
        made = draft.with_suffix(".svg")
        picture = _numbered(vega.write_chart(spec, made).read_text("utf-8").rstrip())
        made.unlink()
        draft.write_text(f"{picture}\n{_mark(spec, picture)}\n", "utf-8")


def _numbered(picture: str) -> str:
    """The picture with its clips and gradients counted from 0: the renderer never begins anew."""
    names = dict.fromkeys(_COUNTED.findall(picture))
    anew = {name: f"{name.rstrip('0123456789')}{at}" for at, name in enumerate(names)}
    return _COUNTED.sub(lambda found: anew[found[0]], picture)


def is_current(run: Run, figure: Figure, path: Path) -> bool:
    """Whether a file shows what the run says, as it was drawn."""
    if not path.is_file():
        return False
    text = path.read_text("utf-8", "replace")  # no input: it may be drawn again
    picture, _, there = "\n".join(text.splitlines()).rpartition("\n")
    return there == _mark(specification(run, figure), picture)


def points(run: Run, figure: Figure) -> list[vega.Row]:
    """What a figure shows: the rows that have both numbers."""
    at = {column.name: place for place, column in enumerate(run.columns)}
    found = []
    for name in _chosen(run, figure):
        cells = [(_value(row[at[figure.x]]), _value(row[at[name]])) for row in run.rows]
        found += [{"model": name, "x": x, "y": y} for x, y in cells if y is not None]
    scale = 100 if not figure.columns and _unit(run, figure) == "points" else 1
    for row in () if figure.columns else run.rows:
        x, y = _value(row[at[figure.x]]), _value(row[at[figure.y]])
        if x is not None and isinstance(y, float):
            found.append({"model": str(row[at[figure.by]]), "x": x, "y": scale * y})
    return found


def _chosen(run: Run, figure: Figure) -> list[str]:
    """The columns that a figure draws, in the order of the table."""
    ways = [name for name in figure.columns if name.endswith("*")]
    return [
        each.name
        for each in run.columns
        if each.name in figure.columns or any(each.name.startswith(way[:-1]) for way in ways)
    ]


def _unit(run: Run, figure: Figure) -> str:
    drawn = [*_chosen(run, figure), figure.y][0]
    return next(each.unit for each in run.columns if each.name == drawn)


def _value(cell: Any) -> float | str | None:
    return cell.value if isinstance(cell, Estimate) else cell


def _lines(rows: list[vega.Row], names: list[str], figure: Figure, run: Run) -> dict[str, Any]:
    units = {column.name: column.unit for column in run.columns}
    axes = vega.Axes(
        figure.x,
        f"{figure.y}, points" if units[figure.y] == "points" else figure.y,
        percent_x=units[figure.x] == "%",
        percent_y=units[figure.y] == "%",
        domain_x=None,
        domain_y=None,
    )
    chart = vega.lines(rows, axes, names, who=figure.by)
    counts = Counter(row["model"] for row in rows)
    if 1 in counts.values():  # a line of one point is no line: it would not be seen
        chart["mark"] |= {"point": {"filled": True, "size": 60}, "clip": False}
    return vega.drawn(chart)


def _bars(rows: list[vega.Row], figure: Figure, run: Run) -> dict[str, Any]:
    share = _unit(run, figure) == "%"
    names = list(dict.fromkeys(row["model"] for row in rows))
    colours = [vega.COLOURS[at % len(vega.COLOURS)] for at in range(len(names))]
    apart = figure.kind == "bars"
    beside = {"xOffset": vega.field("model:N", sort=names)} if apart else {}
    below = {} if apart else {"axis": {"titlePadding": MARGIN}}
    bars = vega.chart(
        rows,
        vega.mark("bar"),
        x=vega.field("x:N", title=figure.x, sort=None, **below),
        y=vega.field("y:Q", title=figure.y, axis={"format": ".0%" if share else "~g"}),
        **beside,
        color=vega.field("model:N", title=None, scale={"domain": names, "range": colours}),
    )
    return vega.drawn(bars) | ({} if apart else {"padding": MARGIN})


def _matrix(rows: list[vega.Row], names: list[str], figure: Figure) -> dict[str, Any]:
    """Squares, the darker the more; the scale is that of roots, or small counts would not show."""
    labels = list(dict.fromkeys(str(row["x"]) for row in rows))
    shade = {"scheme": "blues", "type": "sqrt"}
    squares = vega.chart(
        rows,
        vega.mark("rect"),
        x=vega.field("model:N", title=figure.by, sort=names, axis={"labelAngle": -45}),
        y=vega.field("x:N", title=None, sort=labels),
        color=vega.field("y:Q", title=figure.y, scale=shade),
    )
    size = {"width": SQUARE * len(names), "height": SQUARE * len(labels)}
    return squares | size | {"padding": MARGIN}


def _mark(spec: dict[str, Any], picture: str) -> str:
    """The last line of a file: what it shows, and how it was drawn."""
    texts = (json_text.compact(spec), picture)
    return _MARK.format(*(sha256(text.encode()).hexdigest() for text in texts))
