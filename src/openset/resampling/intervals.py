"""Intervals: from the resamples of a number to its 95 % interval, and to a p-value of a difference.

Intervals are bias-corrected percentiles (Efron 1987): interpolated precision is a maximum, and a
maximum over resampled images is larger on average than over the images themselves, so that plain
percentiles of average precision lie too high.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
# Values and resamples are summed in another order, and some presets sum values in float32.
ROUNDING = 1e-6


def interval(
    numbers: NDArray[np.float64],
    value: float,
    confidence: float = CONFIDENCE,
    *,
    scale: float | None = None,
) -> tuple[float, float] | None:
    """The bias-corrected percentile interval of a value, from its resamples.

    None if the metric exists in fewer than half of the resamples. Resamples that equal the value
    within rounding count as equal: half below it, half above.

    Args:
        numbers: The resamples, NaN where the metric does not exist.
        value: The value on the data itself.
        confidence: Share of resamples within the interval.
        scale: Size of the numbers that were rounded, if they are larger than the value (which may
            be a small difference of large ones).

    >>> low, high = interval(np.arange(1001.0), 500)
    >>> round(low), round(high)
    (25, 975)
    """
    kept = numbers[np.isfinite(numbers)]
    if len(kept) * 2 < len(numbers) or not len(kept):
        return None
    from statistics import NormalDist  # its own imports would show in every start-up

    normal = NormalDist()
    kept = np.where(equal(kept, value, abs(value) if scale is None else scale), value, kept)
    below = float(np.mean(kept < value) + np.mean(kept == value) / 2)
    bias = normal.inv_cdf(min(max(below, 1 / len(kept)), 1 - 1 / len(kept)))
    tail = normal.inv_cdf((1 - confidence) / 2)
    levels = [normal.cdf(2 * bias + tail), normal.cdf(2 * bias - tail)]
    low, high = np.quantile(kept, levels)
    return float(low), float(high)


def equal(
    numbers: NDArray[np.float64] | float, others: NDArray[np.float64] | float, scale: float
) -> NDArray[np.bool_]:
    """Whether numbers are equal but for the rounding of numbers of a size.

    >>> equal(np.array([0.3, 0.31]), 0.1 + 0.2, scale=0.3).tolist()
    [True, False]
    """
    return np.asarray(np.isclose(numbers, others, rtol=0, atol=ROUNDING * scale + 1e-12))


def p_value(difference: NDArray[np.float64]) -> float | None:
    """Two-sided bootstrap p-value of "no difference" from paired differences."""
    kept = difference[np.isfinite(difference)]
    if len(kept) * 2 < len(difference) or not len(kept):
        return None
    below, above = float(np.mean(kept <= 0)), float(np.mean(kept >= 0))
    return min(1.0, 2 * min(below, above) + 1 / len(kept))
