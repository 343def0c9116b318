"""Softmax: cross-entropy on a linear layer, the baseline that everything is compared with."""

from __future__ import annotations

from torch import Tensor, nn

from openset.recognition.methods._openness import improbability
from openset.recognition.methods._spec import Objective, method

PAPER = "Hendrycks and Gimpel, A Baseline for Detecting Misclassified Examples, ICLR 2017"


@method("softmax", title="Softmax", paper=PAPER)
class Softmax(Objective):
    """Cross-entropy; a sample is unknown if its largest softmax probability is small.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        temperature: Divides the logits in the loss.
    """

    def __init__(self, n_classes: int, width: int, temperature: float = 1.0) -> None:
        super().__init__()
        self.linear = nn.Linear(width, n_classes, bias=False)
        self.temperature = temperature

    def logits(self, embedding: Tensor) -> Tensor:
        """The linear layer."""
        out: Tensor = self.linear(embedding)
        return out

    def openness(self, logits: Tensor) -> Tensor:
        """Minus the largest softmax probability."""
        return improbability(logits)

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy."""
        return nn.functional.cross_entropy(self.logits(embedding) / self.temperature, label)
