"""Resample: how far would a number move, had other images of the same kind been drawn?

The paired image bootstrap: images are drawn with replacement, as often as there are images; every
metric is recomputed from the matches with the images' multiplicities as weights. Nothing is
matched or sorted again, and all metrics and all detectors see the same draws of one seed, so that
differences between detectors are paired.

Intervals are bias-corrected percentiles (Efron 1987): interpolated precision is a maximum, and a
maximum over resampled images is larger on average than over the images themselves, so that plain
percentiles of average precision lie too high.

Not an interval over training runs or data sets: it says how much the test images alone decide.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics import Metric
from openset.tables.columns import ranks

RESAMPLES = 1000
CONFIDENCE = 0.95
# Values and resamples are summed in another order, and some presets sum values in float32.
ROUNDING = 1e-6


def draw(n_images: int, seed: int, resamples: int = RESAMPLES) -> NDArray[np.uint8]:
    """How often each image is drawn: one row per image, one column per resample.

    >>> draw(4, seed=0, resamples=3).sum(axis=0).tolist()
    [4, 4, 4]
    """
    generator = np.random.default_rng(seed)
    weights = np.empty((n_images, resamples), np.uint8)
    for column in range(resamples):
        picked = generator.integers(0, n_images, n_images)
        weights[:, column] = np.bincount(picked, minlength=n_images)
    return weights


def replicates(
    matches: Matches, metrics: Iterable[Metric], seed: int, resamples: int = RESAMPLES
) -> dict[str, NDArray[np.float64]]:
    """Every metric that can be resampled, in every resample; NaN where it does not exist.

    Draws belong to image ids, not to places in the file, so that results on one ground truth are
    paired in whatever order its images are listed.
    """
    weights, place = draw(matches.n_images, seed, resamples), ranks(matches.image_ids)
    if (np.diff(place) < 0).any():  # else they are in order, and need no copy
        weights = weights[place]
    drawn = matches.resampled(weights)
    found = {}
    for metric in metrics:
        if metric.resampled:
            numbers = metric.compute(drawn).value
            if isinstance(numbers, np.ndarray) and numbers.shape == (resamples,):
                found[metric.name] = numbers.astype(np.float64)
    return found


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
