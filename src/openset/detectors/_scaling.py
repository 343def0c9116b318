"""Scaling: the images of a batch to the input of a torchvision network, and boxes there and back.

Images of one size are normalised and scaled at once, and only then laid on the canvas that all of a
batch share; torchvision goes image by image. The values are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torchvision.models.detection.image_list import ImageList

from openset.detectors._boxes import sent
from openset.detectors._regions import METHOD_BOXES

Target = dict[str, Tensor]
Size = tuple[int, int]
"""Height and width."""


def scaled(
    transform: Any, images: list[Tensor], targets: list[Target]
) -> tuple[ImageList, list[Target]]:
    """A batch as the network wants it, and its objects in its pixels.

    Args:
        transform: Torchvision's.
        images: Float, 0 to 1, channels first.
        targets: ``boxes`` and what else is known of each image, such as boxes that its method asked
            for; masks are scaled one by one, and so are images whose size is drawn.
    """
    drawn = transform.training and len(transform.min_size) > 1
    if drawn or any("masks" in target for target in targets):
        batch, moved = transform(images, targets)
        names: tuple[str, ...] = (METHOD_BOXES,)  # which torchvision does not know
    else:
        batch, moved, names = laid(transform, images), targets, ("boxes", METHOD_BOXES)
    sizes = [(image.shape[-2], image.shape[-1]) for image in images]
    ratio = ratios(sizes, batch.image_sizes, images[0])
    moved = [
        {**target, **{name: target[name] * one for name in names if name in target}}
        for target, one in zip(moved, ratio, strict=True)
    ]
    return batch, moved


def laid(transform: Any, images: Sequence[Tensor]) -> ImageList:
    """Images as the network wants them: normalised, scaled, and on one canvas."""
    alike: dict[Size, list[int]] = {}
    for at, image in enumerate(images):
        alike.setdefault((image.shape[-2], image.shape[-1]), []).append(at)
    groups = [_resized(transform, [images[at] for at in places]) for places in alike.values()]
    sizes: list[Size] = [(0, 0)] * len(images)
    for places, values in zip(alike.values(), groups, strict=True):
        for at in places:
            sizes[at] = (values.shape[-2], values.shape[-1])
    step = transform.size_divisible
    height, width = (-(-max(side) // step) * step for side in zip(*sizes, strict=True))
    if len(groups) == 1:
        values = groups[0]
        more = (0, width - values.shape[-1], 0, height - values.shape[-2])
        return ImageList(functional.pad(values, more), sizes)
    canvas = groups[0].new_zeros(len(images), groups[0].shape[1], height, width)
    for places, values in zip(alike.values(), groups, strict=True):
        canvas[sent(places, values), :, : values.shape[-2], : values.shape[-1]] = values
    return ImageList(canvas, sizes)


def _resized(transform: Any, images: list[Tensor]) -> Tensor:
    """Images of one size, normalised and scaled."""
    stacked = torch.stack(images)
    mean, spread = _statistics(
        tuple(transform.image_mean), tuple(transform.image_std), stacked.device
    )
    values = (stacked - mean) / spread
    before = values.shape[-2:]
    factor = min(transform.min_size[-1] / min(before), transform.max_size / max(before))
    return functional.interpolate(
        values, scale_factor=factor, mode="bilinear", recompute_scale_factor=True
    )


@lru_cache(maxsize=16)
def _statistics(
    mean: tuple[float, ...], spread: tuple[float, ...], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Of pixels; held where they are used, because sending them waits for the device."""
    with torch.inference_mode(mode=False):  # whoever asks next may want slopes
        one, two = (torch.tensor(values, device=device)[:, None, None] for values in (mean, spread))
    return one, two


def ratios(before: Sequence[Size], after: Sequence[Size], like: Tensor) -> Tensor:
    """What boxes are multiplied with when the sizes of their images change: ``[images, 4]``."""
    (high, wide), (new_high, new_wide) = (
        torch.tensor(list(sizes), dtype=torch.float32).unbind(1) for sizes in (before, after)
    )
    rows = torch.stack([new_wide / wide, new_high / high], 1).repeat(1, 2)
    return rows.to(like.device, non_blocking=True)
