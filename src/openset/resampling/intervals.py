"""Intervals: what the resamples of a number say: its 95 % interval, its bias, p of a difference.

A value is put where it would be without its bias, and as far to both sides as resamples spread
(`interval`); counts and their ratios, which are skewed, by factors instead (`Scale`). Differences
of two models are plain percentiles (`percentiles`), and p is of the same resamples (`p_value`): it
is below 0.05 exactly where the interval leaves out 0. Where a method was trained several times, the
spread of its trainings counts too (`openset.resampling.trainings`), and both are of Student's law
(`judged`).

Which was found by measuring: see ``experiments/coverage.py`` and ``docs/results/coverage.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from openset.resampling.trainings import Spread, together

Numbers = NDArray[np.float64]
Ends = tuple[float, float]
Edges = tuple[float | None, float | None]
Scale = Literal["plain", "log"]
CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
ALPHA = 1 - CONFIDENCE
_Z = 1.959963984540054  # of the normal law, at the ends
# Values and resamples are summed in another order, and some presets sum values in float32.
ROUNDING = 1e-6
# A bias that falls with the number of images doubles on half of them, so that it shows in full;
# that it falls so is an assumption, which is trusted no more than by its own size.
_UNSURE = 1.0


def interval(
    numbers: Numbers,
    value: float,
    scale: Scale = "plain",
    within: Edges = (None, None),
    training: Spread | None = None,
) -> Ends | None:
    """The 95 % interval of a value, from its resamples; None if fewer than half of them have one.

    Value minus bias, plus and minus 1.96 deviations; on the scale of logarithms the value itself,
    times and over a factor. The deviation is that of the resamples and, in square, of the bias,
    which is not known well.

    Args:
        numbers: The resamples, NaN where the metric does not exist.
        value: The value on the data itself.
        scale: ``log`` for counts and their ratios.
        within: Least and largest possible value.
        training: The spread of trainings, if the value is a mean over several.

    >>> low, high = interval(np.arange(1001.0), 500)
    >>> round(low), round(high)
    (-66, 1066)
    """
    kept = _existing(numbers)
    if kept is None:
        return None
    kept = np.where(equal(kept, value, abs(value)), value, kept)
    off, images = float(kept.mean()) - value, _deviation(kept, value)
    reach = together(images, training).reach(TAIL) if training else _Z * images
    sides = np.array([-1, 1]) * reach
    skewed = scale == "log" and value > 0
    ends = value * np.exp(sides / value) if skewed else value - off + sides
    low, high = np.clip(ends, *within)
    return float(low), float(high)


def deviation(numbers: Numbers, value: float) -> float | None:
    """How far a value lies from the truth by the choice of images: one deviation, with the bias."""
    kept = _existing(numbers)
    return None if kept is None else _deviation(kept, value)


def _deviation(kept: Numbers, value: float) -> float:
    return float(np.hypot(kept.std(), _UNSURE * (float(kept.mean()) - value)))


def bias(numbers: Numbers, value: float) -> float:
    """How far a value lies too high on average, in a set of this size; 0 without resamples."""
    kept = _existing(numbers)
    return 0.0 if kept is None else float(kept.mean()) - value


def undefined(numbers: Numbers) -> float:
    """Share of the resamples that have no value."""
    return float(np.mean(~np.isfinite(numbers))) if len(numbers) else 0.0


def at_the_edge(value: float, step: float, within: Edges) -> Ends | None:
    """The interval of a count of nothing, or of a share of nothing or everything.

    Resamples of nothing are nothing, and do not say how much could have been missed: up to 3.7
    things, as often as in one of 40 data sets ("rule of three", on both sides).

    Args:
        value: The value.
        step: By how much one thing more would have changed it; 0 if that is not known.
        within: Least and largest possible value.

    >>> [round(end, 3) for end in at_the_edge(0.0, 1 / 30, (0, 1))]
    [0.0, 0.123]
    """
    low, high = within
    missed = -math.log(TAIL) * step
    if not step or value not in (0, high):
        return None
    if value == 0:
        return 0.0, missed if high is None else min(missed, high)
    return max(value - missed, low or 0.0), value


def equal(numbers: Numbers | float, others: Numbers | float, scale: float) -> NDArray[np.bool_]:
    """Whether numbers are equal but for the rounding of numbers of a size.

    >>> equal(np.array([0.3, 0.31]), 0.1 + 0.2, scale=0.3).tolist()
    [True, False]
    """
    return np.asarray(np.isclose(numbers, others, rtol=0, atol=ROUNDING * scale + 1e-12))


def percentiles(differences: Numbers) -> Ends | None:
    """The 95 % interval of a difference: plain percentiles of the differences in the resamples."""
    kept = _existing(differences)
    if kept is None:
        return None
    low, high = np.quantile(kept, [TAIL, 1 - TAIL])
    return float(low), float(high)


def p_value(differences: Numbers) -> float | None:
    """Two-sided p of "no difference", from the differences in the resamples.

    Where 0 lies in the interval p is counted: twice the smaller share of resamples on either side
    of 0, and at least 0.05. Beyond the interval's end resamples are few and soon none, so that p
    follows a normal law: the one with the resamples' median that has 2.5 % beyond that end. The two
    meet at 0.05, and p falls as 0 lies farther out.

    None where resamples do not vary, since nothing is then known about chance.

    >>> p_value(np.linspace(-1, 1, 1001)), p_value(np.zeros(9)), p_value(np.ones(9))
    (1.0, 1.0, None)
    >>> 0 < p_value(np.linspace(1, 2, 1001)) < 1e-7
    True
    """
    kept = _existing(differences)
    if kept is None:
        return None
    low, middle, high = np.quantile(kept, [TAIL, 0.5, 1 - TAIL])
    if low <= 0 <= high:
        share = float(min(np.mean(kept <= 0), np.mean(kept >= 0)))
        return min(1.0, max(2 * share, ALPHA))
    end = low if low > 0 else high
    if equal(end, middle, abs(middle)):
        return None
    from statistics import NormalDist  # its own imports would show in every start-up

    return 2 * NormalDist().cdf(-_Z * float(middle / (middle - end)))


def judged(
    differences: Numbers, value: float, trainings: Sequence[Spread] = ()
) -> tuple[Ends, float | None] | None:
    """Interval and p of a difference, of which p is below 0.05 where the interval leaves out 0.

    Those of the resamples alone (`percentiles`, `p_value`); with trainings those of Student's law
    around the difference, whose deviation holds images and trainings.

    Args:
        differences: The difference in every resample, of the means where there are trainings.
        value: The difference itself.
        trainings: The spread of each method's trainings, or that of paired differences.

    >>> ends, p = judged(np.linspace(-1, 3, 999), 1.0, [Spread(1.0, 2)])
    >>> round(ends[0], 2), round(ends[1], 2), round(p, 3)
    (-2.37, 4.37, 0.526)
    """
    kept = _existing(differences)
    if not trainings or kept is None:
        ends = percentiles(differences)
        return None if ends is None else (ends, p_value(differences))
    both = together(_deviation(kept, value), *trainings)
    reach = both.reach(TAIL)
    varies = value == 0 or not equal(kept, kept[0], abs(value)).all()
    return (value - reach, value + reach), both.p_value(value) if varies else None


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for their number (Holm 1979): the chance of any false one stays 5 %.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    return _in_order(p_values, lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)))


def false_discovery(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for their number (Benjamini & Hochberg 1995).

    Of those below 5 % at most 5 % are false on average; where none is true, the chance of any is
    5 %, as with Holm's.

    >>> false_discovery([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """
    return _in_order(
        p_values,
        lambda p: np.minimum.accumulate((p * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1],
    )


def _in_order(
    p_values: Sequence[float | None], correct: Callable[[Numbers], Numbers]
) -> list[float | None]:
    """Correct the p-values that exist, in ascending order, and put them back."""
    at = [index for index, p in enumerate(p_values) if p is not None]
    raw = np.array([p_values[index] for index in at], np.float64)
    order = np.argsort(raw, kind="stable")
    found: list[float | None] = [None] * len(p_values)
    corrected = np.minimum(correct(raw[order]), 1) if len(raw) else raw
    for place, p in zip(order.tolist(), corrected.tolist(), strict=True):
        found[at[place]] = p
    return found


def _existing(numbers: Numbers) -> Numbers | None:
    """The resamples that have a value; None if fewer than half have."""
    kept = numbers[np.isfinite(numbers)]
    return kept if len(kept) and len(kept) * 2 >= len(numbers) else None
