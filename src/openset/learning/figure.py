"""The figure for a paper: what chains could do after each stage, with a panel per number.

Stages stand on x, in their order. Several chains are lines of their own, told apart by colour and
by dashes. The page of `openset report` draws the same points (`openset.evaluation.through_time`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openset import vega
from openset.evaluation.learned import Learned
from openset.evaluation.through_time import PANELS, points, stages_of

_SIDE, _COLUMNS = {"width": 200, "height": 150}, 3


def through_time(chains: Mapping[str, Learned], path: str | Path) -> Path:
    """Draw chains into a file: .svg, .pdf or .png.

    Args:
        chains: What was learned, by the name of each chain.
        path: The file to write.
    """
    return vega.write_chart(chart(chains), Path(path))


def chart(chains: Mapping[str, Learned]) -> vega.Spec:
    """The figure as a specification of Vega-Lite."""
    stages, names = stages_of(chains), [*chains]
    panels = [
        vega.stage_lines(points(chains, one), one.axes, stages, names) | _SIDE for one in PANELS
    ]
    return {"concat": panels, "columns": _COLUMNS}
