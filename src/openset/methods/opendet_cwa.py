"""OpenDet-CWA: OpenDet with logits near an anchor of their class, and a last layer of norm one.

Mallick et al., Wasserstein Distance-based Expansion of Low-Density Latent Regions for Unknown Class
Detection, 2024. The paper wants logits close to the anchor of their class, which is high in its own
column and low in all others. The code computes a Sinkhorn distance from each vector of logits to
all anchors at once: that is the mean of the distances (and a constant), whatever the class is. The
paper's is the default here, ``anchors = "all"`` is the code's; its weight of 0.00017 does next to
nothing either way.

The spectral norm is the code's: the last layer is divided by its largest singular value, which
undoes the lengths of its rows, so logits are no longer cosines. It is computed whole at each step,
where the code goes on from an estimate that is right to a percent.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from openset.detectors import Regions
from openset.methods._spec import group_mean, method
from openset.methods.cosine import CosineLayer, unit
from openset.methods.opendet import OpenDet
from openset.options import AMOUNT, POSITIVE

_NEAR = 1e-12  # squared distance below which there is no direction to go
_SQUARINGS = 20  # a million powers: what is smaller by a hundred-thousandth is gone


class SpectralLayer(nn.Module):
    """Logits of embeddings of length one, by weights whose largest singular value is one."""

    def __init__(self, of: CosineLayer) -> None:
        super().__init__()
        self.scale, self.weight = of.scale, of.weight

    def forward(self, embedding: Tensor) -> Tensor:
        """The logits."""
        return self.scale * functional.linear(unit(embedding), self.normed())

    def normed(self) -> Tensor:
        """The weights by which it multiplies."""
        with torch.autocast(self.weight.device.type, enabled=False):
            return self.weight / spectral_norm(self.weight)


def spectral_norm(weight: Tensor) -> Tensor:
    """The largest singular value, exact as a decomposition's, which would wait for the device.

    A high power of ``W Wᵀ`` has but one direction left, or as many as share that value.
    """
    square = weight @ weight.T
    power = square.detach()
    for _ in range(_SQUARINGS):
        power = power / power.norm()
        power = power @ power
    return ((power / power.trace()) * square).sum().sqrt()


@method(
    "opendet_cwa",
    title="OpenDet-CWA",
    paper="Mallick et al., Wasserstein Distance-based Expansion of Low-Density Latent Regions for "
    "Unknown Class Detection, 2024",
    evidence='label "unknown", and its probability as unknownness',
)
class OpenDetCwa(OpenDet):
    """OpenDet whose logits are drawn to an anchor of their class, by a layer of spectral norm one.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        anchor_weight: Weight of the distance to the anchors.
        anchor: Size of an anchor: positive in its own column, negative in all others.
        anchors: Distance to the anchor of the class (``own``), or the mean over ``all``, as in the
            code.
        spectral: Divide the last layer by its spectral norm; without, logits are cosines.
        scale: Of the logits.
        queue: Embeddings remembered of each class.
        inner: Width of those embeddings.
        remembered: Most of a class at a step, the least typical first.
        temperature: Of the contrast.
        contrast: Weight of the contrastive loss at the start; it falls to 0 at the end.
        weight: Weight of the loss of the unknown.
        top: Regions of a group that teach the unknown: so many objects, so many of the background.
        alpha: Power of ``1 - p`` in their weights.
        start: Share of the training from which on they do (100 of 80,000 steps).
        mask_largest: Mask the largest entry of a row in place of the anchor's copy, as published.
        all_or_nothing: Drop a group's contrast if one anchor has no entry of its class, as
            published.
        group: Images that the losses act on; published runs have two per process.
    """

    ranges: ClassVar = {**OpenDet.ranges, "anchor_weight": AMOUNT, "anchor": POSITIVE}
    anchor: Tensor

    def __init__(
        self,
        classes: int,
        width: int,
        anchor_weight: float = 0.1 * 0.1 * 0.017,
        anchor: float = 5.0,
        anchors: Literal["own", "all"] = "own",
        spectral: bool = True,
        scale: float = 20.0,
        queue: int = 256,
        inner: int = 128,
        remembered: int = 16,
        temperature: float = 0.1,
        contrast: float = 0.21,
        weight: float = 1.0,
        top: int = 3,
        alpha: float = 1.0,
        start: float = 100 / 80_000,
        mask_largest: bool = False,
        all_or_nothing: bool = False,
        group: int = 2,
    ) -> None:
        super().__init__(
            classes,
            width,
            scale=scale,
            queue=queue,
            inner=inner,
            remembered=remembered,
            temperature=temperature,
            contrast=contrast,
            weight=weight,
            top=top,
            alpha=alpha,
            start=start,
            mask_largest=mask_largest,
            all_or_nothing=all_or_nothing,
            group=group,
        )
        self.anchor_weight, self.anchors, self.spectral = anchor_weight, anchors, spectral
        columns = classes + 2
        self.register_buffer("anchor", anchor * (2 * torch.eye(columns) - 1), persistent=False)

    def heads(self, head: nn.Module, predictor: nn.Module) -> tuple[nn.Module, nn.Module]:
        """Those of OpenDet, with another last layer."""
        towers, last = super().heads(head, predictor)
        if self.spectral:
            assert isinstance(last.cls_score, CosineLayer)
            last.cls_score = SpectralLayer(last.cls_score)
        return towers, last

    def losses(self, regions: Regions, progress: float) -> dict[str, Tensor]:
        """Those of OpenDet, and the distance to the anchors."""
        found = super().losses(regions, progress)
        if self.anchor_weight:
            found["anchor"] = self.anchor_weight * self.anchored(regions)
        return found

    def anchored(self, regions: Regions) -> Tensor:
        """How far the logits of objects are from their anchors."""
        logits, taught = regions.logits.float(), regions.label >= 0
        if self.anchors == "all":
            away = (logits[..., None, :] - self.anchor).square().sum(-1)
            return group_mean(away.clamp(min=_NEAR).sqrt().mean(-1), taught)
        own = self.anchor[regions.label.clamp(min=0) + 1]
        away = (logits - own).square().sum(-1)
        return group_mean(away.clamp(min=_NEAR).sqrt(), taught)
