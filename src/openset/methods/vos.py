"""VOS: virtual outliers, drawn where the Gaussians of known classes are thin.

Du et al., VOS: Learning What You Don't Know by Virtual Outlier Synthesis, ICLR 2022, as its code
has it. Detections carry the plain energy of the logits of known classes as their unknownness (the
scorer ``energy`` with ``background=drop``): what the loss learned beside it is not used.

Two things are not as in the code, where full queues wait for the others: a single class that never
fills its own would keep the loss off for ever. Here a full queue takes the newest at once, and a
class that is not full is left out, and named when the training is done (`all_or_nothing` is as
published). And the queue is one for all processes, and part of the checkpoint.

The least likely of many draws of a Gaussian is the one farthest out, whatever its covariance; the
direction of a draw tells nothing about its length. So one direction is drawn, and the length is
drawn as that of the longest of `draws`: the same outlier, without the ten thousand others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from openset.detectors import Regions
from openset.findings import Finding, Level
from openset.methods._bank import Bank
from openset.methods._spec import Method, method
from openset.options import AMOUNT, COUNT, SHARE

_RIDGE = 1e-4  # on the diagonal of the covariance
_UNITS = 16  # of rounding that a larger diagonal makes up for
_HALVINGS = 40
_ALL = torch.iinfo(torch.long).max


@method(
    "vos",
    title="VOS",
    paper="Du et al., VOS: Learning What You Don't Know by Virtual Outlier Synthesis, ICLR 2022",
    evidence="energy of the logits of known classes, without the background, as unknownness",
)
class Vos(Method):
    """Energies of objects are kept apart from those of virtual outliers.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        queue: Embeddings kept of each class (1000 on VOC, 300 on BDD).
        draws: Of each Gaussian; the least likely one is an outlier.
        weight: Of the loss; 0 is off.
        start: Share of the training from which on outliers are drawn.
        all_or_nothing: Keep the first embeddings of full classes until all are full, and draw no
            outlier before, as published.
        group: Images that the loss acts on; published runs have two per process.
    """

    ranges: ClassVar = {"queue": COUNT, "draws": COUNT, "weight": AMOUNT, "start": SHARE}

    def __init__(
        self,
        classes: int,
        width: int,
        queue: int = 1000,
        draws: int = 10_000,
        weight: float = 0.1,
        start: float = 2 / 3,
        all_or_nothing: bool = False,
        group: int = 2,
    ) -> None:
        super().__init__(classes, width)
        self.draws, self.weight, self.start, self.group = draws, weight, start, group
        self.all_or_nothing = all_or_nothing
        self.bank = Bank(classes, queue, width)
        self.share = nn.Parameter(torch.rand(classes))
        self.judge = nn.Linear(1, 2)

    def losses(self, regions: Regions, progress: float) -> dict[str, Tensor]:
        """How badly the energy tells objects from outliers."""
        if not self.weight:
            return {}
        known = regions.label >= 0
        self._remember(regions.embedding, torch.where(known, regions.label, -1))
        if progress < self.start:
            return {}
        with torch.autocast(regions.embedding.device.type, enabled=False):
            outliers = self.outliers(len(known))
            energy = torch.cat(
                [self.energy(regions.logits), self.energy(regions.classify(outliers))], 1
            )
            drawn = self.drawn
            there = torch.cat([known, drawn.expand(len(known), -1)], 1)
            # Without objects in the group, or without a full class, there is nothing to tell apart.
            both = known.any(1, keepdim=True) & drawn.any()
            return {"uncertainty": self.weight * self._told(energy, there & both, known.shape[1])}

    @torch.no_grad()
    def _remember(self, embedding: Tensor, klass: Tensor) -> None:
        """The newest come in; as published, into full classes only once all are full."""
        bank, room = self.bank, torch.full_like(self.bank.filled, _ALL)
        if self.all_or_nothing:
            room = torch.where(bank.full.all(), room, bank.size - bank.filled)
        bank.add_everyones(embedding.float().flatten(0, 1), klass.flatten(), room)

    @property
    def drawn(self) -> Tensor:
        """The classes that outliers are drawn of."""
        full = self.bank.full
        return full & full.all() if self.all_or_nothing else full

    def _told(self, energy: Tensor, there: Tensor, objects: int) -> Tensor:
        """Cross-entropy of each group: the first are objects, the others outliers."""
        truth = (torch.arange(energy.shape[1], device=energy.device) < objects).long()
        answers = self.judge(energy[..., None]).flatten(0, 1)
        each = functional.cross_entropy(answers, truth.repeat(len(energy)), reduction="none")
        each = torch.where(there, each.view_as(energy), 0.0)
        return each.sum(1) / there.sum(1).clamp(min=1)

    def energy(self, logits: Tensor) -> Tensor:
        """Weighted log-sum-exp of the known classes; background is left out."""
        known = logits[..., 1 : 1 + self.classes].float()
        peak = known.detach().amax(-1, keepdim=True)
        total = (torch.relu(self.share) * (known - peak).exp()).sum(-1)
        return peak[..., 0] + total.clamp(min=1e-12).log()

    @torch.no_grad()
    def outliers(self, groups: int) -> Tensor:
        """One of each class for each group, ``[groups, classes, width]``; of full classes, real."""
        rows, full = self.bank.rows, self.bank.full
        mean = rows.mean(1)
        apart = torch.where(full[:, None, None], rows - mean[:, None], 0.0).flatten(0, 1)
        count = (full.sum() * self.bank.size).clamp(min=1)
        tied = apart.T @ apart / count
        tied.diagonal().add_(_RIDGE)
        factor = _factor(tied)
        drawn = torch.randn(groups, self.classes, self.width, device=rows.device)
        drawn = functional.normalize(drawn, dim=-1)
        chance = torch.rand(groups, self.classes, device=rows.device, dtype=torch.float64)
        length = longest(chance, self.width, self.draws).to(drawn)
        return mean + (length[..., None] * drawn) @ factor.T

    def columns(self, embedding: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """Minus the plain energy of every detection, of known classes as in training."""
        del embedding
        return {"unknownness": -logits[..., 1 : 1 + self.classes].float().logsumexp(-1)}

    def foresee(self, labels: Sequence[str], regions: Sequence[float]) -> list[Finding]:
        """Classes of which the training has too few objects to fill a queue."""
        size, held = self.bank.size, self.bank.filled.tolist()  # of a model that it starts from
        few = [at for at, count in enumerate(regions) if held[at] + count < size]
        if not few or not self.weight or self.start >= 1:
            return []
        label, least = labels[few[0]], int(min(held[at] + regions[at] for at in few))
        said = f"{len(few)} of {self.classes} classes are not likely to fill their queue of {size}"
        example = f"{label}, of which about {int(regions[few[0]])} regions will be seen"
        fix = f"more steps, or --method-option queue={least} at most" if least > 1 else ""
        return [Finding("OS619", Level.WARNING, said, len(few), example, fix=fix)]

    def findings(self, labels: Sequence[str]) -> list[Finding]:
        """Classes of which no outlier was ever drawn."""
        full = self.bank.full.tolist()
        short = [label for label, is_full in zip(labels, full, strict=True) if not is_full]
        if not short or not self.weight or self.start >= 1:
            return []
        size = self.bank.size
        said = f"{len(short)} of {self.classes} classes never filled their queue of {size}"
        if self.all_or_nothing or len(short) == self.classes:
            said += ": no outlier was ever drawn, and this is a detector without VOS"
        seen = self.bank.filled[~self.bank.full].tolist()
        least = min(filter(None, seen), default=0)
        fix = f"more steps, or a shorter queue: --method-option queue={least}" if least else ""
        example = f"{short[0]}, of which {seen[0]} regions were seen"
        return [Finding("OS619", Level.WARNING, said, len(short), example, fix=fix)]


def _factor(covariance: Tensor) -> Tensor:
    """The Cholesky factor; where rounding made it indefinite, that of the least larger one.

    Both are computed, so that the device is not waited for.
    """
    factor, failed = torch.linalg.cholesky_ex(covariance)
    # Rounding is a few units in the last place of the largest eigenvalue, which the trace bounds.
    more = _UNITS * torch.finfo(covariance.dtype).eps * covariance.trace()
    safe, _ = torch.linalg.cholesky_ex(covariance + torch.diag(more.expand(len(covariance))))
    return torch.where(failed > 0, safe, factor)


def longest(chance: Tensor, width: int, draws: int) -> Tensor:
    """Length of the longest of so many draws of a standard Gaussian, at a uniform chance.

    Squared lengths are chi-squared; that of the longest is below x in ``P(x)^draws`` of all cases.
    """
    beyond = -torch.expm1(chance.clamp(min=1e-300).log() / draws)
    shape = torch.full_like(chance, width / 2)
    low, high = torch.zeros_like(chance), torch.full_like(chance, 2.0 * width + 400.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = torch.special.gammaincc(shape, middle / 2) > beyond
        low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
    return ((low + high) / 2).sqrt()
