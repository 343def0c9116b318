"""ViM: a virtual logit for the part of an embedding that knowns do not use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, head_of
from openset.scorers._spec import TRAINING, scorer
from openset.tables import Head
from openset.tables.logits import Activation, free_energy

Array = NDArray[np.float64]


@scorer(
    "vim",
    title="ViM",
    paper="Wang et al., ViM: Out-Of-Distribution with Virtual-logit Matching, CVPR 2022",
    requires=("embedding", "head"),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class ViM:
    """Scaled length of the residual outside the principal subspace, plus the free energy.

    The subspace is that of training embeddings around the point where the head's logits vanish;
    the scale makes the mean residual of knowns as large as their mean largest logit. That mean can
    be negative for sigmoid heads; its size is used then, lest a residual speaks for a known.

    Args:
        dimension: Of the principal subspace; by default the paper's rule: 1000 from 2048 dimensions
            on, 512 from 768 on, else half of them.
        background: ``keep`` or ``drop`` the head's background row.
        activation: For sigmoid heads: ``sigmoid`` or ``softmax``.
    """

    kept: Head
    origin: Array
    residual: Array
    alpha: float
    activation: Activation

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        *,
        dimension: int | None = None,
        background: Background = "keep",
        activation: Activation | None = None,
    ) -> ViM:
        """Find the subspace and the scale."""
        chosen = activation_of(evidence.head.layout, activation)
        head = head_of(evidence, background)
        data = evidence["embedding"].astype(np.float64)
        kept = _dimension(data.shape[1]) if dimension is None else dimension
        if not 0 < kept < data.shape[1]:
            raise UsageError(f"dimension must be from 1 to {data.shape[1] - 1}, not {kept}")
        origin = -np.linalg.pinv(head.weight.astype(np.float64)) @ head.bias
        centred = data - origin
        _, vectors = np.linalg.eigh(centred.T @ centred / len(data))
        residual = vectors[:, : data.shape[1] - kept]  # eigenvalues ascend
        length = np.linalg.norm(centred @ residual, axis=1).mean()
        largest = np.linalg.norm(centred, axis=1).mean()
        if not length > 1e-9 * largest:
            message = f"training embeddings lie in a subspace of {kept} dimensions: no residual"
            raise refuse("OS504", message, fix="a smaller dimension, or more to fit on")
        alpha = float(abs(head.logits(data).max(axis=1).mean()) / length)
        return cls(head, origin, np.ascontiguousarray(residual), alpha, chosen)

    def score(self, evidence: Evidence) -> Unknownness:
        """Virtual logit plus free energy."""
        data = evidence["embedding"].astype(np.float64)
        length = np.linalg.norm((data - self.origin) @ self.residual, axis=1)
        return np.asarray(
            self.alpha * length + free_energy(self.kept.logits(data), self.activation)
        )


def _dimension(width: int) -> int:
    if width >= 2048:
        return 1000
    return 512 if width >= 768 else width // 2
