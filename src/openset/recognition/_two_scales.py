"""Scales: openness of known and of unknown samples that was made in two ways.

One kind has shares (one minus a probability), and the other what a network gives below zero (minus
a largest logit, an energy): then the sign of a number says which kind it is of, whatever the
classifier knows. Negating both, the way out where openness is upside down, leaves that as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.recognition.scores import Scores

_FEWEST = 50  # samples of a kind
_NEARLY = 0.99  # of those, since a largest logit is now and then of the other sign
_BEYOND = 0.5  # of those, further from zero than any share is


def on_two_scales(scores: Scores) -> Finding | None:
    """OS835, if openness of one kind is between 0 and 1, and that of the other below 0."""
    if min(scores.n_known, scores.n_unknown) < _FEWEST:
        return None
    known, unknown = ("known", scores.openness), ("unknown", scores.unknown_openness)
    for (one, shares), (other, below) in ((known, unknown), (unknown, known)):
        if _are_shares(shares) and _are_below(below):
            return Finding(
                "OS835",
                Level.WARNING,
                f"openness of all {one} samples is between 0 and 1, and of {other} samples "
                f"{np.mean(below < 0):.0%} are below 0",
                len(shares) + len(below),
                f"means of openness: {scores.openness.mean():g} of known, "
                f"{scores.unknown_openness.mean():g} of unknown samples",
            )
    return None


def _are_shares(values: NDArray[np.float64]) -> bool:
    return bool(values.min() >= 0 and values.max() <= 1)


def _are_below(values: NDArray[np.float64]) -> bool:
    return bool(np.mean(values < 0) >= _NEARLY and np.mean(values < -1) >= _BEYOND)
