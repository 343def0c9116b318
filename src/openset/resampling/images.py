"""Images: every metric of matched detections in every resample of the images.

The paired image bootstrap: every metric is recomputed from the matches with the images'
multiplicities as weights. Nothing is matched or sorted again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from openset.matching import Matches
from openset.metrics import Metric, Value
from openset.resampling.draws import RESAMPLES, draw
from openset.tables.columns import ranks


def replicates(
    matches: Matches, metrics: Iterable[Metric], seed: int, resamples: int = RESAMPLES
) -> dict[str, Value]:
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
            value = metric.compute(drawn)
            numbers = value.value
            if isinstance(numbers, np.ndarray) and numbers.shape == (resamples,):
                found[metric.name] = replace(value, value=numbers.astype(np.float64))
    return found
