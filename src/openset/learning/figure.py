"""Through time: what chains could do after each stage, as one figure with a panel per number.

Stages stand on x, in their order. AP of earlier tasks falls and comes back with fine-tuning; AP of
the current one shows what that costs; recall and precision of the unknown, and open-set errors,
show who pays. Several chains are lines of their own, told apart by colour and by dashes.

What is drawn comes from ``learned.json`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openset import vega
from openset.findings import UsageError
from openset.learning.learned import Learned, Row

FORGETTING = "forgetting"
PANELS: Mapping[str, str] = {
    "ap_previous": "AP, earlier tasks",
    "ap_current": "AP, current task",
    "unknown_recall": "unknown recall",
    "unknown_precision": "unknown precision",
    "a_ose": "open-set errors (A-OSE)",
    FORGETTING: "AP lost by earlier classes",
}
_COUNTS = frozenset({"a_ose"})
_SIDE, _COLUMNS = (200, 150), 3


def through_time(chains: Mapping[str, Learned], path: str | Path) -> Path:
    """Draw chains into a file: .svg, .pdf or .png.

    Args:
        chains: What was learned, by the name of each chain.
        path: The file to write.
    """
    return vega.write_chart(chart(chains), Path(path))


def chart(chains: Mapping[str, Learned]) -> vega.Spec:
    """The figure as a specification of Vega-Lite."""
    order = _order(chains)
    panels = [_panel(metric, rows_of(chains, metric), order, [*chains]) for metric in PANELS]
    return {"concat": panels, "columns": _COLUMNS}


def rows_of(chains: Mapping[str, Learned], metric: str) -> list[vega.Row]:
    """The points of a panel; a stage without the number has none."""
    return [
        {"model": name, "stage": row.name, "y": value, **_ends(row.numbers.get(metric, {}))}
        for name, chain in chains.items()
        for row in chain.rows
        if (value := _value(row, metric)) is not None
    ]


def _value(row: Row, metric: str) -> float | None:
    return row.forgetting if metric == FORGETTING else row.value(metric)


def _ends(number: Mapping[str, Any]) -> dict[str, float]:
    ends = number.get("interval")
    return {"low": ends[0], "high": ends[1]} if ends else {}


def _order(chains: Mapping[str, Learned]) -> list[str]:
    """Stages of all chains, in the order of tasks."""
    if not chains or not any(chain.rows for chain in chains.values()):
        raise UsageError("there is no stage to draw yet")
    rows = {(r.task, r.finetune): r.name for chain in chains.values() for r in chain.rows}
    return [rows[key] for key in sorted(rows)]


def _scale(metric: str) -> vega.Spec:
    """Shares from 0 to 1; counts from 0; what was lost may be a gain."""
    if metric == FORGETTING:
        return {"nice": True}
    return {"domainMin": 0} if metric in _COUNTS else {"domain": [0, 1]}


def _panel(metric: str, rows: list[vega.Row], order: list[str], names: list[str]) -> vega.Spec:
    colour, dash = vega.by_model(names)
    stages = {"sort": order, "scale": {"domain": order}, "title": None, "axis": {"labelAngle": 0}}
    shared = {"x": vega.field("stage:N", **stages), "color": colour}
    look = {"format": ",d" if metric in _COUNTS else ".0%", "tickCount": 5}
    y = vega.field("y:Q", title=PANELS[metric], scale=_scale(metric), axis=look)
    line = vega.mark("line", strokeWidth=2, point=True)
    rule = vega.mark("rule", strokeWidth=1, opacity=0.6)
    ends = vega.chart(rows, rule, y=vega.field("low:Q"), y2={"field": "high"}, **shared)
    width, height = _SIDE
    both = vega.layers(ends, vega.chart(rows, line, y=y, strokeDash=dash, **shared))
    return both | {"width": width, "height": height}
