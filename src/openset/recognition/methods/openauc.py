"""OpenAUC: cross-entropy, and known samples ranked below mixtures of two classes.

No unknown sample is needed: manifold mixup makes them, as convex combinations of the embeddings of
two samples of different classes. Acc+AUC is the same without the condition that a known sample must
be named correctly to count, the paper's ablation. A weight of 0 is CE+.

The paper's f is a probability (Definition 1: that a sample is *not* of a class), so that with a
softmax its openness r is one minus the largest probability, and a pair costs
``(1 - (max p_known - max p_mixture))²``, from 1 / C² to (2 - 1 / C)². That is the default.

The code was published twice, and ranks logits both times. The later loss, ``ranked="logit"``, is
not bounded: it wants the largest logits of a known sample and of a mixture exactly one apart, and
draws them together where cross-entropy has parted them further. ``logit_hinge`` stops at one; of a
probability, which is never that far, the hinge is the square. The first published loss took the
smallest logits for the answer, though its evaluation took the largest: almost no pair ever counted,
and it trained CE+. That one is not here.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from openset.recognition.methods._openness import Score, improbability
from openset.recognition.methods._spec import method
from openset.recognition.methods.ce_plus import CrossEntropyPlus

PAPER = "Wang et al., OpenAUC: Towards AUC-Oriented Open-Set Recognition, NeurIPS 2022, Eq. 17"
Pairs = Literal["diagonal", "all"]
Ranked = Literal["probability", "logit", "logit_hinge"]


@method("openauc", title="OpenAUC", paper=PAPER)
class OpenAuc(CrossEntropyPlus):
    """Cross-entropy plus a ranking loss on pairs of a correctly named sample and a mixture.

    A batch is halved: the first half is known, the second is shuffled and mixed with itself. Where
    no pair of different classes exists (one class, one sample), only cross-entropy is left.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        weight: λ, of the ranking. The paper finds 0.1 to 0.2 best, and 0.1 is the default of the
            published command line; its scripts have 0.0005 for SVHN and 0.05 for CUB.
        alpha: Of the Beta distribution of the mixing weight, one number per batch.
        pairs: ``diagonal`` pairs the i-th sample with the i-th mixture and divides by the pairs
            that count, as the published code does; ``all`` is the paper's equation.
        ranked: What is ranked: the largest ``probability``, as the paper defines it; the largest
            ``logit``, as the published code does; or that with a loss that is 0 for pairs which
            are one apart (``logit_hinge``).
        smoothing: Of the labels, as in CE+.
        score: Openness at test: minus the largest ``logit``, as published, or ``probability``.
    """

    only_correct = True

    def __init__(
        self,
        n_classes: int,
        width: int,
        weight: float = 0.1,
        alpha: float = 2.0,
        pairs: Pairs = "diagonal",
        ranked: Ranked = "probability",
        smoothing: float = 0.0,
        score: Score = "logit",
    ) -> None:
        super().__init__(n_classes, width, smoothing)
        self.weight, self.alpha, self.pairs = weight, alpha, pairs
        self.ranked, self.score = ranked, score

    def openness(self, logits: Tensor) -> Tensor:
        """Minus the largest logit, or minus the largest probability."""
        return improbability(logits) if self.score == "probability" else super().openness(logits)

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """Cross-entropy of all samples, and the ranking of one half against mixtures."""
        logits = self.logits(embedding)
        named = self.naming(logits, label)
        half = len(label) // 2
        if not half or not self.weight:
            return named
        counts = logits[:half].argmax(dim=1) == label[:half]
        if not self.only_correct:
            counts = torch.ones_like(counts)
        mixture, differs = self._mixed(embedding[half : 2 * half], label[half : 2 * half])
        return named + self.weight * self.ranking(logits[:half], counts, mixture, differs)

    def _mixed(self, embedding: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of mixtures, and whether their two classes differ."""
        other = torch.randperm(len(label), device=label.device)
        alpha = torch.full((), self.alpha, device=label.device)
        # Its checks would make the device wait.
        share = torch.distributions.Beta(alpha, alpha, validate_args=False).sample()
        mixture = share * embedding + (1 - share) * embedding[other]
        return self.logits(mixture), label != label[other]

    def ranking(self, known: Tensor, counts: Tensor, mixture: Tensor, differs: Tensor) -> Tensor:
        """How far mixtures are from exceeding known samples by one in openness.

        Args:
            known: Logits of known samples.
            counts: Which of them take part.
            mixture: Logits of mixtures.
            differs: Which of them are of two classes.
        """
        sure, unsure = self._sureness(known), self._sureness(mixture)
        if self.pairs == "diagonal":
            both = (counts & differs).to(sure)
            return (both * self._missing(sure - unsure)).sum() / both.sum().clamp(min=1)
        both = counts[:, None].to(sure) * differs[None, :].to(sure)
        loss = (both * self._missing(sure[:, None] - unsure[None, :])).sum()
        return loss / (len(sure) * differs.sum().clamp(min=1))

    def _sureness(self, logits: Tensor) -> Tensor:
        """One minus r, up to a constant: the largest probability, or the largest logit."""
        return -improbability(logits) if self.ranked == "probability" else logits.amax(dim=1)

    def _missing(self, gap: Tensor) -> Tensor:
        left = 1 - gap
        return (torch.relu(left) if self.ranked == "logit_hinge" else left).square()


@method("acc_auc", title="Acc+AUC", paper=PAPER)
class AccAuc(OpenAuc):
    """OpenAUC's loss without its condition: every known sample is ranked, misnamed ones too."""

    only_correct = False
