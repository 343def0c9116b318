"""PROB: an object is what lies near the middle of all query embeddings.

Zohar et al., PROB: Probabilistic Objectness for Open World Object Detection, CVPR 2023, as its code
has it. Embeddings of queries are standardised, each dimension by itself (a Gaussian with a diagonal
covariance; the full one in its code is never used), and those of objects are drawn towards the
mean. The last column is taught to every query that was matched to nothing: background or unknown.
A query that looks like an object and is no known class is then unknown: its score in any column is
multiplied by how likely it is an object.

Nothing pushes background away but the standardisation, under which the mean energy stays the width.

Two things are not as in the code. Statistics are those of a group of images, whatever the number of
processes, and all processes remember the same. And `mixed` names what the code does: one memory of
the statistics for all decoder layers, although only the last layer is read in the end.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from openset.detectors import BACKGROUND, Queries
from openset.methods._spec import Method, group_mean, method
from openset.nets.processes import everyones
from openset.options import AMOUNT, POSITIVE

_EPSILON, _MOMENTUM = 1e-5, 0.1
_LIKELY = 0.9  # an object this likely is not drawn further


@method(
    "prob",
    title="PROB",
    paper="Zohar et al., PROB: Probabilistic Objectness for Open World Object Detection, CVPR 2023",
    needs=("queries",),
    evidence='label "unknown", and its probability as unknownness',
)
class Prob(Method):
    """Objects are drawn to the middle of all queries, and what is matched to none is "unknown".

    Args:
        classes: Known classes.
        width: Width of the embedding.
        weight: Of the loss of objects, on every decoder layer (0.0008 on M-OWODB, 0.001 on
            S-OWODB); 0 is off.
        empty: Weight of the column "unknown" in the loss of classes; 0 leaves it untaught.
        temperature: Of the probability of an object.
        mixed: Remember the statistics of all decoder layers together, as published; if not, those
            of the last, which alone are used.
        group: Images that are standardised together; published runs have five per process.
    """

    unknown = True
    ranges: ClassVar = {"weight": AMOUNT, "empty": AMOUNT, "temperature": POSITIVE}
    mean: Tensor
    variance: Tensor

    def __init__(
        self,
        classes: int,
        width: int,
        weight: float = 8e-4,
        empty: float = 0.1,
        temperature: float = 1.3,
        mixed: bool = True,
        group: int = 5,
    ) -> None:
        super().__init__(classes, width)
        self.weight, self.unknown_weight, self.temperature = weight, empty, temperature
        self.mixed, self.group = mixed, group
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def relabel(self, regions: Queries, progress: float) -> Tensor:
        """Whatever was matched to no object may be one that is unknown."""
        del progress
        return torch.where(regions.label == BACKGROUND, self.classes, regions.label)

    def losses(self, regions: Queries, progress: float) -> dict[str, Tensor]:
        """How far known objects are from the middle, summed over decoder layers."""
        del progress
        layers = (*regions.earlier, regions)
        found = [self._drawn(one, one is regions) for one in layers]
        return {"objectness": self.weight * torch.stack(found).sum(0)} if self.weight else {}

    def _drawn(self, queries: Queries, last: bool) -> Tensor:
        """Mean energy of the objects of each group; those near enough count as the nearest."""
        rows = queries.embedding.float()
        mean, variance = rows.mean(1, keepdim=True), rows.var(1, correction=0, keepdim=True)
        if self.mixed or last:
            self._remember(mean[:, 0].detach(), variance[:, 0].detach(), rows.shape[1])
        energy = ((rows - mean) / (variance + _EPSILON).sqrt()).square().sum(-1)
        near = -self.width * math.log(_LIKELY)
        known = (queries.label >= 0) & (queries.label < self.classes)
        return group_mean(energy.clamp(min=near), known)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Move the statistics towards those of all groups of all processes."""
        unbiased = variance * (count / max(1, count - 1))
        self.mean.lerp_(everyones(mean).mean(0), _MOMENTUM)
        self.variance.lerp_(everyones(unbiased).mean(0), _MOMENTUM)

    def energy(self, embedding: Tensor) -> Tensor:
        """Squared distance from the middle, by the statistics of the training."""
        apart = (embedding.float() - self.mean) / (self.variance + _EPSILON).sqrt()
        return apart.square().sum(-1)

    def objectness(self, embedding: Tensor) -> Tensor:
        """How likely a query is an object, of whatever class."""
        return torch.exp(-self.temperature / self.width * self.energy(embedding))

    def probabilities(self, embedding: Tensor, logits: Tensor) -> Tensor:
        """Of every column, that it is an object and of that column."""
        return self.objectness(embedding)[..., None] * logits.sigmoid()
