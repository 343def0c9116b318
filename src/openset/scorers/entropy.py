"""Entropy: how undecided the class probabilities are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, logits_of
from openset.scorers._spec import scorer
from openset.tables.logits import Activation, probabilities


@scorer(
    "entropy",
    paper="Shannon 1948; a threshold on it is a variant in the code of Hosoya et al., Rectifying "
    "Open-Set Object Detection",
)
def entropy(
    evidence: Evidence, *, background: Background = "keep", activation: Activation | None = None
) -> Unknownness:
    """Shannon entropy of the class probabilities, in nats.

    At most the logarithm of the number of columns, so it does not compare across detectors. For
    sigmoids: the sum of the entropies of the single yes-or-no decisions.

    Args:
        evidence: Logits.
        background: ``keep`` or ``drop`` the background column before the softmax.
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.
    """
    chosen = activation_of(evidence.layout, activation)
    share = probabilities(logits_of(evidence, background), chosen)
    total = surprise(share)
    return total if chosen == "softmax" else total + surprise(1 - share)


def surprise(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row-wise ``-sum p log p``, where ``0 log 0`` is 0."""
    logarithm = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-np.einsum("ij,ij->i", share, logarithm))
