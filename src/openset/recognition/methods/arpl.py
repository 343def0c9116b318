"""ARPL: adversarial reciprocal points; known samples stay within a margin of their own points."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from openset.recognition.methods._points import scattered, squared_distances
from openset.recognition.methods._spec import Objective, method

PAPER = "Chen et al., Adversarial Reciprocal Points Learning for Open Set Recognition, TPAMI 2021"


@method("arpl", title="ARPL", paper=PAPER)
class Arpl(Objective):
    """A softmax over distance minus dot product from reciprocal points, with a bounded space.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        weight: Of the bound.
        margin: Added to the bound: 1 in the published code, 0 in the paper.
        temperature: Divides the logits in the loss.
    """

    def __init__(
        self,
        n_classes: int,
        width: int,
        weight: float = 0.1,
        margin: float = 1.0,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        self.points = scattered(n_classes, width)
        self.radius = nn.Parameter(torch.zeros(1))
        self.weight, self.margin, self.temperature = weight, margin, temperature

    def logits(self, embedding: Tensor) -> Tensor:
        """Distance from each class's point, minus the dot product with it."""
        return squared_distances(embedding, self.points) - embedding @ self.points.T

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy, and a penalty on distances from the own point beyond the radius."""
        named = nn.functional.cross_entropy(self.logits(embedding) / self.temperature, label)
        own = (embedding - self.points[label]).square().mean(dim=1)
        beyond = torch.relu(own - self.radius + self.margin).mean()
        return named + self.weight * beyond
