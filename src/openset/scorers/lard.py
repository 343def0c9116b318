"""LaRD: the density of an inner feature map, pooled over each box.

The latent of a box is the mean, over the box, of a map inside the detector (FMIYC: the hidden
layer of the region proposal network on all five levels). As FMIYC runs it there is no dropout and
no entropy; the original (LaREx, UAI 2024) takes the entropy of each latent dimension over dropout
passes first. Both are here.

FMIYC's code chooses the number of principal components by the AUROC on the test sets themselves.
Here it is chosen by the variance that they explain in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._gaussian import Gaussian
from openset.scorers._neighbours import Bank
from openset.scorers._spec import TRAINING, scorer
from openset.tables.logits import logsumexp

Array = NDArray[np.float64]
Density = Literal["gaussian", "classes", "knn", "kde"]
PAPER = (
    "Arnez et al., Latent Representation Entropy Density for Distribution Shift Detection, UAI 2024"
)


@dataclass(frozen=True, eq=False)
class LatentDensity:
    """Principal components of latents, and the density of knowns among them."""

    mean: Array
    components: Array
    gaussian: Gaussian
    bank: Bank
    density: str
    k: int

    @classmethod
    def of(
        cls,
        latent: NDArray[np.float32],
        label: NDArray[np.int64],
        variance: float,
        density: Density,
        k: int,
    ) -> LatentDensity:
        """Fit components, and the density in their space."""
        if density == "knn" and not 1 <= k <= len(latent):
            raise refuse("OS504", f"the {k}-th neighbour of {len(latent)} latents does not exist")
        mean, components = _components(latent.astype(np.float64), variance)
        reduced = ((latent - mean) @ components).astype(np.float32)
        groups = label if density == "classes" else np.zeros_like(label)
        gaussian = Gaussian.fit(reduced, groups)
        # A density that asks no neighbour need not remember them.
        some = reduced if density in ("knn", "kde") else reduced[:1]
        return cls(mean, components, gaussian, Bank.of(some), density, k)

    def score(self, latent: NDArray[np.float32]) -> Unknownness:
        """How unlikely latents are."""
        reduced = ((latent - self.mean) @ self.components).astype(np.float32)
        if self.density == "knn":
            return self.bank.distance(reduced, self.k)
        if self.density == "kde":
            return _kernel_density(reduced, self.bank.original)
        return np.asarray(self.gaussian.squared_distances(reduced).min(axis=1))


@scorer(
    "lard",
    title="LaRD",
    paper=f"{PAPER}, as run by FMIYC (without entropy)",
    requires=("latent",),
    fit_requires=("label",),
    fits_on=TRAINING,
    rowwise=False,
)
@dataclass(frozen=True, eq=False)
class LaRD:
    """Distance of a box's latent from those of knowns, among their principal components.

    One mean for all knowns may lie between their classes, where an unknown is nearer to it than
    they are; hence a mean per class by default.

    Args:
        density: ``gaussian`` (squared Mahalanobis distance to one mean), ``classes`` (to the
            nearest class mean), ``knn`` (distance to the k-th neighbour) or ``kde`` (minus the log
            of a kernel density of bandwidth 1).
        variance: Share of the training variance that the components explain; 1 keeps all.
        k: Which neighbour, for ``knn``.
    """

    latent: LatentDensity

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        *,
        density: Density = "classes",
        variance: float = 0.95,
        k: int = 10,
    ) -> LaRD:
        """Fit the density of latents."""
        label = evidence["label"]
        return cls(LatentDensity.of(evidence["latent"], label, variance, density, k))

    def score(self, evidence: Evidence) -> Unknownness:
        """How unlikely the latents are."""
        return self.latent.score(evidence["latent"])


@scorer(
    "lard_entropy",
    title="LaRD (entropy)",
    paper=PAPER,
    requires=("latent_samples",),
    fit_requires=("label",),
    fits_on=TRAINING,
    rowwise=False,
)
@dataclass(frozen=True, eq=False)
class LaRDEntropy:
    """The same on the entropy of each latent dimension over dropout passes.

    Args:
        density: As for ``lard``; the original uses ``kde`` (LaRED) and ``gaussian`` (LaREM).
        variance: Share of the training variance that the components explain; 1 keeps all.
        k: Which neighbour, for ``knn``.
    """

    latent: LatentDensity

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        *,
        density: Density = "kde",
        variance: float = 0.95,
        k: int = 10,
    ) -> LaRDEntropy:
        """Fit the density of entropies."""
        found = sample_entropy(evidence["latent_samples"])
        return cls(LatentDensity.of(found, evidence["label"], variance, density, k))

    def score(self, evidence: Evidence) -> Unknownness:
        """How unlikely the entropies are."""
        return self.latent.score(sample_entropy(evidence["latent_samples"]))


def sample_entropy(samples: NDArray[np.floating], *, k: int = 5) -> NDArray[np.float32]:
    """Differential entropy of each column of each row's samples, by its nearest neighbours.

    The estimator of Kozachenko and Leonenko in one dimension:
    ``psi(n) - psi(k) + log 2 + mean log distance to the k-th neighbour``.

    Args:
        samples: Rows, samples, columns.
        k: Which neighbour; one less than the samples where there are not more.
    """
    count = samples.shape[1]
    if count < 2:
        raise refuse("OS504", f"an entropy needs two or more dropout passes, not {count}")
    near = min(k, count - 1)
    # In one dimension the k-th neighbour is among the 2 k next in sorted order: of every window of
    # k + 1 sorted samples that holds one, the widest side; the least of these is the distance.
    ordered = np.sort(samples.astype(np.float64), axis=1)
    distance = np.full(ordered.shape, np.inf)
    for start in range(near + 1):
        at = slice(start, count - near + start)
        left = ordered[:, at] - ordered[:, : count - near]
        right = ordered[:, near:] - ordered[:, at]
        distance[:, at] = np.minimum(distance[:, at], np.maximum(left, right))
    logs = np.log(np.maximum(distance, 1e-5)).mean(axis=1)
    constant = _digamma(count) - _digamma(near) + np.log(2.0)
    return np.asarray(logs + constant, np.float32)


def _digamma(n: int) -> float:
    """Digamma of a whole number: a harmonic sum less Euler's constant."""
    return float((1.0 / np.arange(1, n)).sum() - np.euler_gamma)


def _components(data: Array, variance: float) -> tuple[Array, Array]:
    """Mean, and the fewest principal directions that explain a share of the variance."""
    if not 0 < variance <= 1:
        raise UsageError(f"variance must be in (0, 1], not {variance}")
    mean = data.mean(axis=0)
    centred = data - mean
    values, vectors = np.linalg.eigh(centred.T @ centred / len(data))
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    if not values[0] > 0:
        raise refuse("OS504", "all training latents are equal: they have no density")
    explained = np.cumsum(values) / values.sum()
    count = int(np.searchsorted(explained, variance - 1e-12)) + 1
    return mean, np.ascontiguousarray(vectors[:, : min(count, len(values))])


def _kernel_density(queries: NDArray[np.float32], points: Array) -> Array:
    """Minus the log of the mean of Gaussian kernels of bandwidth 1 around points."""
    size, width = (points**2).sum(axis=1), points.shape[1]
    constant = np.log(len(points)) + 0.5 * width * np.log(2 * np.pi)
    found = np.empty(len(queries))
    for start in range(0, len(queries), 1024):
        rows = slice(start, start + 1024)
        some = queries[rows].astype(np.float64)
        squares = (some**2).sum(axis=1)[:, None] - 2 * some @ points.T + size
        found[rows] = constant - logsumexp(-0.5 * np.maximum(squares, 0))
    return found
