"""Numbers: how the value of a metric is written, the same on a terminal, a page and in a paper.

Fractions are in percent, counts are whole, a number that does not exist is a dash. The unit stands
beside a number that stands alone; in a table it stands in the title of the row.
"""

from __future__ import annotations

from openset.metrics import Metric
from openset.wording import spaced

ARROWS = {"higher": "↑", "lower": "↓", None: ""}
DIRECTIONS = {"higher": "higher is better", "lower": "lower is better", None: "no direction"}
NONE = "–"

Ends = tuple[float, float]


def number(
    value: float | None, metric: Metric | None, *, decimals: int = 2, unit: bool = True
) -> str:
    """The value of a metric.

    Args:
        value: As a fraction, count or score.
        metric: What it is a value of; None for a number that nothing is known about.
        decimals: Of fractions, in percent.
        unit: Whether to write the sign of percent.
    """
    if value is None:
        return NONE
    if metric is None or metric.unit == "score":
        return f"{value:.3g}"
    if metric.unit == "count":
        return spaced(value)
    rounded = round(100 * value, decimals) + 0.0  # no minus before zero
    return f"{rounded:.{decimals}f}" + " %" * unit


def interval(ends: Ends | None, metric: Metric | None, *, decimals: int = 2) -> str:
    """An interval, without a unit; nothing if there is none."""
    if ends is None:
        return ""
    low, high = (number(end, metric, decimals=decimals, unit=False) for end in ends)
    return f"[{low}, {high}]"


def signed(value: float | None, metric: Metric | None, *, decimals: int = 2) -> str:
    """A difference; of fractions, in points."""
    text = number(value, metric, decimals=decimals).replace("-", "−").replace(" %", " pt")
    return f"+{text}" if value is not None and value > 0 else text


def deviation(value: float | None, metric: Metric | None, *, decimals: int = 2) -> str:
    """A deviation of a metric, without a unit; less than ten of a count has two digits.

    >>> deviation(None, None), deviation(0.0123, None)
    ('?', '0.0123')
    """
    if value is None:
        return "?"
    if metric is not None and metric.unit == "count" and value < 10:
        return f"{value:.2g}"
    return number(value, metric, decimals=decimals, unit=False)


def p_text(p: float | None) -> str:
    """A p-value, to three decimals; nothing if there is none.

    >>> p_text(0.0412), p_text(2e-7), p_text(None)
    ('0.041', '< 0.001', '')
    """
    if p is None:
        return ""
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"
