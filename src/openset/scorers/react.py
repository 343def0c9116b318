"""ReAct: clip activations that are larger than those of knowns, and look at the energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, head_of
from openset.scorers._spec import TRAINING, scorer
from openset.tables import Head
from openset.tables.logits import Activation, free_energy


@scorer(
    "react",
    title="ReAct",
    paper="Sun et al., ReAct: Out-of-distribution Detection With Rectified Activations, "
    "NeurIPS 2021",
    requires=("embedding", "head"),
    fits_on=TRAINING,
    rectified=True,
)
@dataclass(frozen=True, eq=False)
class ReAct:
    """Free energy of the head on embeddings clipped from above.

    Args:
        percentile: Of all training activations together, where the clip is.
        background: ``keep`` or ``drop`` the head's background row.
        activation: For sigmoid heads: ``sigmoid`` or ``softmax``.
    """

    limit: float
    kept: Head
    activation: Activation

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        *,
        percentile: float = 90.0,
        background: Background = "keep",
        activation: Activation | None = None,
    ) -> ReAct:
        """Find the limit."""
        chosen = activation_of(evidence.head.layout, activation)
        limit = clip_limit(evidence["embedding"], percentile)
        return cls(limit, head_of(evidence, background), chosen)

    def score(self, evidence: Evidence) -> Unknownness:
        """Free energy after the clip."""
        clipped = np.minimum(evidence["embedding"].astype(np.float64), self.limit)
        return free_energy(self.kept.logits(clipped), self.activation)


def clip_limit(embedding: NDArray[np.float32], percentile: float) -> float:
    """A percentile of all activations, of every unit of every detection."""
    if not 0 < percentile <= 100:
        raise UsageError(f"percentile must be in (0, 100], not {percentile}")
    return float(np.percentile(embedding, percentile))
