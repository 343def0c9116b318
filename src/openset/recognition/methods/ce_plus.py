"""CE+: cross-entropy trained well, and the largest logit in place of the largest probability.

The paper's point is the recipe (600 epochs, RandAugment, label smoothing, cosine schedule), which
belongs to training; here are its loss and its score.
"""

from __future__ import annotations

from torch import Tensor, nn

from openset.recognition.methods._spec import Objective, method

PAPER = "Vaze et al., Open-Set Recognition: A Good Closed-Set Classifier Is All You Need?, 2022"


@method("ce_plus", title="CE+", paper=PAPER)
class CrossEntropyPlus(Objective):
    """Cross-entropy with label smoothing; openness is minus the largest logit.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        smoothing: Share of each label given to all classes; published: 0 on small images, 0.9 on
            TinyImageNet, 0.3 on CUB.
    """

    def __init__(self, n_classes: int, width: int, smoothing: float = 0.0) -> None:
        super().__init__()
        self.linear = nn.Linear(width, n_classes, bias=False)
        self.smoothing = smoothing

    def logits(self, embedding: Tensor) -> Tensor:
        """The linear layer."""
        out: Tensor = self.linear(embedding)
        return out

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy with smoothed labels."""
        logits = self.logits(embedding)
        return nn.functional.cross_entropy(logits, label, label_smoothing=self.smoothing)
