"""Draws: how often each image, or sample, is drawn, with replacement and as often as there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000


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
