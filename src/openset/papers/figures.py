"""Figures: a run drawn as SVG, with the digest of what it shows, so that it can be verified.

Renderers differ by version in the last digits of a path; the digest of the drawing's specification
does not, and stands in the file.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from openset import json_text, vega
from openset.files import load_text, replacing
from openset.papers.page import Figure
from openset.papers.run_file import Estimate, Run

_MARK = "<!-- shows {} -->"


def specification(run: Run, figure: Figure) -> dict[str, Any]:
    """The chart, as Vega-Lite."""
    rows = points(run, figure)
    names = list(dict.fromkeys(row["model"] for row in rows))
    return _lines(rows, names, figure, run) if figure.kind == "lines" else _bars(rows, figure, run)


def draw(run: Run, figure: Figure, path: Path) -> None:
    """Write the figure."""
    spec = specification(run, figure)
    with replacing(path, folder=False) as draft:
        made = draft.with_suffix(".svg")
        text = vega.write_chart(spec, made).read_text("utf-8")
        made.unlink()
        draft.write_text(text.rstrip() + "\n" + _MARK.format(_digest(spec)) + "\n", "utf-8")


def is_current(run: Run, figure: Figure, path: Path) -> bool:
    """Whether a file shows what the run says."""
    wanted = _MARK.format(_digest(specification(run, figure)))
    return path.is_file() and load_text(path).rstrip().endswith(wanted)


def points(run: Run, figure: Figure) -> list[vega.Row]:
    """What a figure shows: the rows that have both numbers."""
    at = {column.name: place for place, column in enumerate(run.columns)}
    found = []
    for row in run.rows:
        x, y = _value(row[at[figure.x]]), _value(row[at[figure.y]])
        if x is not None and y is not None:
            found.append({"model": str(row[at[figure.by]]), "x": x, "y": y})
    return found


def _value(cell: Any) -> float | str | None:
    return cell.value if isinstance(cell, Estimate) else cell


def _lines(rows: list[vega.Row], names: list[str], figure: Figure, run: Run) -> dict[str, Any]:
    units = {column.name: column.unit for column in run.columns}
    axes = vega.Axes(
        figure.x,
        figure.y,
        percent_x=units[figure.x] == "%",
        percent_y=units[figure.y] == "%",
        domain_x=None,
        domain_y=None,
    )
    return vega.drawn(vega.lines(rows, axes, names, who=figure.by))


def _bars(rows: list[vega.Row], figure: Figure, run: Run) -> dict[str, Any]:
    units = {column.name: column.unit for column in run.columns}
    look = {"format": ".0%" if units[figure.y] == "%" else "~g"}
    names = list(dict.fromkeys(row["model"] for row in rows))
    colours = [vega.COLOURS[at % len(vega.COLOURS)] for at in range(len(names))]
    bars = vega.chart(
        rows,
        vega.mark("bar"),
        x=vega.field("x:N", title=figure.x, sort=None),
        y=vega.field("y:Q", title=figure.y, axis=look),
        xOffset=vega.field("model:N", sort=names),
        color=vega.field("model:N", title=None, scale={"domain": names, "range": colours}),
    )
    return vega.drawn(bars)


def _digest(spec: dict[str, Any]) -> str:
    return sha256(json_text.compact(spec).encode()).hexdigest()
