"""SIREN's other scores: neighbours and mean directions in the space that it has learned.

Du et al., SIREN: Shaping Representations for Detecting Out-of-Distribution Objects, NeurIPS 2022.
A detector trained by that method (`openset.methods.siren`) says itself how unknown its boxes are,
by the prototypes and concentrations that were learned; here both are found again from training
detections, or not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.scorers._embedding import prepared
from openset.scorers._evidence import Column, Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._gaussian import class_means
from openset.scorers._spec import TRAINING, scorer
from openset.scorers.knn import KNN

Array = NDArray[np.float64]
_PAPER = "Du et al., SIREN: Shaping Representations for Detecting Out-of-Distribution Objects, "
_PAPER += "NeurIPS 2022"
_MOST = 1e5  # concentration; of a class whose detections are all alike it would be infinite


@scorer(
    "siren_knn",
    title="SIREN (kNN)",
    paper=_PAPER,
    requires=("projection",),
    fits_on=TRAINING,
    rowwise=False,
)
@dataclass(frozen=True, eq=False)
class SirenKNN(KNN):
    """Distance to the k-th nearest training detection on the sphere of SIREN.

    The paper's script chooses k among 1 to 500 on the test set, which leaks; here it is given.

    Args:
        k: Which neighbour.
        normalize: Scale projections to length one, which those of the method are.
    """

    column: ClassVar[Column] = "projection"


@scorer(
    "siren_vmf",
    title="SIREN (vMF)",
    paper=_PAPER,
    requires=("projection",),
    fit_requires=("label",),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class SirenVMF:
    """Least surprise under a von Mises-Fisher distribution of each class, fitted on detections.

    The direction of a class is the mean of its projections, its concentration ``R (d - R^2) / (1 -
    R^2)`` for a mean of length R in d dimensions (Banerjee et al., JMLR 2005). Classes of a single
    training detection are left out.
    """

    direction: Array
    concentration: Array
    scale: Array

    @classmethod
    def fit(cls, evidence: Evidence) -> SirenVMF:
        """Direction and concentration of every class."""
        rows = prepared(evidence["projection"], True).astype(np.float64)
        _, index, count = np.unique(evidence["label"], return_inverse=True, return_counts=True)
        if count.max() < 2:
            raise refuse("OS504", "no class has two training detections", count=len(index))
        mean = class_means(rows, index)[count > 1]
        length = np.linalg.norm(mean, axis=1)
        width = rows.shape[1]
        with np.errstate(divide="ignore"):
            close = length * (width - length**2) / np.maximum(1 - length**2, 0)
        close = np.clip(close, 1e-3, _MOST)
        scale = np.array([log_scale(one, width) for one in close])
        return cls(mean / np.maximum(length, 1e-12)[:, None], close, scale)

    def score(self, evidence: Evidence) -> Unknownness:
        """Minus the largest logarithm of a density."""
        rows = prepared(evidence["projection"], True).astype(np.float64)
        return np.asarray(-(rows @ self.direction.T * self.concentration + self.scale).max(axis=1))


def log_scale(concentration: float, dimensions: int) -> float:
    """What makes a von Mises-Fisher density integrate to one, as a logarithm.

    With the power series of the Bessel function: no term under- or overflows as a logarithm.

    >>> round(log_scale(10.0, 64), 1)
    40.0
    """
    order = dimensions / 2 - 1
    count = int(concentration / 2 + 20 * concentration**0.5) + 100  # past the largest term
    step = np.arange(1, count)
    # Each term is the one before it, times (concentration / 2)^2 / (step (step + order)).
    grown = 2 * np.log(concentration / 2) - np.log(step) - np.log(step + order)
    series = np.logaddexp.reduce(np.r_[0.0, np.cumsum(grown)]) - lgamma(order + 1)
    return float(order * np.log(2) - dimensions / 2 * np.log(2 * np.pi) - series)
