"""PROB after the fact: an object by its embedding, and none of the known classes by its logits.

Zohar et al., PROB, CVPR 2023, score a query by how likely it is an object, times how likely it is
of a column; the method (`openset.methods.prob`) trains embeddings for that, and has a column for
what is of no known class. Here both are taken from a detector that knew nothing of it: statistics
are those of its training detections, not of all queries, and "no known class" is what the known
classes leave. So objectness ranks: an average training detection has exp(-T), however sure it is.

Not Mahalanobis: the covariance is diagonal, the classes share one mean, and what is far from it is
background, not unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import activation_of, logits_of
from openset.scorers._spec import TRAINING, scorer
from openset.tables.logits import Activation, class_columns, probabilities

Array = NDArray[np.float64]
_SAME = 1e-12  # variance of a dimension that never changes, relative to that of all


@scorer(
    "prob",
    title="PROB",
    paper="Zohar et al., PROB: Probabilistic Objectness for Open World Object Detection, CVPR 2023",
    requires=("embedding", "logits"),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class ProbObjectness:
    """How likely an object by its embedding, times how little any known class by its logits.

    Args:
        temperature: Of the probability of an object.
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.
    """

    mean: Array
    scale: Array
    temperature: float
    activation: Activation | None

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        *,
        temperature: float = 1.3,
        activation: Activation | None = None,
    ) -> ProbObjectness:
        """Mean and variance of every dimension; one that never changes is left out."""
        if not temperature > 0:
            raise UsageError(f"temperature must be positive, not {temperature}")
        activation_of(evidence.layout, activation)
        rows = evidence["embedding"].astype(np.float64)
        variance = rows.var(axis=0)
        alive = variance > _SAME * max(1.0, float(variance.max()))
        if not alive.any():
            raise refuse("OS504", "all training embeddings are equal: nothing is near or far")
        scale = np.where(alive, 1 / np.sqrt(np.where(alive, variance, 1.0) * alive.sum()), 0.0)
        return cls(rows.mean(axis=0), scale, temperature, activation)

    def objectness(self, embedding: NDArray[np.floating]) -> Array:
        """How likely each is an object; on average over the training, energies are 1."""
        apart = (embedding - self.mean) * self.scale
        return np.exp(-self.temperature * np.einsum("ij,ij->i", apart, apart))

    def score(self, evidence: Evidence) -> Unknownness:
        """An object, and of no known class."""
        chosen = activation_of(evidence.layout, self.activation)
        shares = probabilities(logits_of(evidence, "keep"), chosen)
        best = shares[:, class_columns(evidence.layout)].max(axis=1)
        return self.objectness(evidence["embedding"].astype(np.float64)) * (1 - best)
