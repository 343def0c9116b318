"""Two-stage detectors of torchvision, recorded: Faster R-CNN and Mask R-CNN.

The network's own parts run in the network's own order; only the filters that would forget where a
box came from are written out, with the number of its region carried along. Boxes, scores and labels
equal those of the stock model to the last bit. Masks are trained but not recorded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchvision.models.detection import FasterRCNN, MaskRCNN
from torchvision.models.detection.roi_heads import maskrcnn_loss

from openset.detectors._boxes import sent
from openset.detectors._dropout import Sampling, observed
from openset.detectors._found import Filters, Found
from openset.detectors._regions import METHOD_BOXES, Regions
from openset.detectors._scaling import laid, ratios, scaled
from openset.detectors._spec import EvidenceName
from openset.detectors._step import Objects, Pooled, Step, quota_of
from openset.detectors._survivors import Sizes, Survivors, filtered, proposed
from openset.detectors._torch import (
    BoxTensors,
    Target,
    TorchModel,
    averaged,
    averaged_samples,
    linear_head,
    opened,
    pooled,
    tapped,
)
from openset.findings import UsageError
from openset.tables import Head, LogitLayout

SAMPLES = 30  # passes of the evidence, where detections are those of one
OF_PASSES: frozenset[EvidenceName] = frozenset({"logits", "embedding", "objectness", "region"})


class RegionModel(TorchModel):
    """A recorded Faster R-CNN or Mask R-CNN."""

    def __init__(
        self,
        network: FasterRCNN,
        labels: tuple[str, ...],
        device: str | None,
        passes: int = 0,
        observations: bool = False,
        beta: float = 1 / 9,
    ) -> None:
        """A network with labels.

        Args:
            network: Torchvision's.
            labels: The classes.
            device: Where to run.
            passes: With dropout, whose means are detected; 0 is none.
            observations: Whether every pass detects for itself.
            beta: Where the box losses turn from squares to lines.
        """
        if passes < 0:
            raise UsageError(f"passes must be at least 0, not {passes}")
        if observations and not passes:
            raise UsageError(
                "observations are of passes with dropout: passes=30, or another number"
            )
        super().__init__(network, labels, LogitLayout.SOFTMAX_BACKGROUND_FIRST, device)
        self.passes, self.observations = passes, observations
        self.step = Step(self.network, beta)

    @property
    def objects_seen(self) -> int:
        """As many as are sampled at most."""
        return quota_of(self._network.roi_heads.fg_bg_sampler)[1]

    def forward(self, images: list[Tensor], targets: list[Target]) -> dict[str, Tensor]:
        """Losses, with a method's."""
        network = self._network
        if isinstance(network, MaskRCNN):
            targets = [
                {"masks": box_masks(target["boxes"], image.shape[-2:]), **target}
                for image, target in zip(images, targets, strict=True)
            ]
        batch, targets = scaled(network.transform, images, targets)
        objects, method = Objects.of(targets), self.method
        seen = self.step(batch, objects, None if method is None else method.see)
        of_regions, rest = self._own_losses(seen), seen.losses
        if method is not None:
            of_regions, rest = self._with_method(seen, objects, targets)
        if isinstance(network, MaskRCNN):
            of_regions["loss_mask"] = self._mask_loss(seen, targets, batch.image_sizes)
        return of_regions | rest

    def _own_losses(
        self, seen: Pooled, label: Tensor | None = None, boxes: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Of the box head; a method may name regions otherwise, and teach other boxes."""
        own = seen.sampled.label
        label, boxes = own if label is None else label, own if boxes is None else boxes
        return {
            "loss_classifier": self.step.named(seen.logits, label.flatten()),
            "loss_box_reg": self.step.moved(seen.deltas, seen.sampled, boxes),
        }

    def _with_method(
        self, seen: Pooled, objects: Objects, targets: list[Target]
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Losses of the box head, and all others, as the method has them."""
        method, own = self.method, seen.sampled.label
        regions, rest = self._regions(seen, targets), seen.losses
        more = method.guide(regions, self.progress)
        if more is not None:
            rest = {**rest, "loss_objectness": self.step.guided(seen.anchors, objects, more)}
        regions = regions._replace(label=method.relabel(regions, self.progress))
        label = regions.label.view_as(own)
        # Where boxes of the unknown are taught, it is by the object that they overlap at all.
        unknown = (label == method.classes) & (seen.sampled.overlap > 0)
        boxes = torch.where(unknown, label, own) if method.unknown_boxes else own
        added = {f"method_{name}": loss for name, loss in method(regions, self.progress).items()}
        return self._own_losses(seen, label, boxes), rest | added

    def _regions(self, seen: Pooled, targets: list[Target]) -> Regions:
        """What a method is shown, in its groups of images."""
        sampled, groups = seen.sampled, self.groups(len(seen.sampled.label))
        kept = (sampled.label, sampled.overlap, sampled.objectness, sampled.box, sampled.place)
        flat = (one.flatten(0, 1) for one in kept)
        columns = (self._classified(seen.embedding), seen.logits, *flat)
        held: list[Any] = [one.unflatten(0, (groups, -1)) for one in columns]
        advised = [target.get(METHOD_BOXES, sampled.box.new_zeros(0, 4)) for target in targets]
        padded = nn.utils.rnn.pad_sequence(advised, batch_first=True)
        held.append(padded.reshape(groups, -1 if padded.numel() else 0, 4))
        heads = self._network.roi_heads
        most = quota_of(heads.fg_bg_sampler)[1] * (len(sampled.label) // groups)
        held += [heads.box_predictor.cls_score, most]
        return Regions(*held)

    def _mask_loss(self, seen: Pooled, targets: list[Target], sizes: list[Any]) -> Tensor:
        """Of the masks of regions on known objects; image by image, as torchvision has it."""
        heads, known = self._network.roi_heads, len(self.labels)
        taught = [(label >= 0) & (label < known) for label in seen.sampled.label]
        boxes = [box[on] for box, on in zip(seen.sampled.box, taught, strict=True)]
        owners = [owner[on] for owner, on in zip(seen.sampled.object, taught, strict=True)]
        pooled = heads.mask_roi_pool(seen.maps, boxes, sizes)
        logits = heads.mask_predictor(heads.mask_head(pooled))
        masks, labels = [t["masks"] for t in targets], [t["labels"] + 1 for t in targets]
        loss: Tensor = maskrcnn_loss(logits, boxes, masks, labels, owners)
        return loss

    @property
    def _network(self) -> Any:
        return self.network

    def _classified(self, embedding: Tensor) -> Tensor:
        """The columns of embeddings that the classifier reads."""
        width: int = self._network.roi_heads.box_predictor.cls_score.weight.shape[1]
        return embedding[:, :width]

    def take(self, method: nn.Module) -> None:
        """Make a method a part of the network, and its layers those of the head."""
        super().take(method)
        heads = self._network.roi_heads
        heads.box_head, heads.box_predictor = self.method.heads(heads.box_head, heads.box_predictor)
        heads.to(self.device)
        if self.method.unknown:
            self.layout = LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST

    def compile_step(self) -> None:
        """Let torch compile the training step, at the first batch of each shape."""
        self.step = Step(self.network, self.step.beta, compiled=True)

    def head(self) -> Head | None:
        """The classifier of regions, where it is linear."""
        score = self._network.roi_heads.box_predictor.cls_score
        linear = isinstance(score, nn.Linear)
        return linear_head(score.weight, score.bias, self.layout) if linear else None

    def record(self, images: list[Tensor], keep: frozenset[EvidenceName]) -> list[BoxTensors]:
        """The kept boxes of each image with their evidence."""
        network = self._network
        batch = laid(network.transform, images)
        with tapped(network.rpn.head.conv) as maps, tapped(*shortcuts(network)) as stages:
            features = network.backbone(batch.tensors)
            if isinstance(features, Tensor):
                features = OrderedDict([("0", features)])
            proposals, objectness = proposed(self.step, batch, features)
        heads = network.roi_heads
        regions = heads.box_roi_pool(features, proposals, batch.image_sizes)
        whole = heads.box_head(regions)
        logits, deltas = heads.box_predictor(whole)
        embedding = self._classified(whole)
        sampling = Sampling(heads, regions, whole, proposals, batch.image_sizes)
        sizes: Sizes = [(image.shape[-2], image.shape[-1]) for image in images]
        if self.observations:
            return self._of_each_pass(sampling, torch.cat(objectness), sizes)
        if self.passes:
            scores, decoded = sampling.mean(self.passes, self._scores)
        else:
            scores = self._scores(embedding, logits)
            decoded = heads.box_coder.decode(deltas, proposals)
        kept = filtered(heads, scores, decoded, proposals, batch.image_sizes)
        rows, boxes = kept.row, kept.each(kept.box)
        height, width = batch.tensors.shape[-2:]
        columns = {"logits": logits[rows], "embedding": embedding[rows]}
        columns["objectness"] = torch.cat(objectness)[rows]
        if self.layout.has_unknown:
            columns["unknownness"] = scores[rows, -1]
        if self.method is not None:
            columns |= self.method.columns(embedding[rows], logits[rows])
        if "latent" in keep:
            columns["latent"] = averaged(maps, boxes, width)
        if "latent_samples" in keep:
            columns["latent_samples"] = averaged_samples(maps, boxes, width, SAMPLES)
        if "shortcut" in keep:
            columns["shortcut"] = pooled(stages, boxes, height)
        if keep & {"logit_samples", "box_samples"}:
            columns |= self._samples(sampling, kept, sizes)
        return _by_image(_in_pixels(kept, batch.image_sizes, sizes) | columns, kept)

    def found(
        self, images: Sequence[NDArray[np.uint8]], keep: frozenset[EvidenceName]
    ) -> list[Found]:
        """What is found on some RGB images, with the evidence asked for."""
        if not self.observations:
            return super().found(images, keep)
        lacking = keep - OF_PASSES
        if lacking:
            kept = ", ".join(sorted(OF_PASSES))
            raise UsageError(f"observations keep {kept}, not {min(lacking)}")
        each = super().found(images, keep | {"logits"})
        merged = [observed(one, self.labels, self.layout) for one in each]
        return merged if "logits" in keep else [replace(one, logits=None) for one in merged]

    def _of_each_pass(
        self, sampling: Sampling, objectness: Tensor, sizes: Sizes
    ) -> list[BoxTensors]:
        """What every pass finds for itself on each image, one pass after the other."""
        parts: list[list[BoxTensors]] = [[] for _ in sizes]
        heads, proposals, inner = sampling.heads, sampling.proposals, sampling.sizes
        for one in sampling.passes(self.passes):
            scores = self._scores(one.embedding, one.logits)
            kept = filtered(heads, scores, one.box, proposals, inner)
            columns = {"logits": one.logits, "embedding": self._classified(one.embedding)}
            columns["objectness"] = objectness
            held = {name: values[kept.row] for name, values in columns.items()}
            found = _by_image(_in_pixels(kept, inner, sizes) | held, kept)
            for part, boxes in zip(parts, found, strict=True):
                part.append(boxes)
        return [{name: torch.cat([p[name] for p in part]) for name in part[0]} for part in parts]

    def _samples(self, sampling: Sampling, kept: Survivors, sizes: Sizes) -> BoxTensors:
        """What each pass says of the kept boxes: those that were averaged, or some of their own."""
        rows = kept.row
        if not self.passes:
            sampling = sampling.only(rows, kept.each(kept.region))
            rows = torch.arange(len(rows), device=rows.device)
        logits, boxes = sampling.of(rows, kept.column, self.passes or SAMPLES)
        boxes = boxes * _per_row(ratios(sampling.sizes, sizes, boxes), kept)[:, None]
        sides = torch.cat([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], -1)
        return {"logit_samples": logits, "box_samples": sides}

    def attacked(self, image: Tensor, target: Target, boxes: Tensor, step: float) -> Tensor:
        """Shortcuts pooled over boxes of an image that was changed against the detector (SAFE)."""
        with _untouched(self):
            given = image.clone().requires_grad_()
            found = self([given], [target])
            own = [loss for name, loss in found.items() if not name.startswith("method_")]
            (slope,) = torch.autograd.grad(torch.stack(own).sum(), given)
        self.eval()
        with torch.no_grad():
            changed = (image + step * slope.sign()).clamp(0, 1)
            batch = laid(self._network.transform, [changed])
            with tapped(*shortcuts(self._network)) as stages:
                self._network.backbone(batch.tensors)
            # From pixels of the image to those of the network's input.
            (height, width), (own_height, own_width) = batch.image_sizes[0], image.shape[-2:]
            ratio = boxes.new_tensor([width / own_width, height / own_height] * 2)
            return pooled(stages, [boxes * ratio], batch.tensors.shape[-2])

    def unsuppressed(self) -> AbstractContextManager[Filters]:
        """All pairs of a region and a class above the least score."""
        return opened(self._network.roi_heads)

    def _scores(self, embedding: Tensor, logits: Tensor) -> Tensor:
        """How sure the detector is of each column, as its method decides it."""
        if self.method is None:
            return torch.softmax(logits, -1)
        sure: Tensor = self.method.probabilities(self._classified(embedding), logits)
        return sure


@contextmanager
def _untouched(model: RegionModel) -> Iterator[None]:
    """A model in training that learns nothing: norms stay, and a method forgets what it saw."""
    method, network = model.method, model._network
    carries = method is not None
    held = {k: v.clone() for k, v in network.state_dict().items()} if carries else {}
    size = method.group if carries else 1
    model.train()
    network.transform.eval()  # pictures have the size that they have at test time
    for part in model.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.eval()
    try:
        if carries:
            method.group = 1
        yield
    finally:
        if carries:
            method.group = size
            network.load_state_dict(held)


def _by_image(columns: BoxTensors, kept: Survivors) -> list[BoxTensors]:
    """What is told of the kept boxes, image by image."""
    parts = [kept.each(values) for values in columns.values()]
    return [dict(zip(columns, part, strict=True)) for part in zip(*parts, strict=True)]


def _in_pixels(kept: Survivors, inner: Sizes, sizes: Sizes) -> BoxTensors:
    """The kept boxes, in pixels of their images as they were given."""
    box = kept.box * _per_row(ratios(inner, sizes, kept.box), kept)
    return {"box": box, "score": kept.score, "label": kept.column - 1, "region": kept.region}


def _per_row(values: Tensor, kept: Survivors) -> Tensor:
    """A row for each box, of one for each image."""
    return values.repeat_interleave(sent(kept.counts, values), 0)


def shortcuts(network: Any) -> list[nn.Module]:
    """The convolutions that change a residual's size, one per stage; a small backbone's stages."""
    backbone = network.backbone
    if hasattr(backbone, "stages"):
        return list(backbone.stages)
    stages = backbone.body if hasattr(backbone, "body") else dict(backbone.named_children())
    blocks: list[Any] = [stage[0] for stage in stages.values() if isinstance(stage, nn.Sequential)]
    return [block.downsample for block in blocks if getattr(block, "downsample", None) is not None]


def box_masks(boxes: Tensor, size: torch.Size) -> Tensor:
    """Masks that fill their boxes, as the VOC files of Dhamija et al. have them."""
    rows = torch.arange(size[0], device=boxes.device)[None, :, None]
    columns = torch.arange(size[1], device=boxes.device)[None, None, :]
    x1, y1, x2, y2 = (edge[:, None, None] for edge in boxes.round().unbind(1))
    inside = (columns >= x1) & (columns < x2) & (rows >= y1) & (rows < y2)
    return inside.to(torch.uint8)
