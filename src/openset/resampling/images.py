"""Images: every metric of matched detections in every resample of the images, or of their groups.

The paired image bootstrap: every metric is recomputed from the matches with the images'
multiplicities as weights. Nothing is matched or sorted again. Images of one group (frames of a
video) are drawn together or not at all: they are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics import Metric, Value
from openset.resampling.draws import RESAMPLES, draw

Draw = Callable[[int, int, int], NDArray[np.uint8]]


def replicates(
    matches: Matches,
    metrics: Iterable[Metric],
    seed: int,
    resamples: int = RESAMPLES,
    draw: Draw = draw,
) -> dict[str, Value]:
    """Every metric that can be resampled, in every resample; NaN where it does not exist.

    Where resamples hide a part of a metric's bias, all are moved by it.

    Draws belong to image ids, not to places in the file, so that results on one ground truth are
    paired in whatever order its images are listed.
    """
    weights, unit = draw(matches.n_units, seed, resamples), matches.units
    if (np.diff(unit) != 1).any():  # else every image is a unit, in order, and needs no copy
        weights = weights[unit]
    drawn = matches.resampled(weights)
    found = {}
    for metric in metrics:
        if metric.resampled:
            value = metric.compute(drawn)
            numbers = value.value
            if isinstance(numbers, np.ndarray) and numbers.shape == (resamples,):
                moved = numbers.astype(np.float64) + value.bias
                found[metric.name] = replace(value, value=moved)
    return found
