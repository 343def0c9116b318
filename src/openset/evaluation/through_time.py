"""Through time: the numbers of chains along their stages, as points to draw.

AP of earlier tasks falls and comes back with fine-tuning; AP of the current one shows what that
costs; recall and precision of the unknown, and open-set errors, show who pays. Points come from
``learned.json`` alone (`openset.evaluation.learned`).

Not a drawing: a paper's figure is `openset.learning.figure`, the page's charts are the report's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openset.evaluation.learned import COUNTS, Learned, Row
from openset.findings import UsageError
from openset.vega import Axes

FORGETTING = "forgetting"


@dataclass(frozen=True, slots=True)
class Panel:
    """A number through time.

    Attributes:
        metric: Its name.
        title: What its axis is called.
        note: How to read it.
    """

    metric: str
    title: str
    note: str

    @property
    def axes(self) -> Axes:
        """Shares from 0 to 1; counts, and what was lost and may be a gain, as far as they go."""
        free = self.metric in COUNTS or self.metric == FORGETTING
        domain = None if free else (0.0, 1.0)
        return Axes("stage", self.title, percent_y=self.metric not in COUNTS, domain_y=domain)


PANELS = (
    Panel("ap_previous", "AP, earlier tasks", "What is left of classes that were taught before."),
    Panel("ap_current", "AP, current task", "How well the newest classes are learned."),
    Panel(FORGETTING, "AP lost by earlier classes", "AP when taught less AP now, mean of classes."),
    Panel("unknown_recall", "unknown recall", "Unknown objects that are called unknown."),
    Panel(
        "unknown_precision", "unknown precision", "Boxes called unknown that are on such objects."
    ),
    Panel("a_ose", "open-set errors (A-OSE)", "Boxes of known classes on unknown objects."),
)


def stages_of(chains: Mapping[str, Learned]) -> list[str]:
    """Names of the stages of all chains, in the order of tasks.

    Raises:
        UsageError: No chain has come so far.
    """
    rows = {(r.task, r.finetune): r.name for chain in chains.values() for r in chain.rows}
    if not rows:
        raise UsageError("there is no stage to draw yet")
    return [rows[key] for key in sorted(rows)]


def points(chains: Mapping[str, Learned], panel: Panel) -> list[dict[str, Any]]:
    """The points of a panel, with the ends of their intervals; stages without it have none."""
    return [
        {"model": name, "stage": row.name, "y": value, **_ends(row, panel.metric)}
        for name, chain in chains.items()
        for row in chain.rows
        if (value := _value(row, panel.metric)) is not None
    ]


def _value(row: Row, metric: str) -> float | None:
    return row.forgetting if metric == FORGETTING else row.value(metric)


def _ends(row: Row, metric: str) -> dict[str, float]:
    ends = row.numbers[metric]["interval"] if metric in row.numbers else None
    return {"low": ends[0], "high": ends[1]} if ends else {}
