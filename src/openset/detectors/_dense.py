"""One-stage detectors of torchvision, recorded: RetinaNet and FCOS.

As in `_rcnn`, the network's own parts run, and the final filter is written out so that the location
of every kept box is known. Boxes, scores and labels equal those of the stock model to the last bit.
The embedding is the classification tower at that location; the last layer is a 3x3 convolution of
it, so there is no affine head.

Classes are numbered from 0: torchvision's files of weights with labels from 1 have an untrained
column 0, which needs a label of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection import FCOS, RetinaNet
from torchvision.ops import boxes as box_ops

from openset.detectors._found import Filters
from openset.detectors._spec import EvidenceName
from openset.detectors._torch import BoxTensors, Target, TorchModel, averaged, opened, tapped
from openset.nets.processes import shared
from openset.tables import LogitLayout


@dataclass(frozen=True, slots=True)
class PyramidLevel:
    """What the heads say on one level of one image.

    Attributes:
        logits: One row per anchor.
        deltas: Box regression, one row per anchor.
        anchors: One row per anchor.
        centerness: Logit of each anchor (FCOS), or None.
        tower: The classification tower, one row per location.
    """

    logits: Tensor
    deltas: Tensor
    anchors: Tensor
    centerness: Tensor | None
    tower: Tensor

    @property
    def scores(self) -> Tensor:
        """Confidence of each anchor and class."""
        scores = torch.sigmoid(self.logits)
        if self.centerness is None:
            return scores
        return torch.sqrt(scores * torch.sigmoid(self.centerness))


class DenseModel(TorchModel):
    """A recorded RetinaNet or FCOS."""

    def __init__(
        self, network: RetinaNet | FCOS, labels: tuple[str, ...], device: str | None
    ) -> None:
        super().__init__(network, labels, LogitLayout.SIGMOID, device)
        if isinstance(network, FCOS):
            head: Any = network.head
            head.compute_loss = partial(_of_all_places, head.compute_loss)

    def compile_step(self) -> None:
        """Let torch compile the backbone; the losses, which loop over images, stay as they are."""
        self.network.get_submodule("backbone").compile()

    def forward(self, images: list[Tensor], targets: list[Target]) -> dict[str, Tensor]:
        """Losses; RetinaNet's are means over images, of which processes have equal shares."""
        losses: dict[str, Tensor] = self.network(images, targets)
        return losses

    def record(self, images: list[Tensor], keep: frozenset[EvidenceName]) -> list[BoxTensors]:
        """The kept boxes of each image with their evidence."""
        network: Any = self.network
        batch, _ = network.transform(images)
        features = network.backbone(batch.tensors)
        if isinstance(features, Tensor):
            features = OrderedDict([("0", features)])
        maps = list(features.values())
        with tapped(network.head.classification_head.conv) as towers:
            outputs = network.head(maps)
        anchors = network.anchor_generator(batch, maps)
        found = [
            _survivors(network, _levels(outputs, anchors[at], towers, at), size)
            for at, size in enumerate(batch.image_sizes)
        ]
        if "latent" in keep:
            width = batch.tensors.shape[-1]
            latent = averaged(towers, [boxes["box"] for boxes in found], width)
            parts = latent.split([len(boxes["box"]) for boxes in found])
            for boxes, part in zip(found, parts, strict=True):
                boxes["latent"] = part
        sizes = [tuple(image.shape[-2:]) for image in images]
        return _rescaled(network, found, batch.image_sizes, sizes)

    def unsuppressed(self) -> AbstractContextManager[Filters]:
        """The best pairs of a location and a class of each level, as before suppression."""
        return opened(self.network)


def _of_all_places(
    stock: Callable[..., dict[str, Tensor]],
    targets: Any,
    outputs: Any,
    anchors: Any,
    matched: list[Tensor],
) -> dict[str, Tensor]:
    """The losses of FCOS, divided by the places on objects of all processes, as published.

    Torchvision divides by those of its own images: a process whose objects are few or small would
    count as much as one with many.
    """
    mine = torch.stack([(place >= 0).sum() for place in matched]).sum().float()
    factor = mine.clamp(min=1) / shared(mine).clamp(min=1)
    found = stock(targets, outputs, anchors, matched)
    return {name: loss * factor for name, loss in found.items()}


def _levels(
    outputs: dict[str, Tensor], anchors: Tensor, towers: list[Tensor], at: int
) -> list[PyramidLevel]:
    locations = [tower.shape[-2] * tower.shape[-1] for tower in towers]
    per_location = len(anchors) // sum(locations)
    counts = [per_location * n for n in locations]
    logits, deltas = (outputs[name][at].split(counts) for name in ("cls_logits", "bbox_regression"))
    central = outputs["bbox_ctrness"][at].split(counts) if "bbox_ctrness" in outputs else None
    return [
        PyramidLevel(
            logits[level],
            deltas[level],
            part,
            central[level] if central is not None else None,
            towers[level][at].flatten(1).T,
        )
        for level, part in enumerate(anchors.split(counts))
    ]


def _survivors(network: Any, levels: list[PyramidLevel], size: tuple[int, int]) -> BoxTensors:
    """What is left of one image after the stock model's filters, with evidence."""
    starts = torch.tensor([0, *(len(level.logits) for level in levels)]).cumsum(0).tolist()
    parts = [
        _best_of(network, level, size, start) for level, start in zip(levels, starts, strict=False)
    ]
    joined = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    best = box_ops.batched_nms(joined["box"], joined["score"], joined["label"], network.nms_thresh)
    best = best[: network.detections_per_img]
    return {name: values[best] for name, values in joined.items()}


def _best_of(network: Any, level: PyramidLevel, size: tuple[int, int], start: int) -> BoxTensors:
    """The best (anchor, class) pairs of a level."""
    classes = level.logits.shape[-1]
    scores = level.scores.flatten()
    passing = torch.where(scores > network.score_thresh)[0]
    score, order = scores[passing].topk(min(len(passing), network.topk_candidates))
    pair = passing[order]
    anchor = torch.div(pair, classes, rounding_mode="floor")
    boxes = _decoded(network, level.deltas[anchor], level.anchors[anchor])
    per_location = len(level.logits) // len(level.tower)
    found = {
        "box": box_ops.clip_boxes_to_image(boxes, size),
        "score": score,
        "label": pair % classes,
        "region": anchor + start,
        "logits": level.logits[anchor],
        "embedding": level.tower[torch.div(anchor, per_location, rounding_mode="floor")],
    }
    if level.centerness is not None:
        found["centerness"] = torch.sigmoid(level.centerness[anchor, 0])
    return found


def _decoded(network: Any, deltas: Tensor, anchors: Tensor) -> Tensor:
    coder = network.box_coder
    decode = coder.decode_single if isinstance(network, RetinaNet) else coder.decode
    boxes: Tensor = decode(deltas, anchors)
    return boxes


def _rescaled(
    network: Any, found: list[BoxTensors], scaled: list[Any], sizes: list[Any]
) -> list[BoxTensors]:
    stock = network.transform.postprocess([{"boxes": b["box"]} for b in found], scaled, sizes)
    return [boxes | {"box": own["boxes"]} for boxes, own in zip(found, stock, strict=True)]
