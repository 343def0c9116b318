"""RPL: reciprocal points; every class has points that stand for all that it is not."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from openset.recognition.methods._openness import improbability
from openset.recognition.methods._points import scattered, squared_distances
from openset.recognition.methods._spec import Objective, method

PAPER = "Chen et al., Learning Open Set Network with Discriminative Reciprocal Points, ECCV 2020"


@method("rpl", title="RPL", paper=PAPER)
class Rpl(Objective):
    """A softmax over the distances from reciprocal points, within a radius that is learned.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        points: Reciprocal points per class.
        weight: Of the radius.
        temperature: Divides the logits in the loss.
    """

    def __init__(
        self,
        n_classes: int,
        width: int,
        points: int = 1,
        weight: float = 0.1,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        self.n_classes, self.per_class = n_classes, points
        self.points = scattered(n_classes * points, width)
        self.radius = nn.Parameter(torch.zeros(1))
        self.weight, self.temperature = weight, temperature

    def logits(self, embedding: Tensor) -> Tensor:
        """Mean distance from the points of each class: far from what it is not."""
        distance = squared_distances(embedding, self.points)
        return distance.view(-1, self.n_classes, self.per_class).mean(dim=2)

    def openness(self, logits: Tensor) -> Tensor:
        """Minus the largest softmax probability."""
        return improbability(logits)

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy, and the distance from the own points should be the radius."""
        logits = self.logits(embedding)
        named = nn.functional.cross_entropy(logits / self.temperature, label)
        own = logits.gather(1, label[:, None])[:, 0]
        return named + self.weight * (own - self.radius).square().mean()
