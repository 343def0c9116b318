"""The figure for a paper: what chains could do after each stage, with a panel per number.

Stages stand on x, in their order. Several chains are lines of their own, told apart by colour and
by dashes. The page of `openset report` draws the same points (`openset.evaluation.through_time`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openset.evaluation.learned import Learned
from openset.evaluation.through_time import PANELS, points, stages_of
from openset.vega import stage_lines, write_chart

_SIDE, _COLUMNS = {"width": 200, "height": 150}, 3


def through_time(chains: Mapping[str, Learned], path: str | Path) -> Path:
    """Draw chains into a file: .svg, .pdf or .png.

    Args:
        chains: What was learned, by the name of each chain.
        path: The file to write.
    """
    return write_chart(chart(chains), Path(path))


def chart(chains: Mapping[str, Learned]) -> dict[str, Any]:
    """The figure as a specification of Vega-Lite."""
    import altair as alt

    stages, names = stages_of(chains), [*chains]
    panels = [
        stage_lines(points(chains, one), one.axes, stages, names).properties(**_SIDE)
        for one in PANELS
    ]
    return dict(alt.concat(*panels, columns=_COLUMNS).to_dict(validate=False))
