"""DDU: the density of knowns, one Gaussian per class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._spec import TRAINING, scorer
from openset.tables.logits import logsumexp

Array = NDArray[np.float64]
# The published ladder starts at 0 and 1e-20, where a singular covariance passes by rounding errors.
_LADDER = tuple(10.0**power for power in range(-6, 1))


@scorer(
    "ddu",
    title="DDU",
    paper="Mukhoti et al., Deep Deterministic Uncertainty, CVPR 2023",
    requires=("embedding",),
    fit_requires=("label",),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class DDU:
    """Minus the log density of a mixture with one full-covariance Gaussian per class.

    Classes without a training detection have no Gaussian. Units that never fire in training are
    left out. What is singular is repaired by a jitter on the diagonal: the least of 1e-6 … 1 of
    the mean variance with which every class has a Cholesky factor, or a stated amount.

    Args:
        prior: Weigh classes by their frequency, as the paper does; FMIYC's code weighs them alike.
        jitter: Added to the variances, in their unit; by default as above.
    """

    alive: NDArray[np.bool_]
    means: Array
    precision_roots: Array
    offsets: Array

    @classmethod
    def fit(cls, evidence: Evidence, *, prior: bool = True, jitter: float | None = None) -> DDU:
        """Mean, covariance and weight of each class."""
        data = evidence["embedding"].astype(np.float64)
        alive = np.ptp(data, axis=0) > 0
        if not alive.any():
            raise refuse("OS504", "all training embeddings are equal: they have no density")
        data = data[:, alive]
        classes, counts = np.unique(evidence["label"], return_counts=True)
        groups = [data[evidence["label"] == label] for label in classes]
        means = np.stack([group.mean(axis=0) for group in groups])
        scatter = [g - mean for g, mean in zip(groups, means, strict=True)]
        covariances = np.stack([d.T @ d / len(d) for d in scatter])
        roots, log_det = _factors(covariances, jitter)
        offsets = -0.5 * (log_det + data.shape[1] * np.log(2 * np.pi))
        weights = counts / counts.sum() if prior else np.ones(len(counts))
        return cls(alive, means, roots, offsets + np.log(weights))

    def score(self, evidence: Evidence) -> Unknownness:
        """Minus the log density."""
        data = evidence["embedding"][:, self.alive].astype(np.float64)
        parts = zip(self.means, self.precision_roots, self.offsets, strict=True)
        density = [offset - 0.5 * _squares((data - mean) @ root) for mean, root, offset in parts]
        return -logsumexp(np.stack(density, axis=1))


def _squares(rows: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _factors(covariances: Array, jitter: float | None) -> tuple[Array, Array]:
    """A root of each precision matrix, and the logarithm of each determinant."""
    scale = np.trace(covariances, axis1=1, axis2=2).mean() / covariances.shape[1] or 1.0
    tried = [step * scale for step in _LADDER] if jitter is None else [jitter]
    identity = np.eye(covariances.shape[1])
    for amount in tried:
        try:
            lower = np.linalg.cholesky(covariances + amount * identity)
        except np.linalg.LinAlgError:
            continue
        diagonal = np.diagonal(lower, axis1=1, axis2=2)
        roots = np.swapaxes(np.linalg.solve(lower, np.broadcast_to(identity, lower.shape)), 1, 2)
        return roots, 2 * np.log(diagonal).sum(axis=1)
    message = f"no covariance is positive definite with a jitter of {tried[-1]:g}"
    raise refuse("OS504", message, fix="give more training detections, or a larger jitter")
