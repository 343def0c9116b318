"""CE+: cross-entropy trained well, and the largest logit in place of the largest probability.

The paper's point is the recipe (600 epochs, RandAugment, label smoothing, cosine schedule), which
belongs to training; here are its loss and its score. Its smoothing is not torch's: see `smoothing`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from openset.findings import UsageError
from openset.recognition.methods._spec import Objective, method

PAPER = "Vaze et al., Open-Set Recognition: A Good Closed-Set Classifier Is All You Need?, 2022"


@method("ce_plus", title="CE+", paper=PAPER)
class CrossEntropyPlus(Objective):
    """Cross-entropy with label smoothing; openness is minus the largest logit.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        smoothing: Share s of each label given to the other classes: 1 - s stays, s / (C - 1) goes
            to each of them, as in the published code; torch's ``label_smoothing`` of s C / (C - 1).
            Published: 0 on small images, 0.9 on TinyImageNet, 0.3 on CUB.
    """

    def __init__(self, n_classes: int, width: int, smoothing: float = 0.0) -> None:
        super().__init__()
        if not 0 <= smoothing <= 1:
            raise UsageError(f"smoothing is a share from 0 to 1, not {smoothing}")
        self.linear = nn.Linear(width, n_classes, bias=False)
        self.smoothing = smoothing

    def logits(self, embedding: Tensor) -> Tensor:
        """The linear layer."""
        out: Tensor = self.linear(embedding)
        return out

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy with smoothed labels."""
        return self.naming(self.logits(embedding), label)

    def naming(self, logits: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy of logits with smoothed labels."""
        named = nn.functional.cross_entropy(logits, label)
        others = logits.shape[1] - 1
        if not self.smoothing or not others:
            return named
        # The mean over the other classes: their sum is that over all, less the own.
        total = -torch.log_softmax(logits, dim=1).sum(dim=1).mean()
        return (1 - self.smoothing) * named + self.smoothing * (total - named) / others
