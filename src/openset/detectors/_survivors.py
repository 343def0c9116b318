"""Survivors: the regions that are proposed, and what the filters of a two-stage detector leave.

A CPU goes image by image, as torchvision does, and equals it to the last bit. A GPU would wait for
hundreds of small kernels per image, so there all images of a batch are filtered together; the rules
are the same, and decisions differ where two numbers agree to the last digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torchvision.models.detection.rpn import concat_box_prediction_layers
from torchvision.ops import boxes as box_ops

from openset.detectors._boxes import sent, unsuppressed_by_group
from openset.detectors._step import Step

_SMALLEST = 1e-2  # side of a box that is kept, as in torchvision
Sizes = list[tuple[int, int]]


class Survivors(NamedTuple):
    """Pairs of a region and a class that are left, image after image, the surest first.

    Attributes:
        box: ``x1, y1, x2, y2`` in pixels of the network's input.
        score: How sure the detector is.
        column: Of the logits.
        region: Number of the region in its image.
        row: Number of the region in the batch.
        counts: How many there are on each image.
    """

    box: Tensor
    score: Tensor
    column: Tensor
    region: Tensor
    row: Tensor
    counts: list[int]

    def each(self, values: Tensor) -> list[Tensor]:
        """Some of their values, by image."""
        return list(values.split(self.counts))


def proposed(step: Step, batch: Any, features: Any) -> tuple[list[Tensor], list[Tensor]]:
    """Regions of each image, and how much each looks like an object."""
    maps = list(features.values())
    if batch.tensors.device.type != "cpu":
        return together(step, batch, maps)
    rpn = step.network.rpn
    objectness, deltas = rpn.head(maps)
    anchors = rpn.anchor_generator(batch, maps)
    counts = [level[0].numel() for level in objectness]
    objectness, deltas = concat_box_prediction_layers(objectness, deltas)
    boxes = rpn.box_coder.decode(deltas, anchors).view(len(anchors), -1, 4)
    filtered: tuple[list[Tensor], list[Tensor]] = rpn.filter_proposals(
        boxes, objectness, batch.image_sizes, counts
    )
    return filtered


def together(step: Step, batch: Any, maps: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """`proposed` for all images at once."""
    objectness, deltas = step.flat(maps)
    anchors = step.anchors_of(batch.tensors, maps)
    found = step.proposals(objectness, deltas, anchors, batch.image_sizes)
    counts = found.real.sum(1).tolist()
    boxes = [box[:count] for box, count in zip(found.box, counts, strict=True)]
    sure = found.objectness.sigmoid()
    return boxes, [one[:count] for one, count in zip(sure, counts, strict=True)]


def filtered(
    heads: Any, scores: Tensor, decoded: Tensor, proposals: list[Tensor], sizes: Sizes
) -> Survivors:
    """What is left of all pairs of a region and a class.

    Args:
        heads: Torchvision's heads of regions, with their filters.
        scores: Of every column of every region of the batch; the first column is the background.
        decoded: Boxes of every column, or one for all.
        proposals: The regions of each image.
        sizes: Height and width of each image in pixels of the network's input.
    """
    counts = [len(boxes) for boxes in proposals]
    boxes = decoded.expand(-1, scores.shape[1], 4)
    if scores.device.type != "cpu":
        return at_once(heads, scores, boxes, counts, sizes)
    parts = zip(boxes.split(counts), scores.split(counts), sizes, strict=True)
    each = [_of_image(heads, *part) for part in parts]
    starts = [sum(counts[:at]) for at in range(len(counts))]
    rows = torch.cat([region + start for (*_, region), start in zip(each, starts, strict=True)])
    box, score, column, region = (torch.cat(part) for part in zip(*each, strict=True))
    return Survivors(box, score, column, region, rows, [len(item[0]) for item in each])


def _of_image(
    heads: Any, boxes: Tensor, scores: Tensor, size: tuple[int, int]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What is left of one image's (region, class) pairs after the stock model's filters."""
    boxes = box_ops.clip_boxes_to_image(boxes, size)[:, 1:].reshape(-1, 4)
    count, columns = scores.shape
    device = scores.device
    region = torch.arange(count, device=device).repeat_interleave(columns - 1)
    column = torch.arange(1, columns, device=device).repeat(count)
    scores = scores[:, 1:].reshape(-1)
    index = torch.where(scores > heads.score_thresh)[0]
    index = index[box_ops.remove_small_boxes(boxes[index], min_size=_SMALLEST)]
    best = box_ops.batched_nms(boxes[index], scores[index], column[index], heads.nms_thresh)
    index = index[best[: heads.detections_per_img]]
    return boxes[index], scores[index], column[index], region[index]


def at_once(
    heads: Any, scores: Tensor, boxes: Tensor, counts: list[int], sizes: Sizes
) -> Survivors:
    """`filtered` for all images together; `counts` are regions of each image."""
    many = sent(counts, scores)
    image = torch.arange(len(counts), device=scores.device).repeat_interleave(many)
    high = sent([(float(w), float(h)) * 2 for h, w in sizes], boxes)[image]
    boxes = torch.minimum(boxes.clamp(min=0), high[:, None])
    large = ((boxes[..., 2:] - boxes[..., :2]) >= _SMALLEST).all(-1)
    wanted = (scores > heads.score_thresh) & large
    wanted[:, 0] = False
    row, column = torch.where(wanted)
    order = scores[row, column].argsort(descending=True, stable=True)
    row, column = row[order], column[order]
    if heads.nms_thresh < 1:
        group = image[row] * scores.shape[1] + column
        kept = unsuppressed_by_group(boxes[row, column], group, heads.nms_thresh)
        row, column = row[kept], column[kept]
    order = image[row].argsort(stable=True)  # by image; the surest of each are still first
    row, column = row[order], column[order]
    held = torch.bincount(image[row], minlength=len(counts))
    most = heads.detections_per_img
    if most is not None:
        place = torch.arange(len(row), device=row.device) - (held.cumsum(0) - held)[image[row]]
        row, column = row[place < most], column[place < most]
        held = held.clamp(max=most)
    region = row - (many.cumsum(0) - many)[image[row]]
    return Survivors(boxes[row, column], scores[row, column], column, region, row, held.tolist())
