"""DICE: keep the weights of the last layer that matter for knowns, and look at the energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openset.findings import UsageError
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, head_of
from openset.scorers._spec import TRAINING, scorer
from openset.scorers.react import clip_limit
from openset.tables import Head
from openset.tables.logits import Activation, free_energy


@scorer(
    "dice",
    title="DICE",
    paper="Sun and Li, DICE: Leveraging Sparsification for OOD Detection, ECCV 2022",
    requires=("embedding", "head"),
    fits_on=TRAINING,
    rectified=True,
)
@dataclass(frozen=True, eq=False)
class DICE:
    """Free energy of a head without its weights of small contribution.

    A weight's contribution is the weight times the mean training activation that it multiplies.

    Args:
        percentile: Share of the weights removed, in percent.
        clip: Also clip activations at this percentile of training (DICE + ReAct); None does not.
        background: ``keep`` or ``drop`` the head's background row, before contributions are ranked.
        activation: For sigmoid heads: ``sigmoid`` or ``softmax``.
    """

    sparse: Head
    limit: float
    activation: Activation

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        *,
        percentile: float = 90.0,
        clip: float | None = None,
        background: Background = "keep",
        activation: Activation | None = None,
    ) -> DICE:
        """Find the weights that matter."""
        if not 0 <= percentile < 100:
            raise UsageError(f"percentile must be in [0, 100), not {percentile}")
        chosen = activation_of(evidence.head.layout, activation)
        limit = float("inf") if clip is None else clip_limit(evidence["embedding"], clip)
        head = head_of(evidence, background)
        mean = np.minimum(evidence["embedding"], limit).mean(axis=0, dtype=np.float64)
        contribution = mean * head.weight
        least = np.percentile(contribution, percentile)
        weight = np.where(contribution > least, head.weight, np.float32(0))
        return cls(Head(weight, head.bias, head.layout), limit, chosen)

    def score(self, evidence: Evidence) -> Unknownness:
        """Free energy of the sparse head."""
        data = np.minimum(evidence["embedding"].astype(np.float64), self.limit)
        return free_energy(self.sparse.logits(data), self.activation)
