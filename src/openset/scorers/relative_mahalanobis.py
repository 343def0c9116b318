"""Relative Mahalanobis: how much nearer to a class than to everything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openset.scorers._embedding import prepared
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._gaussian import Gaussian
from openset.scorers._spec import TRAINING, scorer


@scorer(
    "relative_mahalanobis",
    title="Relative Mahalanobis",
    paper="Ren et al., A Simple Fix to Mahalanobis Distance for Improving Near-OOD Detection, 2021",
    requires=("embedding",),
    fit_requires=("label",),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class RelativeMahalanobis:
    """Squared Mahalanobis distance to the nearest class mean, less that to the mean of all.

    The second distance, under the covariance of all training embeddings, takes out what all
    detections share and no class explains: size, blur, how much of an object is in the box. Can be
    negative. Missing classes and dead units as in ``mahalanobis``.

    Args:
        normalize: Scale embeddings to length one first, as in ``mahalanobis``.
    """

    classes: Gaussian
    everything: Gaussian
    normalize: bool

    @classmethod
    def fit(cls, evidence: Evidence, *, normalize: bool = False) -> RelativeMahalanobis:
        """Class means with their covariance, and the mean and covariance of everything."""
        values, label = prepared(evidence["embedding"], normalize), evidence["label"]
        everything = Gaussian.fit(values, np.zeros_like(label))
        return cls(Gaussian.fit(values, label), everything, normalize)

    def score(self, evidence: Evidence) -> Unknownness:
        """The difference of the two squared distances."""
        values = prepared(evidence["embedding"], self.normalize)
        nearest = self.classes.squared_distances(values).min(axis=1)
        return np.asarray(nearest - self.everything.squared_distances(values)[:, 0])
