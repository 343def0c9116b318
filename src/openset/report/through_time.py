"""Through time: the page on detectors that learn task after task, from what `openset learn` keeps.

Every number after each stage as a chart, the table of stages, what became of every class, and what
classes were called before they were taught. The numbers are those of ``learned.json``.

Not the pages of single stages: each has a run of its own, which `openset report` shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openset.evaluation.learned import Learned
from openset.evaluation.through_time import PANELS, Panel, points, stages_of
from openset.report.charts import Figure
from openset.vega import drawn, stage_lines
from openset.wording import distinct, short

LONGEST_NAME = 60
MOST_CLASSES = 100  # rows of a table
_SHADES = 5


@dataclass(frozen=True)
class Cell:
    """AP of a class after a stage.

    Attributes:
        ap: As text; empty before the class was taught.
        shade: From 1, the more the larger the share of its AP that is lost; 0 is none.
    """

    ap: str
    shade: int


@dataclass(frozen=True)
class Chain:
    """A chain, as the page shows it.

    Attributes:
        learned: Its numbers.
        about: How it was learned.
        classes: Every class, its task, and its AP after each stage.
        left_out: Classes that are not shown.
    """

    learned: Learned
    about: str
    classes: Sequence[tuple[str, int, Sequence[Cell]]]
    left_out: int


@dataclass(frozen=True)
class ThroughTime:
    """What the page shows.

    Attributes:
        names: The chains, as they are shown.
        chains: The same.
        figures: A chart per number.
    """

    names: tuple[str, ...]
    chains: tuple[Chain, ...]
    figures: tuple[Figure, ...]


def through_time(chains: Mapping[str, Learned]) -> ThroughTime:
    """The page on some chains, by their names.

    Raises:
        UsageError: No chain has come so far that there is something to show.
    """
    named = dict(zip(distinct(chains, LONGEST_NAME), chains.values(), strict=True))
    stages = stages_of(named)
    figures = tuple(_figure(named, panel, stages) for panel in PANELS)
    return ThroughTime(tuple(named), tuple(map(_chain, named.values())), figures)


def _figure(chains: Mapping[str, Learned], panel: Panel, stages: Sequence[str]) -> Figure:
    rows = points(chains, panel)
    name = f"time-{panel.metric.replace('_', '-')}"
    title = panel.title[0].upper() + panel.title[1:]
    spec = drawn(stage_lines(rows, panel.axes, stages, [*chains])) if rows else None
    return Figure(name, title, panel.note, "", spec, "no stage has this number")


def _chain(learned: Learned) -> Chain:
    kept = learned.kept()
    classes = [
        (one.label, one.task, [*map(_cell, one.ap, one.drops)]) for one in kept[:MOST_CLASSES]
    ]
    return Chain(learned, _about(learned), classes, len(kept) - len(classes))


def _cell(ap: float | None, drop: float | None) -> Cell:
    if ap is None:
        return Cell("", 0)
    lost = 0.0 if drop is None or drop <= 0 else drop / (ap + drop)
    return Cell(f"{100 * ap:.1f}", min(_SHADES, 1 + int(_SHADES * lost)) if lost else 0)


def _about(learned: Learned) -> str:
    """How a chain was learned, in a line."""
    said = learned.about
    parts = [f"{short(learned.benchmark, 60)} in {len(learned.tasks)} tasks"]
    parts += [
        f"{key} {short(value, 60)}"
        for key in ("recipe", "method", "seed")
        if (value := said.get(key)) not in (None, "")
    ]
    exemplars = said.get("exemplars")
    if isinstance(exemplars, dict):
        parts.append(f"exemplars: {short(exemplars.get('rule'), 60)}")
    return " · ".join([*parts, "CEC decides what is unknown"] if said.get("expel") else parts)
