"""GEN: a generalised entropy that looks at the small probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, logits_of
from openset.scorers._spec import scorer
from openset.tables.logits import Activation, probabilities, sigmoid


@scorer("gen", title="GEN", paper="Liu et al., GEN: Generalized Entropy Score, CVPR 2023")
def gen(
    evidence: Evidence,
    *,
    gamma: float = 0.1,
    top: int = 100,
    background: Background = "keep",
    activation: Activation | None = None,
) -> Unknownness:
    """Sum over the largest probabilities of ``p^gamma (1 - p)^gamma``.

    pytorch-ood reports the mean over the columns in place of the sum, and clamps probabilities to
    1e-7; the order is the same but for ties that the clamp makes.

    Args:
        evidence: Logits.
        gamma: Exponent in (0, 1]; small values weigh small probabilities more.
        top: How many of the largest probabilities take part (all, where there are fewer).
        background: ``keep`` or ``drop`` the background column before the softmax.
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.
    """
    if not 0 < gamma <= 1 or top < 1:
        raise UsageError(f"gamma must be in (0, 1] and top at least 1, not {gamma} and {top}")
    chosen = activation_of(evidence.layout, activation)
    logits = logits_of(evidence, background)
    if top < logits.shape[1]:
        kept = np.argpartition(logits, -top, axis=1)[:, -top:]
    else:
        kept = np.arange(logits.shape[1])[None]
    share = probabilities(logits, chosen)
    spread = np.take_along_axis(share * _complements(logits, share, chosen), kept, axis=1)
    return np.asarray((spread**gamma).sum(axis=1))


def _complements(
    logits: NDArray[np.float64], share: NDArray[np.float64], activation: Activation
) -> NDArray[np.float64]:
    """``1 - p`` with all its digits: a small exponent makes much of the last ones."""
    if activation == "sigmoid":
        return sigmoid(-logits)
    rows, top = np.arange(len(share)), logits.argmax(axis=1)
    others = share.copy()
    others[rows, top] = 0
    complement = 1 - share
    complement[rows, top] = others.sum(axis=1)
    return complement
