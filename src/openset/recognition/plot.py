"""Plot: OSCR curves as Vega-Lite, and as a PDF, SVG or PNG file for a paper.

A curve has at most a few hundred points in the picture, those of the exact curve that lie nearest
to evenly spaced rates; areas are never computed from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from openset.plugins import lookup
from openset.recognition.metrics.oscr import oscr_curve
from openset.recognition.scores import Scores
from openset.vega import FORMATS, Axes, drawn, lines, write_chart

POINTS = 400


def oscr_plot(models: Mapping[str, Scores]) -> dict[str, Any]:
    """The OSCR curves of some classifiers, as a Vega-Lite specification.

    Args:
        models: Their scores, by the name to show.
    """
    rows = [row for name, scores in models.items() for row in _points(name, scores)]
    axes = Axes("unknown samples accepted", "known samples named correctly")
    return drawn(lines(rows, axes, list(models), who="classifier"))


def write_oscr_plot(models: Mapping[str, Scores], path: str | Path) -> Path:
    """Write the OSCR curves of some classifiers to a file whose ending names the format."""
    path = Path(path)
    lookup(FORMATS, path.suffix.removeprefix("."), "format of figures")
    return write_chart(oscr_plot(models), path)


def _points(name: str, scores: Scores) -> list[dict[str, Any]]:
    """The curve, thinned evenly along its length."""
    curve = oscr_curve(scores)
    length = curve.ofpr + curve.cotpr  # both only grow
    wanted = np.linspace(0, length[-1], POINTS)
    at = np.unique(np.append(np.searchsorted(length, wanted), 0))
    return [
        {"model": name, "x": round(float(x), 5), "y": round(float(y), 5)}
        for x, y in zip(curve.ofpr[at], curve.cotpr[at], strict=True)
    ]
