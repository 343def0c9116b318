"""Mahalanobis: how far from the nearest class, measured by the spread of knowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    embedding.
    """

    gaussian: Gaussian

    @classmethod
    def fit(cls, evidence: Evidence) -> Mahalanobis:
        """Class means and their common covariance."""
        return cls(Gaussian.fit(evidence["embedding"], evidence["label"]))

    def score(self, evidence: Evidence) -> Unknownness:
        """Squared distance to the nearest mean."""
        return np.asarray(self.gaussian.squared_distances(evidence["embedding"]).min(axis=1))
