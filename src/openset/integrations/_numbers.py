"""Numbers: what trackers of experiments log of an evaluation.

Metrics without a number are left out: a tracker would draw them as 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation


def numbers(
    evaluation: Evaluation, prefix: str = "val/", *, intervals: bool = False
) -> dict[str, float]:
    """The numbers of an evaluation, by name.

    Args:
        evaluation: The numbers.
        prefix: Put before every name.
        intervals: Also the ends of the intervals, as ``<name>/low`` and ``<name>/high``.
    """
    flat = evaluation.flat(prefix)
    if intervals:
        for name, value in evaluation.values.items():
            if value.interval is not None:
                low, high = value.interval
                flat |= {f"{prefix}{name}/low": float(low), f"{prefix}{name}/high": float(high)}
    return flat
