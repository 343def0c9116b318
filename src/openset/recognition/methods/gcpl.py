"""GCPL: generalised convolutional prototype learning; every class has a centre to be near to."""

from __future__ import annotations

from torch import Tensor, nn

from openset.recognition.methods._openness import improbability
from openset.recognition.methods._points import scattered, squared_distances
from openset.recognition.methods._spec import Objective, method

PAPER = "Yang et al., Robust Classification with Convolutional Prototype Learning, CVPR 2018"


@method("gcpl", title="GCPL", paper=PAPER)
class Gcpl(Objective):
    """A softmax over minus the distances to class centres, and a pull towards the own centre.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        weight: Of the pull.
        temperature: Divides the logits in the loss.
    """

    def __init__(
        self, n_classes: int, width: int, weight: float = 0.1, temperature: float = 1.0
    ) -> None:
        super().__init__()
        self.centres = scattered(n_classes, width)
        self.weight, self.temperature = weight, temperature

    def logits(self, embedding: Tensor) -> Tensor:
        """Minus the distances."""
        return -squared_distances(embedding, self.centres)

    def openness(self, logits: Tensor) -> Tensor:
        """Minus the largest softmax probability."""
        return improbability(logits)

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy plus half the mean squared distance to the own centre."""
        named = nn.functional.cross_entropy(self.logits(embedding) / self.temperature, label)
        pull = nn.functional.mse_loss(embedding, self.centres[label]) / 2
        return named + self.weight * pull
