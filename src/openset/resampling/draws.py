"""Draws: which half of the images, groups or samples is taken, twice each.

Half-samples, not draws with replacement: the mean over half of the images differs from that over
all as the mean over all differs from the truth, for any statistic that is nearly a mean, and the
bias of a statistic doubles with half of the images, so that it shows. Draws with replacement hide
most of it: an object drawn twice is found twice, which flatters maxima and classes of few objects.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
_AT_ONCE = 64  # resamples: columns one by one would touch all of the memory every time


def draw(n: int, seed: int, resamples: int = RESAMPLES) -> NDArray[np.uint8]:
    """How often each of `n` things is taken: one row per thing, one column per resample.

    Half of them twice, the others not at all; of an odd number, one once. Every second
    resample is the other half of the one before, so that sums over things have no bias at all.

    >>> draw(4, seed=0, resamples=4).sum(axis=0).tolist()
    [4, 4, 4, 4]
    >>> draw(5, seed=0, resamples=2).sum(axis=1).tolist()
    [2, 2, 2, 2, 2]
    """
    generator = np.random.default_rng(seed)
    half = np.repeat(np.array([2, 1, 0], np.uint8), [n // 2, n % 2, n // 2])
    weights = np.empty((n, resamples), np.uint8)
    for start in range(0, resamples, _AT_ONCE):
        some = weights[:, start : start + _AT_ONCE]
        first = np.array([generator.permutation(half) for _ in range(0, some.shape[1], 2)])
        some[:, ::2] = first.T
        some[:, 1::2] = 2 - first[: some.shape[1] // 2].T
    return weights
