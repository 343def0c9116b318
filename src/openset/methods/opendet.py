"""OpenDet: compact clusters of known classes, and a share of probability for the unknown.

Han et al., Expanding Low-Density Latent Regions for Open-Set Object Detection, CVPR 2022, as its
code has it: the instance contrastive loss (CFL there) and unknown probability learning (UPL). The
head has K + 2 columns, not 82 with dead ones. Two repairs are the default, and options undo them:
an anchor is not compared with its own copy in the bank, where the code masks the largest entry of
its row, copy or not; and an anchor without an entry of its class is left out, where the code drops
the loss of the whole step.

Not OpenDet-CWA, which adds anchors of logits and a spectral norm: `openset.methods.opendet_cwa`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from openset.detectors import BACKGROUND, Regions
from openset.methods._bank import Bank
from openset.methods._spec import group_mean, method
from openset.methods.cosine import Cosine, xavier
from openset.nets.processes import everyones
from openset.options import AMOUNT, COUNT, POSITIVE, SHARE

_SURE, _TAUGHT = 0.7, 0.5  # overlap of what is remembered, and of what is taught
_SAME = 1 - 1e-6  # cosine from which on an entry is the anchor's own copy
_OUT = -1e4  # logit of what takes no part


@method(
    "opendet",
    title="OpenDet",
    paper="Han et al., Expanding Low-Density Latent Regions for Open-Set Object Detection, "
    "CVPR 2022",
    evidence='label "unknown", and its probability as unknownness',
)
class OpenDet(Cosine):
    """Known classes are drawn together, and the least sure regions teach a column "unknown".

    Args:
        classes: Known classes.
        width: Width of the embedding.
        scale: Of the cosines.
        queue: Embeddings remembered of each class.
        inner: Width of those embeddings.
        remembered: Most of a class at a step, the least typical first.
        temperature: Of the contrast.
        contrast: Weight of the contrastive loss at the start; it falls to 0 at the end.
        weight: Weight of the loss of the unknown.
        top: Regions of a group that teach the unknown: so many objects, so many of the background.
        alpha: Power of ``1 - p`` in their weights.
        start: Share of the training from which on they do (100 of 32,000 steps).
        mask_largest: Mask the largest entry of a row in place of the anchor's copy, as published.
        all_or_nothing: Drop a group's contrast if one anchor has no entry of its class, as
            published.
        group: Images that the losses act on; published runs have two per process.
    """

    unknown = True
    ranges: ClassVar = {
        **Cosine.ranges,
        "queue": COUNT,
        "inner": COUNT,
        "remembered": COUNT,
        "temperature": POSITIVE,
        "contrast": AMOUNT,
        "weight": AMOUNT,
        "top": COUNT,
        "alpha": AMOUNT,
        "start": SHARE,
    }

    def __init__(
        self,
        classes: int,
        width: int,
        scale: float = 20.0,
        queue: int = 256,
        inner: int = 128,
        remembered: int = 16,
        temperature: float = 0.1,
        contrast: float = 0.1,
        weight: float = 1.0,
        top: int = 3,
        alpha: float = 1.0,
        start: float = 100 / 32_000,
        mask_largest: bool = False,
        all_or_nothing: bool = False,
        group: int = 2,
    ) -> None:
        super().__init__(classes, width, scale)
        self.remembered, self.temperature, self.contrast = remembered, temperature, contrast
        self.weight, self.top, self.alpha, self.start = weight, top, alpha, start
        self.mask_largest, self.all_or_nothing, self.group = mask_largest, all_or_nothing, group
        self.bank = Bank(classes, queue, inner, wrap=False)
        # Its chance is its own: switched off, the detector starts as the cosine head's.
        with torch.random.fork_rng(devices=[]):
            first, last = nn.Linear(width, width), nn.Linear(width, inner)
            for layer in (first, last):
                xavier(layer)
        self.encoder = nn.Sequential(first, nn.ReLU(), last)

    def losses(self, regions: Regions, progress: float) -> dict[str, Tensor]:
        """The contrast from the first step on, the unknown from its start."""
        found = {}
        if self.contrast:
            found["contrast"] = self.contrast * (1 - progress) * self.compact(regions)
        if self.weight and progress >= self.start:
            found["unknown"] = self.weight * self.probable(regions)
        return found

    def compact(self, regions: Regions) -> Tensor:
        """How far objects are from what is remembered of their class, against all others."""
        taught = (regions.overlap > _TAUGHT) & (regions.label >= 0)
        # As many rows as can be on objects, those that are first: to count them were to wait.
        row = taught.int().argsort(dim=1, descending=True, stable=True)[:, : regions.most]
        taught, label = taught.gather(1, row), regions.label.gather(1, row)
        wide = row[..., None].expand(-1, -1, regions.embedding.shape[-1])
        coded = self.encoder(regions.embedding.gather(1, wide)).float()
        coded = functional.normalize(coded, dim=-1)
        sure = taught & (regions.overlap.gather(1, row) > _SURE)
        self._remember(coded.detach(), torch.where(sure, label, -1))
        own_class = torch.arange(self.classes, device=label.device).repeat_interleave(
            self.bank.size
        )
        cosine = coded @ self.bank.rows.flatten(0, 1).T
        there = self.bank.there.flatten().expand_as(cosine)
        if self.mask_largest:
            peak = cosine.detach().masked_fill(~there, _OUT).amax(-1, keepdim=True)
            there = there & (cosine.detach() < peak)
        else:
            there = there & (cosine.detach() <= _SAME)
        share = (cosine / self.temperature).masked_fill(~there, _OUT).log_softmax(-1)
        own = there & (label[..., None] == own_class)
        each = -torch.where(own, share, 0.0).sum(-1) / own.sum(-1).clamp(min=1)
        has = taught & own.any(-1)
        mean = group_mean(each, has)
        if not self.all_or_nothing:
            return mean
        return torch.where((taught & ~has).any(1), 0.0, mean)

    @torch.no_grad()
    def _remember(self, rows: Tensor, klass: Tensor) -> None:
        """Keep the objects that are least like what their class remembers."""
        rows, klass = rows.flatten(0, 1), klass.flatten()
        kept = torch.where(self.bank.there[..., None], self.bank.rows, 0.0).sum(1)
        typical = kept / self.bank.filled.clamp(min=1)[:, None]
        alike = (rows * typical[klass.clamp(min=0)]).sum(-1)
        table, klass = everyones(torch.cat([rows, alike[:, None]], 1)), everyones(klass)
        order = table[:, -1].argsort(stable=True)
        self.bank.add(table[order, :-1], klass[order], self.remembered)

    def probable(self, regions: Regions) -> Tensor:
        """The least sure regions give the unknown what their own column leaves."""
        unknown = self.classes + 1
        logits = regions.logits.float()
        sure = logits.detach()[..., :unknown].amax(-1)
        objects, rest = regions.label >= 0, regions.label == BACKGROUND
        rows, real = zip(
            *(self._least(sure, kind, objects) for kind in (objects, rest)), strict=True
        )
        row, taught = torch.cat(rows, 1), torch.cat(real, 1)
        logits = logits.gather(1, row[..., None].expand(-1, -1, logits.shape[-1]))
        own = (regions.label.gather(1, row) + 1).clamp(min=0)[..., None]
        p = logits.detach().softmax(-1).gather(-1, own)[..., 0]
        left = logits.scatter(-1, own, _OUT).log_softmax(-1)[..., unknown]
        return group_mean(-p * (1 - p) ** self.alpha * left, taught)

    def _least(self, sure: Tensor, kind: Tensor, objects: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of a kind that are least sure, no more than a group has objects; which are real."""
        count = min(self.top, sure.shape[1])
        value, row = sure.masked_fill(~kind, torch.inf).topk(count, dim=1, largest=False)
        few = torch.arange(count, device=row.device) < objects.sum(1, keepdim=True)
        return row, few & value.isfinite()
