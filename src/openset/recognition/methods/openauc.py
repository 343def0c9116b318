"""OpenAUC: cross-entropy, and known samples ranked below mixtures of two classes.

No unknown sample is needed: manifold mixup makes them, as convex combinations of the embeddings of
two samples of different classes. Acc+AUC is the same without the condition that a known sample must
be named correctly to count, the paper's ablation.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from openset.findings import UsageError
from openset.recognition.methods._spec import Objective, method

PAPER = "Wang et al., OpenAUC: Towards AUC-Oriented Open-Set Recognition, NeurIPS 2022, Eq. 17"
Pairs = Literal["diagonal", "all"]


@method("openauc", title="OpenAUC", paper=PAPER)
class OpenAuc(Objective):
    """Cross-entropy plus a square loss on pairs of a correctly named sample and a mixture.

    A batch is halved: the first half is known, the second is shuffled and mixed with itself. Where
    no pair of different classes exists (one class, one sample), only cross-entropy is left.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        weight: λ, of the ranking: 0.1 in the published code; the paper finds 0.1 to 0.2 best.
        alpha: Of the Beta distribution of the mixing weight, one number per batch.
        pairs: ``diagonal`` pairs the i-th sample with the i-th mixture and divides by the pairs
            that count, as the published code does; ``all`` is the paper's equation.
    """

    only_correct = True

    def __init__(
        self,
        n_classes: int,
        width: int,
        weight: float = 0.1,
        alpha: float = 2.0,
        pairs: Pairs = "diagonal",
    ) -> None:
        super().__init__()
        if pairs not in ("diagonal", "all"):
            raise UsageError(f"pairs must be 'diagonal' or 'all', not {pairs!r}")
        self.linear = nn.Linear(width, n_classes, bias=False)
        self.weight, self.alpha, self.pairs = weight, alpha, pairs

    def logits(self, embedding: Tensor) -> Tensor:
        """The linear layer."""
        out: Tensor = self.linear(embedding)
        return out

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy of all samples, and the ranking of one half against mixtures."""
        logits = self.logits(embedding)
        named = nn.functional.cross_entropy(logits, label)
        half = len(label) // 2
        if not half:
            return named
        counts = logits[:half].argmax(dim=1) == label[:half]
        if not self.only_correct:
            counts = torch.ones_like(counts)
        mixed, differs = self._mixtures(embedding[half : 2 * half], label[half : 2 * half])
        ranking = self._ranking(logits[:half].amax(dim=1), counts, mixed, differs)
        return named + self.weight * ranking

    def _mixtures(self, embedding: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Largest logits of mixtures, and whether their two classes differ."""
        other = torch.randperm(len(label), device=label.device)
        share = torch.distributions.Beta(self.alpha, self.alpha).sample().to(embedding)
        mixture = share * embedding + (1 - share) * embedding[other]
        return self.logits(mixture).amax(dim=1), label != label[other]

    def _ranking(self, known: Tensor, counts: Tensor, mixed: Tensor, differs: Tensor) -> Tensor:
        """The square loss: openness of a mixture should exceed that of a known sample by one."""
        if self.pairs == "diagonal":
            both = (counts & differs).to(known)
            return (both * (mixed - known + 1).square()).sum() / both.sum().clamp(min=1)
        both = counts[:, None].to(known) * differs[None, :].to(known)
        loss = (both * (mixed[None, :] - known[:, None] + 1).square()).sum()
        return loss / (len(known) * differs.sum().clamp(min=1))


@method("acc_auc", title="Acc+AUC", paper=PAPER)
class AccAuc(OpenAuc):
    """OpenAUC's loss without its condition: every known sample is ranked, misnamed ones too."""

    only_correct = False
