"""SIREN: known classes as von Mises-Fisher distributions on a sphere.

Du et al., SIREN: Shaping Representations for Detecting Out-of-Distribution Objects, NeurIPS 2022,
as its code has it on the regions of a two-stage detector, or on the matched queries of the last
decoder layer: a small projection beside the head, a prototype per class that follows its regions,
and a learned concentration. What is far from every
prototype is unknown: detections carry that as their unknownness, and the projection itself for the
scorers ``siren_knn`` and ``siren_vmf``.

Three things are not as in the code. Densities are logarithms: exponentiated, they overflow from
about 100 dimensions on. Prototypes are one for all processes, and part of the checkpoint. And they
move by all regions of a step at once, as far as one by one: the code's order of regions is random,
and the last twenty would decide (`in_sequence` is as published).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from openset.detectors import Queries, Regions
from openset.findings import Finding, Level
from openset.methods._spec import Method, group_mean, method, teaches_nothing
from openset.nets.processes import everyones
from openset.options import AMOUNT, SHARE, Range

_LEAST, _MOST = 1e-3, 1e3  # concentrations; the series below has terms enough for them
_TERMS = 1024
_OUT = -1e4  # logit of a class without a prototype


@method(
    "siren",
    title="SIREN",
    paper="Du et al., SIREN: Shaping Representations for Detecting Out-of-Distribution Objects, "
    "NeurIPS 2022",
    needs=("regions", "queries"),
    evidence="distance from the classes on its sphere as unknownness; scorers siren_knn, siren_vmf",
)
class Siren(Method):
    """Projections of objects gather around the prototype of their class on a sphere.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        inner: Dimensions of the projection; on queries 16 (VOC) or 64 (BDD) is published.
        weight: Of the loss; 0 is off. On queries 1.5 is published.
        momentum: How much of a prototype each region leaves.
        concentration: Of every class at the start; it is learned.
        floor: Beside the probability in the logarithm, which bounds the loss; 0 is none.
        in_sequence: Move prototypes by one region after the other, in their random order, as
            published.
        group: Images that the loss acts on; published runs have two per process.
    """

    ranges: ClassVar = {
        "inner": Range(2),
        "weight": AMOUNT,
        "momentum": SHARE,
        "concentration": Range(_LEAST, _MOST),
        "floor": AMOUNT,
    }
    prototype: Tensor

    def __init__(
        self,
        classes: int,
        width: int,
        inner: int = 64,
        weight: float = 0.1,
        momentum: float = 0.95,
        concentration: float = 10.0,
        floor: float = 1e-6,
        in_sequence: bool = False,
        group: int = 2,
    ) -> None:
        super().__init__(classes, width)
        self.weight, self.momentum, self.floor = weight, momentum, floor
        self.in_sequence, self.group = in_sequence, group
        self.projection = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, inner))
        self.concentration = nn.Parameter(torch.full((classes,), concentration))
        self.register_buffer("prototype", torch.zeros(classes, inner))

    def losses(self, regions: Regions | Queries, progress: float) -> dict[str, Tensor]:
        """How unlikely objects are under the distribution of their class."""
        del progress
        if not self.weight:
            return {}
        taught = regions.label >= 0
        with torch.autocast(regions.embedding.device.type, enabled=False):
            projected = self.projected(regions.embedding)
            # Every object has pulled its prototype already when it is compared with it.
            self._move(projected.detach(), torch.where(taught, regions.label, -1))
            share = self.densities(projected).log_softmax(-1)
            own = share.gather(-1, regions.label.clamp(min=0)[..., None])[..., 0]
            if self.floor:
                own = torch.logaddexp(own, own.new_tensor(math.log(self.floor)))
            return {"shape": self.weight * group_mean(-own, taught)}

    def projected(self, embedding: Tensor) -> Tensor:
        """Embeddings as points of the sphere."""
        return functional.normalize(self.projection(embedding.float()), dim=-1)

    def densities(self, projected: Tensor) -> Tensor:
        """Logarithm of each class's density; classes without a prototype have next to none."""
        close = self.concentration.clamp(_LEAST, _MOST)
        scale = log_scale(close, projected.shape[-1])
        return torch.where(self.seen, close * (projected @ self.prototype.T) + scale, _OUT)

    @property
    def seen(self) -> Tensor:
        """Which classes have a prototype."""
        return self.prototype.any(-1)

    @torch.no_grad()
    def _move(self, projected: Tensor, klass: Tensor) -> None:
        """Let prototypes follow the objects of all processes; those of class -1 move none."""
        rows, klass = everyones(projected.flatten(0, -2)), everyones(klass.flatten())
        if self.in_sequence:
            for row, at in zip(rows[klass >= 0], klass[klass >= 0].tolist(), strict=True):
                self.prototype[at] = self._nearer(self.prototype[at], row, self.momentum)
            return
        own = (klass[:, None] == torch.arange(self.classes, device=klass.device)).to(rows)
        count = own.sum(0)[:, None]
        mean = own.T @ rows / count.clamp(min=1)
        kept = self.momentum**count
        moved = self._nearer(self.prototype, mean, kept)
        self.prototype.copy_(torch.where(kept < 1, moved, self.prototype))

    @staticmethod
    def _nearer(old: Tensor, new: Tensor, kept: Tensor | float) -> Tensor:
        return functional.normalize(kept * old + (1 - kept) * new, dim=-1)

    def columns(self, embedding: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """The projection of every detection, and how unlikely it is under each class at best."""
        del logits
        projected = self.projected(embedding)
        return {"projection": projected, "unknownness": -self.densities(projected).amax(-1)}

    def foresee(self, labels: Sequence[str], regions: Sequence[float]) -> list[Finding]:
        """That a single class is always as likely as all of them."""
        del regions
        nothing = self.classes == 1 and self.weight
        return [teaches_nothing("siren", labels[0])] if nothing else []

    def findings(self, labels: Sequence[str]) -> list[Finding]:
        """Classes that have no prototype."""
        seen = self.seen.tolist()
        unseen = [label for label, is_seen in zip(labels, seen, strict=True) if not is_seen]
        if not unseen or not self.weight:
            return []
        said = f"{len(unseen)} of {self.classes} classes were on no image of the training"
        return [Finding("OS641", Level.WARNING, said, len(unseen), unseen[0])]


def log_scale(concentration: Tensor, dimensions: int) -> Tensor:
    """What makes a von Mises-Fisher density integrate to one, as a logarithm.

    With the power series of the Bessel function in it, all of whose terms are positive: exact for
    concentrations up to a thousand, with a gradient.
    """
    order = dimensions / 2 - 1
    half = torch.log(concentration.double() / 2)
    term = torch.arange(_TERMS, dtype=torch.float64, device=half.device)
    each = 2 * half[..., None] * term - torch.lgamma(term + 1) - torch.lgamma(term + order + 1)
    whole = dimensions / 2 * math.log(2 * math.pi)
    return (order * math.log(2) - whole - each.logsumexp(-1)).to(concentration)
