"""kNN: how far the k-th nearest known detection is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from openset.findings import UsageError, refuse
from openset.scorers._embedding import prepared
from openset.scorers._evidence import Column, Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._neighbours import Bank
from openset.scorers._spec import TRAINING, scorer


@scorer(
    "knn",
    title="kNN",
    paper="Sun et al., Out-of-Distribution Detection with Deep Nearest Neighbors, ICML 2022",
    requires=("embedding",),
    fits_on=TRAINING,
    rowwise=False,
)
@dataclass(frozen=True, eq=False)
class KNN:
    """Distance to the k-th nearest training embedding, all of them scaled to length one.

    Exact, and unchanged by a positive factor on an embedding. FMIYC's code reports the square of
    this distance: the same order, another z-score threshold.

    Args:
        k: Which neighbour. FMIYC: 10 for Faster R-CNN, 12 for RT-DETR, 8 for YOLOv8; the paper: 50
            for CIFAR-10, 1000 for ImageNet.
        normalize: Scale embeddings to length one.
    """

    column: ClassVar[Column] = "embedding"
    bank: Bank
    k: int
    normalize: bool

    @classmethod
    def fit(cls, evidence: Evidence, *, k: int = 10, normalize: bool = True) -> Self:
        """Remember the training embeddings."""
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        if evidence.size < k:
            message = f"the {k}-th neighbour of {evidence.size} training detections does not exist"
            raise refuse(
                "OS504", message, count=evidence.size, fix="a smaller k, or more to fit on"
            )
        return cls(Bank.of(prepared(evidence[cls.column], normalize)), k, normalize)

    def score(self, evidence: Evidence) -> Unknownness:
        """Distance to the k-th neighbour."""
        return self.bank.distance(prepared(evidence[self.column], self.normalize), self.k)
