"""OpenAUC: cross-entropy, and known samples ranked below mixtures of two classes.

No unknown sample is needed: manifold mixup makes them, as convex combinations of the embeddings of
two samples of different classes. Acc+AUC is the same without the condition that a known sample must
be named correctly to count, the paper's ablation.

The published square loss wants the largest logits of a known sample and of a mixture exactly one
apart, and draws them together where cross-entropy has parted them further; the squared hinge stops
at one. The paper asks for "a continuous surrogate such as the square loss": both are here.

The code was published twice. This is the later loss; the first took the smallest logit for the
answer, though its evaluation took the largest, and divided cross-entropy too by the number of
pairs. How heavy the ranking is differs as much: see `weight`.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from openset.plugins import lookup
from openset.recognition.methods._spec import Objective, method

PAPER = "Wang et al., OpenAUC: Towards AUC-Oriented Open-Set Recognition, NeurIPS 2022, Eq. 17"
Pairs = Literal["diagonal", "all"]
Surrogate = Literal["square", "squared_hinge"]


@method("openauc", title="OpenAUC", paper=PAPER)
class OpenAuc(Objective):
    """Cross-entropy plus a ranking loss on pairs of a correctly named sample and a mixture.

    A batch is halved: the first half is known, the second is shuffled and mixed with itself. Where
    no pair of different classes exists (one class, one sample), only cross-entropy is left.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        weight: λ, of the ranking. The paper finds 0.1 to 0.2 best, and 0.1 is the default of the
            published command line; its scripts have 0.0005 for SVHN and 0.05 for CUB. On MNIST 0.1
            is far worse than 0.0005.
        alpha: Of the Beta distribution of the mixing weight, one number per batch.
        pairs: ``diagonal`` pairs the i-th sample with the i-th mixture and divides by the pairs
            that count, as the published code does; ``all`` is the paper's equation.
        surrogate: ``square`` is published, (1 - t)² of a pair whose mixture exceeds the known
            sample by t in openness; ``squared_hinge`` is 0 for t above 1.
    """

    only_correct = True

    def __init__(
        self,
        n_classes: int,
        width: int,
        weight: float = 0.1,
        alpha: float = 2.0,
        pairs: Pairs = "diagonal",
        surrogate: Surrogate = "square",
    ) -> None:
        super().__init__()
        lookup(dict.fromkeys(get_args(Pairs)), pairs, "value of pairs:")
        lookup(dict.fromkeys(get_args(Surrogate)), surrogate, "surrogate")
        self.linear = nn.Linear(width, n_classes, bias=False)
        self.weight, self.alpha, self.pairs, self.surrogate = weight, alpha, pairs, surrogate

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
        alpha = torch.full((), self.alpha, device=label.device)
        # Its checks would make the device wait.
        share = torch.distributions.Beta(alpha, alpha, validate_args=False).sample()
        mixture = share * embedding + (1 - share) * embedding[other]
        return self.logits(mixture).amax(dim=1), label != label[other]

    def _ranking(self, known: Tensor, counts: Tensor, mixed: Tensor, differs: Tensor) -> Tensor:
        """The openness of a mixture should exceed that of a known sample by one."""
        if self.pairs == "diagonal":
            both = (counts & differs).to(known)
            return (both * self._missing(known - mixed)).sum() / both.sum().clamp(min=1)
        both = counts[:, None].to(known) * differs[None, :].to(known)
        loss = (both * self._missing(known[:, None] - mixed[None, :])).sum()
        return loss / (len(known) * differs.sum().clamp(min=1))

    def _missing(self, gap: Tensor) -> Tensor:
        left = 1 - gap
        return (left if self.surrogate == "square" else torch.relu(left)).square()


@method("acc_auc", title="Acc+AUC", paper=PAPER)
class AccAuc(OpenAuc):
    """OpenAUC's loss without its condition: every known sample is ranked, misnamed ones too."""

    only_correct = False
