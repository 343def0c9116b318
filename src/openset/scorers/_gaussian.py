"""Gaussians: class means and covariances, and distances under them.

Whatever has no variance in training is left out of a distance, as a pseudo-inverse does. A unit of
a network that never fires would otherwise get an almost infinite weight from a ridge of 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse

Array = NDArray[np.float64]
_EQUAL = "one detection per class, or the same one again and again: distances have no unit"


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Means that share one covariance.

    Attributes:
        origin: The mean of everything: what is far from it loses fewer digits.
        whiten: Maps a difference to coordinates in which the covariance is the identity.
        means: One row per class, whitened.
    """

    origin: Array
    whiten: Array
    means: Array

    @classmethod
    def fit(cls, values: NDArray[np.float32], label: NDArray[np.int64]) -> Gaussian:
        """Class means, and the covariance around them."""
        data = values.astype(np.float64)
        noise = np.einsum("ij,ij->", data, data) / len(data) * (2 * np.finfo(np.float32).eps) ** 2
        origin = data.mean(axis=0)
        data -= origin
        _, index = np.unique(label, return_inverse=True)
        means = class_means(data, index)
        data -= means[index]
        whiten = whitening(data.T @ data / len(data), float(noise))
        if not whiten.shape[1]:
            message = f"{len(data)} training detections do not differ from the mean of their class"
            raise refuse("OS504", message, count=len(data), cause=_EQUAL)
        return cls(origin, whiten, means @ whiten)

    def squared_distances(self, values: NDArray[np.float32]) -> Array:
        """Squared Mahalanobis distance of each row to each mean."""
        white = (values - self.origin) @ self.whiten
        size = np.einsum("ij,ij->i", white, white)[:, None]
        return np.maximum(size - 2 * white @ self.means.T + (self.means**2).sum(axis=1), 0)


def class_means(data: NDArray[Any], index: NDArray[np.int64]) -> Array:
    """The mean of each class that has an example."""
    counts = np.bincount(index)
    order = np.argsort(index, kind="stable")
    starts = np.r_[0, np.cumsum(counts)[:-1]]
    return np.asarray(np.add.reduceat(data[order], starts, axis=0) / counts[:, None])


def whitening(covariance: Array, noise: float) -> Array:
    """A root of the pseudo-inverse, one column per direction that has more variance than noise.

    Args:
        covariance: A covariance.
        noise: The variance that rounding to float32 makes.
    """
    values, vectors = np.linalg.eigh(covariance)
    least = values.max(initial=0.0) * len(covariance) * np.finfo(np.float64).eps
    real = values > max(least, noise)
    return np.asarray(vectors[:, real] / np.sqrt(values[real]))
