"""Scaling: images of a batch to the input of a torchvision network, together where they can be.

Images of one size that have one size to go to are normalised, scaled and padded at once; all others
go through torchvision's own transform, image by image. The values are the same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torchvision.models.detection.image_list import ImageList

from openset.detectors._boxes import sent

Target = dict[str, Tensor]


def scaled(
    transform: Any, images: list[Tensor], targets: list[Target]
) -> tuple[ImageList, list[Target]]:
    """A batch as the network wants it, and its objects in its pixels.

    Args:
        transform: Torchvision's.
        images: Float, 0 to 1, channels first.
        targets: ``boxes`` and what else is known of each image, such as the boxes that were
            ``advised``; masks are scaled one by one.
    """
    batch, moved = _scaled(transform, images, targets)
    if "advised" not in targets[0]:
        return batch, moved
    ratios = [
        (new[1] / image.shape[-1], new[0] / image.shape[-2]) * 2
        for image, new in zip(images, batch.image_sizes, strict=True)
    ]
    return batch, [
        {**target, "advised": target["advised"] * sent([*ratio], target["advised"])}
        for target, ratio in zip(moved, ratios, strict=True)
    ]


def _scaled(
    transform: Any, images: list[Tensor], targets: list[Target]
) -> tuple[ImageList, list[Target]]:
    alike = len({image.shape for image in images}) == 1 and len(transform.min_size) == 1
    if not alike or any("masks" in target for target in targets):
        batch, moved = transform(images, targets)
        return batch, moved
    values = transform.normalize(torch.stack(images))
    before = values.shape[-2:]
    factor = min(transform.min_size[0] / min(before), transform.max_size / max(before))
    if factor != 1:
        values = functional.interpolate(
            values, scale_factor=factor, mode="bilinear", recompute_scale_factor=True
        )
    size = values.shape[-2:]
    ratio = [new / old for new, old in zip(size, before, strict=True)]
    if ratio != [1.0, 1.0]:
        scale = sent([ratio[1], ratio[0]] * 2, values)
        targets = [{**target, "boxes": target["boxes"] * scale} for target in targets]
    step = transform.size_divisible
    below, right = (-side % step for side in size)
    return ImageList(
        functional.pad(values, (0, right, 0, below)), [tuple(size)] * len(images)
    ), targets
