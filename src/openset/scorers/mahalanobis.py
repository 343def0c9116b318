"""Mahalanobis: how far from the nearest class, measured by the spread of knowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openset.scorers._embedding import prepared
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._gaussian import Gaussian
from openset.scorers._spec import TRAINING, scorer


@scorer(
    "mahalanobis",
    title="Mahalanobis",
    paper="Lee et al., A Simple Unified Framework for Detecting OOD Samples, NeurIPS 2018",
    requires=("embedding",),
    fit_requires=("label",),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class Mahalanobis:
    """Squared Mahalanobis distance to the nearest class mean, one covariance for all classes.

    Classes without a training detection have no mean, and are left out; directions without
    variance (dead units) count for nothing. pytorch-ood refuses the former, lets the latter
    dominate, and reports the distance under the unnormalised scatter, halved: ours over 2 n.
    Labels are those of the detector, as in FMIYC. Unchanged by any invertible affine map of the
    embedding, unless that is normalised.

    Args:
        normalize: Scale embeddings to length one first (Mahalanobis++, Müller and Hein 2025):
            unknown objects often have shorter embeddings, which lie nearer to every mean.
    """

    gaussian: Gaussian
    normalize: bool

    @classmethod
    def fit(cls, evidence: Evidence, *, normalize: bool = False) -> Mahalanobis:
        """Class means and their common covariance."""
        values = prepared(evidence["embedding"], normalize)
        return cls(Gaussian.fit(values, evidence["label"]), normalize)

    def score(self, evidence: Evidence) -> Unknownness:
        """Squared distance to the nearest mean."""
        values = prepared(evidence["embedding"], self.normalize)
        return np.asarray(self.gaussian.squared_distances(values).min(axis=1))
