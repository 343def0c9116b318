"""Plot: OSCR curves as Vega-Lite, and as a PDF, SVG or PNG file for a paper.

A curve has at most a few hundred points in the picture, those of the exact curve that lie nearest
to evenly spaced rates; areas are never computed from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from openset.files import replacing
from openset.plugins import lookup
from openset.recognition.metrics.oscr import oscr_curve
from openset.recognition.scores import Scores
from openset.report.charts import COLOURS, DASHES, HEIGHT, WIDTH

POINTS = 400
FORMATS = ("pdf", "svg", "png")


def oscr_plot(models: Mapping[str, Scores]) -> dict[str, Any]:
    """The OSCR curves of some classifiers, as a Vega-Lite specification.

    Args:
        models: Their scores, by the name to show.
    """
    import altair as alt

    rows = [row for name, scores in models.items() for row in _points(name, scores)]
    names = list(models)
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    dashes = [DASHES[at % len(DASHES)] for at in range(len(names))]
    legend = alt.Legend(title=None, orient="bottom") if len(names) > 1 else None
    share, zero_to_one = alt.Axis(format="%"), alt.Scale(domain=[0, 1])
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title="unknown samples accepted", axis=share, scale=zero_to_one),
            y=alt.Y("y:Q", title="known samples named correctly", axis=share, scale=zero_to_one),
            color=alt.Color("model:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            strokeDash=alt.StrokeDash(
                "model:N", scale=alt.Scale(domain=names, range=dashes), legend=legend
            ),
            order=alt.Order("at:Q"),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return dict(chart.to_dict(validate=False))


def write_oscr_plot(models: Mapping[str, Scores], path: str | Path) -> Path:
    """Write the OSCR curves of some classifiers to a file whose ending names the format."""
    import vl_convert

    path = Path(path)
    kind = path.suffix.removeprefix(".")
    lookup(dict.fromkeys(FORMATS), kind, "format of figures")
    convert = getattr(vl_convert, f"vegalite_to_{kind}")
    drawn = convert(json.dumps(oscr_plot(models)))
    with replacing(path, folder=False) as target:
        target.write_bytes(drawn.encode() if isinstance(drawn, str) else drawn)
    return path


def _points(name: str, scores: Scores) -> list[dict[str, Any]]:
    """The curve, thinned evenly along its length."""
    curve = oscr_curve(scores)
    length = curve.ofpr + curve.cotpr  # both only grow
    wanted = np.linspace(0, length[-1], POINTS)
    at = np.unique(np.append(np.searchsorted(length, wanted), 0))
    return [
        {"model": name, "at": int(i), "x": round(float(x), 5), "y": round(float(y), 5)}
        for i, x, y in zip(at, curve.ofpr[at], curve.cotpr[at], strict=True)
    ]
