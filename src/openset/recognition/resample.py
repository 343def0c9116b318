"""Resample: how far would a number move, had other samples of the same kind been drawn?

The bootstrap of `openset.resampling`, with two differences: known and unknown samples are
drawn apart, each as often as there are, since whoever made the test set chose their numbers; and
columns are drawn in blocks, so that memory stays small however many samples there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openset.recognition.metrics import Metric, Value, compute
from openset.recognition.scores import Scores, Weights
from openset.resampling.draws import draw

BLOCK = 4_000_000  # samples times resamples at a time


def replicates(
    scores: Scores, metrics: Sequence[Metric], seed: int, resamples: int
) -> dict[str, Value]:
    """Every one of some metrics that can be resampled, in every resample."""
    can = [metric for metric in metrics if metric.resampled]
    found: dict[str, list[NDArray[np.float64]]] = {metric.name: [] for metric in can}
    size = max(1, BLOCK // (scores.n_known + scores.n_unknown))
    for block, start in enumerate(range(0, resamples, size)):
        columns = min(size, resamples - start)
        drawn = scores.resampled(_weights(scores, seed, block, columns))
        for metric in can:
            found[metric.name].append(compute(metric, drawn).value)
    return {name: Value(np.concatenate(numbers)) for name, numbers in found.items()}


def _weights(scores: Scores, seed: int, block: int, columns: int) -> Weights:
    """How often each known and each unknown sample is drawn."""
    streams = np.random.SeedSequence([seed, block]).generate_state(2, np.uint64)
    return (
        _draw(scores.n_known, int(streams[0]), columns),
        _draw(scores.n_unknown, int(streams[1]), columns),
    )


def _draw(n: int, seed: int, columns: int) -> NDArray[np.uint8]:
    return draw(n, seed, columns) if n else np.empty((0, columns), np.uint8)
