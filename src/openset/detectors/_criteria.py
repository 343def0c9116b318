"""Losses of detectors with queries: those of transformers, with labels that a method may change.

Carion et al., DETR (ECCV 2020): on every decoder layer, queries are matched to objects one to one,
and taught their classes and boxes. Matching, box losses, weights and the losses of queries that
only help to train (encoder, denoising) are the library's. The loss of the classes is written out
here, so that a query can be taught "unknown", which has a column of its own: without a method's
labels it is the library's to the last bit.

Deformable DETR without a method is left to the library. RT-DETR never is: up to transformers 5.17
the library's own sum lets queries that only help to train, which begin beside the objects, take the
objects from the queries of the last layer, so that what detects is not taught.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import one_hot
from torchvision.ops import box_convert, box_iou
from transformers.loss.loss_deformable_detr import (
    DeformableDetrHungarianMatcher,
    DeformableDetrImageLoss,
)
from transformers.loss.loss_rt_detr import RTDetrLoss

from openset.detectors._regions import BACKGROUND

Given = dict[str, Any]
"""What the library hands to its loss, by name."""
_NAMES = ("logits", "labels", "device", "boxes", "config", "classes", "coords")


class Layer(NamedTuple):
    """What a decoder layer says of the queries of a batch: a row per image, then one per query."""

    embedding: Tensor
    logits: Tensor
    label: Tensor
    overlap: Tensor


Relabel = Callable[[Layer], Tensor]


def deferred(*given: Any, **more: Any) -> tuple[None, Given, None]:
    """In place of the library's loss: hands on what that would be computed from."""
    return None, {**dict(zip(_NAMES, given, strict=True)), "more": more}, None


class RTDetrCriterion(RTDetrLoss):
    """The losses of RT-DETR: varifocal, the target of a class is how well the box fits."""

    def __init__(self, config: Any, relabel: Relabel, weight: float) -> None:
        super().__init__(config)
        self.relabel, self.weight = relabel, weight

    def loss_labels_vfl(
        self, outputs: Given, targets: Any, indices: Any, num_boxes: float, log: bool = True
    ) -> dict[str, Tensor]:
        """Of the classes, on one layer."""
        if "embedding" not in outputs:  # these queries are no method's
            given = (outputs, targets, indices, num_boxes)
            stock: dict[str, Tensor] = super().loss_labels_vfl(*given)
            return stock
        layer, own = _layer(outputs, targets, indices)
        label = self.relabel(layer)
        # What is taught by the method's word alone has no box to be as good as.
        good = torch.where(label == layer.label, own, 1.0)
        queries, each = layer.logits.shape[1], self._each
        loss = each(outputs["logits"], _columns(label, self.num_classes), good)
        loss = loss.mean(1).sum() * queries / num_boxes
        if self.weight and "unknown" in outputs:
            said = (label == self.num_classes).long()[..., None]
            more = each(outputs["unknown"], said, good)
            loss = loss + self.weight * more.mean(1).sum() * queries / num_boxes
        return {"loss_vfl": loss}

    def _each(self, logits: Tensor, target: Tensor, good: Tensor) -> Tensor:
        wanted = good.to(logits.dtype)[..., None] * target
        sure = logits.detach().sigmoid()
        weight = (self.alpha * sure.pow(self.gamma) * (1 - target) + wanted).to(logits.dtype)
        return cross_entropy(logits, wanted, weight=weight, reduction="none")


class DeformableCriterion(DeformableDetrImageLoss):
    """The losses of Deformable DETR: the classes by the focal loss."""

    def __init__(self, config: Any, relabel: Relabel, weight: float) -> None:
        matcher = DeformableDetrHungarianMatcher(
            class_cost=config.class_cost, bbox_cost=config.bbox_cost, giou_cost=config.giou_cost
        )
        super().__init__(matcher, config.num_labels, config.focal_alpha, ["labels", "boxes"])
        self.relabel, self.weight = relabel, weight

    def loss_labels(
        self, outputs: Given, targets: Any, indices: Any, num_boxes: Any
    ) -> dict[str, Tensor]:
        """Of the classes, on one layer."""
        layer, _ = _layer(outputs, targets, indices)
        label, queries = self.relabel(layer), layer.logits.shape[1]
        loss = self._focal(outputs["logits"], _columns(label, self.num_classes))
        loss = loss.mean(1).sum() / num_boxes * queries
        if self.weight and "unknown" in outputs:
            said = (label == self.num_classes).to(loss.dtype)[..., None]
            more = self._focal(outputs["unknown"], said)
            loss = loss + self.weight * more.mean(1).sum() / num_boxes * queries
        return {"loss_ce": loss}

    def _focal(self, logits: Tensor, target: Tensor) -> Tensor:
        target = target.to(logits.dtype)
        sure, told = logits.sigmoid(), cross_entropy(logits, target, reduction="none")
        right = sure * target + (1 - sure) * (1 - target)
        share = self.focal_alpha * target + (1 - self.focal_alpha) * (1 - target)
        return share * (told * (1 - right) ** 2)


def plain_rt_detr(*given: Any, **more: Any) -> tuple[Tensor, Given, None]:
    """In place of the library's loss of RT-DETR: the same of any of its versions."""
    _, held, _ = deferred(*given, **more)
    return rt_detr_loss(held, None, _as_it_is, 0.0), held, None


def _as_it_is(layer: Layer) -> Tensor:
    return layer.label


def rt_detr_loss(given: Given, embedding: Tensor | None, relabel: Relabel, weight: float) -> Tensor:
    """The loss of RT-DETR on a batch, as its paper sums it.

    Args:
        given: What `deferred` was handed.
        embedding: Those of all layers, ``[images, layers, queries, width]``, with denoising; None
            is without a method.
        relabel: From a decoder layer to the labels of its queries.
        weight: Of the column "unknown".
    """
    more, config, coords = given["more"], given["config"], given["coords"]
    classes, unknown = _parted(given["classes"], config.num_labels)
    noisy, rest = more["denoising_meta_values"], dict[str, Any]()
    if noisy is not None:
        rest = {"denoising_meta_values": noisy}
        noisy_classes, classes = classes.split(noisy["dn_num_split"], 2)
        noisy_coords, coords = coords.split(noisy["dn_num_split"], 2)
        queries = slice(-classes.shape[2], None)
        embedding = None if embedding is None else embedding[:, :, queries]
        unknown = None if unknown is None else unknown[:, :, queries]
        rest["dn_auxiliary_outputs"] = _layers(1, logits=noisy_classes, pred_boxes=noisy_coords)
    layers = _layers(1, logits=classes, pred_boxes=coords, embedding=embedding, unknown=unknown)
    encoder = {"logits": more["enc_topk_logits"], "pred_boxes": more["enc_topk_bboxes"]}
    outputs = layers[-1]
    if config.auxiliary_loss:
        outputs = {**outputs, "auxiliary_outputs": [*layers[:-1], encoder], **rest}
    criterion = RTDetrCriterion(config, relabel, weight).to(classes.device)
    total: Tensor = sum(criterion(outputs, given["labels"]).values())
    return total


def deformable_loss(given: Given, embedding: Tensor, relabel: Relabel, weight: float) -> Tensor:
    """The loss of Deformable DETR on a batch; arguments are those of `rt_detr_loss`."""
    config = given["config"]
    classes, unknown = _parted(given["classes"], config.num_labels)
    told = {"logits": classes, "pred_boxes": given["coords"], "unknown": unknown}
    layers = _layers(0, **told, embedding=embedding.transpose(0, 1))
    criterion = DeformableCriterion(config, relabel, weight).to(embedding.device)
    found = criterion({**layers[-1], "auxiliary_outputs": layers[:-1]}, given["labels"])
    factor = {"ce": 1, "bbox": config.bbox_loss_coefficient, "giou": config.giou_loss_coefficient}
    total: Tensor = sum(loss * factor[name.split("_")[1]] for name, loss in found.items())
    return total


def with_unknown(layers: nn.ModuleList, *, taught: bool = True) -> nn.ModuleList:
    """Classifiers with a column "unknown"; those that shared their weights share that one too.

    One that is not taught has no slope: among the others, zeros change how their norm is rounded.
    """
    made: dict[int, nn.Linear] = {}
    for layer in layers:
        if id(layer.weight) not in made:
            made[id(layer.weight)] = _column(layer).requires_grad_(taught)
    return nn.ModuleList([Columns(layer, made[id(layer.weight)]) for layer in layers])


class Columns(nn.Module):
    """A classifier of the known classes, and a column "unknown" beside it."""

    def __init__(self, known: Any, unknown: nn.Linear) -> None:
        super().__init__()
        self.known, self.unknown = known, unknown

    @property
    def weight(self) -> Tensor:
        """One row per column."""
        return torch.cat([self.known.weight, self.unknown.weight])

    @property
    def bias(self) -> Tensor:
        """One number per column."""
        return torch.cat([self.known.bias, self.unknown.bias])

    def forward(self, embedding: Tensor) -> Tensor:
        """The logits; those of known classes are what they were."""
        return torch.cat([self.known(embedding), self.unknown(embedding)], -1)


def _column(known: Any) -> nn.Linear:
    # Its chance is its own: what is drawn later is what it would be without it.
    with torch.random.fork_rng(devices=[]):
        column = nn.Linear(known.in_features, 1)
    nn.init.constant_(column.bias, known.bias.mean().item())
    return column.to(known.weight)


def _parted(logits: Tensor, classes: int) -> tuple[Tensor, Tensor | None]:
    """Those of the known classes, and the column "unknown" if there is one.

    The former are laid out as they are without the latter: torch rounds otherwise where numbers lie
    apart, and a method that is off would not be the detector without it.
    """
    if logits.shape[-1] == classes:
        return logits, None
    return logits[..., :classes].contiguous(), logits[..., classes:]


def _layers(across: int, **columns: Tensor | None) -> list[Given]:
    """What each layer says, from what all of them say, side by side in a dimension."""
    held = {name: value.unbind(across) for name, value in columns.items() if value is not None}
    return [dict(zip(held, one, strict=True)) for one in zip(*held.values(), strict=True)]


def _layer(outputs: Given, targets: Any, indices: Any) -> tuple[Layer, Tensor]:
    """A layer with the labels of the objects it was matched to, and how well those boxes fit."""
    boxes, logits = outputs["pred_boxes"].detach(), outputs["logits"]
    label = torch.full(logits.shape[:2], BACKGROUND, device=logits.device)
    overlap, own = (torch.zeros(logits.shape[:2], device=logits.device) for _ in range(2))
    for at, (target, (query, thing)) in enumerate(zip(targets, indices, strict=True)):
        query, thing = query.to(logits.device), thing.to(logits.device)
        if len(target["boxes"]):
            sides = (box_convert(b.float(), "cxcywh", "xyxy") for b in (boxes[at], target["boxes"]))
            shared = box_iou(*sides)
            overlap[at], own[at, query] = shared.amax(1), shared[query, thing]
        label[at, query] = target["class_labels"][thing]
    if "unknown" in outputs:
        logits = torch.cat([logits, outputs["unknown"]], -1)
    return Layer(outputs["embedding"], logits, label, overlap), own


def _columns(label: Tensor, classes: int) -> Tensor:
    """One where a query is taught a class; nothing where it is background, or unknown."""
    known = torch.where((label >= 0) & (label < classes), label, classes)
    return one_hot(known, classes + 1)[..., :-1]
