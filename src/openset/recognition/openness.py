"""Openness: how unknown a sample looks, from the logits of its classifier; larger = more unknown.

The three that need nothing but logits, in float64. Scores that are fitted, and those of boxes,
are in `openset.scorers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from openset.plugins import lookup
from openset.tables.logits import free_energy, max_softmax

Floats = NDArray[np.float64]


def max_logit(logits: Floats) -> Floats:
    """Minus the largest logit (Vaze et al. 2022; the code of OpenAUC and of ARPL)."""
    return -logits.max(axis=1)


def msp(logits: Floats) -> Floats:
    """One minus the largest softmax probability (Hendrycks and Gimpel 2017)."""
    return 1.0 - max_softmax(logits)


def energy(logits: Floats) -> Floats:
    """Free energy: minus the log of the summed exponentials (Liu et al. 2020)."""
    return free_energy(logits, "softmax")


OPENNESS: Mapping[str, Callable[[Floats], Floats]] = {
    function.__name__: function for function in (max_logit, msp, energy)
}


def openness_of(logits: Floats, name: str) -> Floats:
    """The openness of rows of logits.

    >>> openness_of(np.array([[2.0, 1.0]]), "max_logit").tolist()
    [-2.0]
    """
    function = lookup(OPENNESS, name, "openness")
    return function(logits) if len(logits) else np.empty(0)
