"""Bars: intervals as small pictures beside their numbers, in percent of the bar's width.

The scoreboard itself is `openset.evaluation.scoreboard`; the page only draws it.
"""

from __future__ import annotations

from openset.evaluation.comparison import Difference
from openset.evaluation.scoreboard import Cell, Line

WIDTH = 100.0
_HALF = 48.0  # of a bar around 0, so that its ends stay inside

Bar = tuple[float, float, float]
"""Where an interval starts, how wide it is, and where the number is."""


def value_bar(cell: Cell, line: Line) -> Bar | None:
    """Where an interval lies among those of all models."""
    intervals = [(c.value.interval, c.value.value) for c in line.cells if c.value.value is not None]
    edges = [x for ends, value in intervals if ends for x in (*ends, value)]
    if cell.value.interval is None or cell.value.value is None or min(edges) == max(edges):
        return None
    low, span = min(edges), max(edges) - min(edges)
    shown = (*cell.value.interval, cell.value.value)
    start, end, point = (round(WIDTH * (x - low) / span, 2) for x in shown)
    return start, round(end - start, 2), point


def difference_bar(d: Difference) -> Bar | None:
    """Where the interval of a difference lies around 0, the largest end at an edge."""
    if d.interval is None or d.difference is None:
        return None
    reach = max(map(abs, (*d.interval, d.difference)))
    if not reach:
        return None
    low, high, point = (round(50 + _HALF * x / reach, 2) for x in (*d.interval, d.difference))
    return low, round(high - low, 2), point
