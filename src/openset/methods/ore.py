"""ORE*: unknowns from proposals, and known classes in clusters of their own.

Joseph et al., Towards Open World Object Detection, CVPR 2021, without its energy-based identifier,
as RE-OWOD calls it; with that identifier (`openset.scorers.ebui`, which is fitted on the labels of
unknown objects) it is ORE. Of each image the region on no object that looks most like one is taught
as unknown. A store keeps the last embeddings of every class; from a start on each class has a
prototype, and a loss draws objects to that of their class and away from all others.

The paper's form is the default: Euclidean distances with a margin of 10, where the code takes the
margin for the order of the norm (`order=10`) and has another (`margin=2`); classes without a
prototype take no part, where the code puts it at the origin (`absent="origin"`); the background has
none (`background=True`); unknowns are chosen among regions on no object (`any_region=True`: among
all, those on objects with a logit of -1); and what is called unknown does not teach boxes
(`unknown_boxes=True`: that of the object it overlaps a little). The store is one for all
processes, and in the checkpoint.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from openset.detectors import BACKGROUND, NOTHING, Regions
from openset.methods._auto_label import AutoLabel
from openset.methods._bank import Bank
from openset.methods._spec import method
from openset.options import AMOUNT, COUNT, POSITIVE, SHARE

_ALL = torch.iinfo(torch.long).max


@method(
    "ore",
    title="ORE*",
    paper="Joseph et al., Towards Open World Object Detection, CVPR 2021",
    evidence='label "unknown", and its probability as unknownness; with the rule ebui it is ORE',
)
class Ore(AutoLabel):
    """The likeliest proposals on no object teach "unknown"; classes are drawn apart.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        top: Regions of an image that are taught as unknown; 0 is none, and no column for them.
        auto_label: Whether they are; if not, as in fine-tuning, the column stays.
        weight: Of the loss of clusters; 0 is off.
        items: Embeddings that the store keeps of each class.
        start: Share of the training from which on there are prototypes (1,000 of 18,000 steps).
        every: Share of the training after which prototypes move again (3,000 of 18,000 steps).
        momentum: How much of a prototype stays when it moves.
        order: Of the norm; 10 in the published code.
        margin: Distance up to which other classes repel; 2 in the published code.
        absent: What is done with classes that the store is not yet full of: ``skip``, or a
            prototype at the ``origin``, as published.
        background: Whether the background has a prototype, too, as published.
        any_region: Choose unknowns among all regions, as published.
        unknown_boxes: Let unknowns teach boxes, as published.
    """

    ranges: ClassVar = {
        "top": AMOUNT,
        "weight": AMOUNT,
        "items": COUNT,
        "start": SHARE,
        "every": POSITIVE,
        "momentum": SHARE,
        "order": COUNT,
        "margin": AMOUNT,
    }
    prototype: Tensor
    placed: Tensor
    moves: Tensor

    def __init__(
        self,
        classes: int,
        width: int,
        top: int = 1,
        auto_label: bool = True,
        weight: float = 0.1,
        items: int = 20,
        start: float = 1000 / 18_000,
        every: float = 3000 / 18_000,
        momentum: float = 0.99,
        order: float = 2.0,
        margin: float = 10.0,
        absent: Literal["skip", "origin"] = "skip",
        background: bool = False,
        any_region: bool = False,
        unknown_boxes: bool = False,
    ) -> None:
        super().__init__(classes, width)
        self.top, self.unknown, self.auto_label, self.weight = top, top > 0, auto_label, weight
        self.start, self.every, self.momentum = start, every, momentum
        self.order, self.margin, self.absent = order, margin, absent
        self.background, self.any_region, self.unknown_boxes = background, any_region, unknown_boxes
        clusters = classes + 1 + background
        self.store = Bank(clusters, items, width)
        self.register_buffer("prototype", torch.zeros(clusters, width))
        self.register_buffer("placed", torch.zeros(clusters, dtype=torch.bool))
        self.register_buffer("moves", torch.zeros((), dtype=torch.long))

    def restart(self) -> None:
        """Place prototypes anew; the store stays."""
        self.placed.zero_()
        self.moves.zero_()

    def relabel(self, regions: Regions, progress: float) -> Tensor:
        """Labels, some of the background unknown, if that is wanted."""
        return super().relabel(regions, progress) if self.auto_label else regions.label

    def likely(self, regions: Regions) -> Tensor:
        """The objectness of regions on no object, or as published."""
        if not self.any_region:
            return super().likely(regions)
        flat = regions.objectness.masked_fill(regions.label >= 0, -1.0)
        return flat.masked_fill(regions.label == NOTHING, -torch.inf)

    def losses(self, regions: Regions, progress: float) -> dict[str, Tensor]:
        """How far objects are from the prototype of their class, and how near to others."""
        if not self.weight:
            return {}
        with torch.autocast(regions.embedding.device.type, enabled=False):
            # What is stored at a step takes part in its prototypes.
            rest = self.classes + 1 if self.background else -1
            kept = torch.where(regions.label == BACKGROUND, rest, regions.label)
            self.store.add_everyones(regions.embedding, kept.clamp(min=-1), _ALL)
            if progress < self.start:
                return {}
            self.move(progress)
            return {"clusters": self.weight * self.spread(regions)}

    @torch.no_grad()
    def move(self, progress: float) -> None:
        """Place the prototypes of classes that have none, and move the others when it is time."""
        mean = self.store.rows.sum(1) / self.store.filled.clamp(min=1)[:, None]
        time = 1 + math.floor((progress - self.start) / self.every + 1e-9)
        due = self.moves < time
        new = ~self.placed & (due if self.absent == "origin" else self.store.full)
        moved = self.momentum * self.prototype + (1 - self.momentum) * mean
        old = torch.where((self.placed & due)[:, None], moved, self.prototype)
        self.prototype.copy_(torch.where(new[:, None], mean, old))
        self.placed |= new
        self.moves.fill_(time)

    def spread(self, regions: Regions) -> Tensor:
        """The mean over objects and prototypes: distance to the own, closeness to others."""
        distance = torch.cdist(
            regions.embedding.float(),
            self.prototype.expand(len(regions.label), -1, -1),
            p=self.order,
            compute_mode="donot_use_mm_for_euclid_dist",
        )
        object_ = regions.label >= 0
        own = functional.one_hot(regions.label.clamp(min=0), len(self.placed)).bool()
        each = torch.where(own, distance, torch.relu(self.margin - distance))
        taking = object_[..., None] & self.placed
        total = torch.where(taking, each, 0.0).sum((1, 2))
        return total / taking.sum((1, 2)).clamp(min=1)
