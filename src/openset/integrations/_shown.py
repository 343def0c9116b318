"""Shown: what trackers show of an evaluation beside its numbers: a table, curves, their pictures.

The curves are those that an evaluation has by itself; the page of a run (`openset report`) has more
of them, with bands, and its sliders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openset import vega

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openset.evaluation.result import Evaluation

RECALL, OSCR = "precision_recall_known", "oscr"
_OF_RATES = {
    RECALL: vega.Axes("recall of known objects", "precision of known boxes"),
    OSCR: vega.Axes("unknown objects under a known name", "known objects called right"),
}
_BY_LEVEL = {
    "wilderness_curve": vega.Axes(
        "wild images per closed-set image",
        "Wilderness Impact",
        percent_x=False,
        domain_x=None,
        domain_y=None,
    ),
    "a_ose_at_recall": vega.Axes(
        "recall of known classes", "open-set errors", percent_y=False, domain_y=None
    ),
}


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve and what its axes are called."""

    axes: vega.Axes
    points: tuple[tuple[float, float], ...]

    @property
    def columns(self) -> dict[str, list[float]]:
        """The points by axis."""
        x, y = (list(values) for values in zip(*self.points, strict=True))
        return {self.axes.x: x, self.axes.y: y}

    def picture(self) -> NDArray[np.uint8]:
        """The curve as pixels: height, width, and red, green, blue."""
        import io

        import numpy as np
        from PIL import Image

        rows = [{"model": "", "x": x, "y": y} for x, y in self.points]
        drawn = vega.drawn(vega.lines(rows, self.axes, [""], who="detector"))
        return np.asarray(Image.open(io.BytesIO(vega.rendered(drawn, "png"))).convert("RGB"))


def table(evaluation: Evaluation) -> tuple[list[str], list[list[Any]]]:
    """The columns of an evaluation's table, and a row per metric, with numbers in cells."""
    from openset.evaluation.scoreboard import COLUMNS

    return list(COLUMNS), [list(row[1:]) for row in evaluation.board().rows()]


def curves(evaluation: Evaluation) -> Mapping[str, Curve]:
    """The curves of an evaluation that have points; of one read from a file, those of metrics."""
    from openset.diagnosis import rates

    found = {}
    if evaluation.matches is not None:
        along = rates.along_score(evaluation.matches)
        for name, of in ((RECALL, rates.known_precision_recall), (OSCR, rates.oscr)):
            found[name] = _curve(_OF_RATES[name], ((one.x, one.y) for one in of(along)))
    for name, axes in _BY_LEVEL.items():
        if name in evaluation.values:
            parts = evaluation.values[name].parts.items()
            points = ((float(level), y) for level, y in parts if y is not None)
            found[name] = _curve(axes, points)
    return {name: one for name, one in found.items() if one.points}


def _curve(axes: vega.Axes, points: Iterable[tuple[float, float]]) -> Curve:
    return Curve(axes, tuple((round(float(x), 5), round(float(y), 5)) for x, y in points))
