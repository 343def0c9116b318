"""Scoreboard: detectors against metrics, with intervals, directions and significance.

One row per metric, because a page is taller than wide. A star marks a difference from the first
detector whose paired interval leaves out 0; a metric that does not exist is a dash with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openset.diagnosis.deployed import Deployed
from openset.evaluation.comparison import Comparison, compare
from openset.evaluation.result import Evaluation, ends, number
from openset.metrics import Metric, Value

ARROWS = {"higher": "↑", "lower": "↓", None: ""}
DIRECTIONS = {"higher": "higher is better", "lower": "lower is better", None: "no direction"}
_BAR = 100.0  # width of an interval's bar, in its own units


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as the table shows it.

    Attributes:
        text: The number, or a dash.
        interval: Its interval, or nothing.
        note: Number of the footnote that says why there is none; 0 for none.
        value: For sorting.
        mark: ``*`` if it differs from the first detector.
        verdict: In words: better, worse, or nothing.
        best: Whether no other detector is better.
        bar: Start, width and point of the interval's bar in percent, if there is one.
    """

    text: str
    interval: str
    note: int
    value: float | None
    mark: str
    verdict: str
    best: bool
    bar: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class Line:
    """A metric and its value for every detector."""

    name: str
    title: str
    summary: str
    arrow: str
    direction: str
    headline: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """All lines, and why some values do not exist."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def comparisons(models: Sequence[Deployed]) -> list[Comparison | None]:
    """Every detector against the first; None for the first itself."""
    return _against([model.evaluation for model in models])


def _against(results: Sequence[Evaluation]) -> list[Comparison | None]:
    first, *others = results
    return [None, *(compare(first, other, force=True) for other in others)]


def scoreboard(models: Sequence[Deployed]) -> Scoreboard:
    """The table of all metrics that were computed for detectors."""
    return board({model.title: model.evaluation for model in models})


def board(results: Mapping[str, Evaluation]) -> Scoreboard:
    """The table of all metrics that were computed, by the name to show of each result."""
    first, against = next(iter(results.values())), _against(list(results.values()))
    notes: list[str] = []
    lines = [_line(name, first.metrics.get(name), results, against, notes) for name in first.values]
    return Scoreboard(tuple(sorted(lines, key=lambda line: not line.headline)), tuple(notes))


def _line(
    name: str,
    metric: Metric | None,
    results: Mapping[str, Evaluation],
    against: Sequence[Comparison | None],
    notes: list[str],
) -> Line:
    values = [one.values.get(name, Value.missing("not computed")) for one in results.values()]
    better = metric.better if metric else None
    best = _best(values, better)
    cells = []
    for value, other in zip(values, against, strict=True):
        difference = other.differences.get(name) if other else None
        significant = difference is not None and difference.significant
        said = {True: "better", False: "worse", None: "different"}
        verdict = said[difference.better] if difference is not None and significant else ""
        cells.append(
            Cell(
                text=number(value.value, metric),
                interval=ends(value, metric),
                note=_note(notes, metric.title if metric else name, value),
                value=value.value,
                mark="*" if significant else "",
                verdict=f"{verdict} than {next(iter(results))}" if verdict else "",
                best=best is not None and value.value == best,
                bar=_bar(value, values),
            )
        )
    return Line(
        name=name,
        title=metric.title if metric else name,
        summary=metric.summary if metric else "",
        arrow=ARROWS[better],
        direction=DIRECTIONS[better],
        headline=bool(metric and metric.headline),
        cells=tuple(cells),
    )


def _note(notes: list[str], title: str, value: Value) -> int:
    """The footnote of a value that does not exist; equal ones are said once."""
    if value.value is not None:
        return 0
    text = f"{title}: {value.reason}"
    if text not in notes:
        notes.append(text)
    return notes.index(text) + 1


def _best(values: Sequence[Value], better: str | None) -> float | None:
    """The best of several values, unless all are equal."""
    found = [value.value for value in values if value.value is not None]
    if len(set(found)) < 2 or better is None:
        return None
    return float(max(found) if better == "higher" else min(found))


def _bar(value: Value, values: Sequence[Value]) -> tuple[float, float, float] | None:
    """Where an interval lies among those of all detectors, in percent."""
    if value.interval is None or value.value is None:
        return None
    edges = [
        x for v in values if v.interval and v.value is not None for x in (*v.interval, v.value)
    ]
    low, span = min(edges), max(edges) - min(edges)
    if not span:
        return None
    start, end, point = (round(_BAR * (x - low) / span, 2) for x in (*value.interval, value.value))
    return start, round(end - start, 2), point
