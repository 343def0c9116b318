"""Augmentation: random flips, zooms and light, on the device that holds the image.

All chances come from one generator of NumPy, so a view is the same on every device but for the last
digits. Nothing is resampled here: a zoom crops the image, or lays it on a larger canvas, and the
detector's own scaling to its input size does the rest (the expansion and cropping of Liu et al.,
SSD, ECCV 2016; the range of scales is the large-scale jitter of Ghiasi et al., CVPR 2021).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from openset.training.recipe import Recipe

View = tuple[Tensor, dict[str, Tensor]]
"""An image, and ``boxes`` and ``labels`` of its objects."""
CANVAS = 114  # the grey around an image that was zoomed out
VISIBLE = 0.3  # share of an object that a crop must leave, or the object is no longer taught


def augmented(
    image: Tensor, boxes: Tensor, labels: Tensor, recipe: Recipe, chance: np.random.Generator
) -> View:
    """An image (bytes, channels first) and its objects, changed by chance.

    Args:
        image: The pixels, on any device.
        boxes: ``x1, y1, x2, y2`` of the objects, on the CPU.
        labels: Their classes.
        recipe: What may be changed, and how much.
        chance: Decides.
    """
    if chance.random() < recipe.flip:
        image, boxes = flipped(image, boxes)
    if recipe.zoom > 1:
        image, boxes, seen = zoomed(image, boxes, recipe.zoom, chance)
        boxes, labels = boxes[seen], labels[seen]
    values = _jittered(image.float() / 255, recipe.jitter, chance)
    return values.contiguous(), {"boxes": boxes, "labels": labels}


def flipped(image: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Left becomes right."""
    x1, y1, x2, y2 = boxes.unbind(1)
    width = image.shape[-1]
    return image.flip(-1), torch.stack([width - x2, y1, width - x1, y2], dim=1)


def zoomed(
    image: Tensor, boxes: Tensor, most: float, chance: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """A random window, smaller or larger than the image by up to a factor; boxes; what is seen."""
    scale = math.exp(chance.uniform(-1, 1) * math.log(most))
    size = [max(1, round(side / scale)) for side in image.shape[-2:]]
    place = chance.random(2)
    slack = [side - new for side, new in zip(image.shape[-2:], size, strict=True)]
    top, left = (round(float(p) * s) for p, s in zip(place, slack, strict=True))
    moved = boxes - torch.tensor([left, top, left, top], dtype=boxes.dtype)
    high = torch.tensor([size[1], size[0]] * 2, dtype=boxes.dtype)
    cut = moved.clamp(min=0).minimum(high)
    seen = _area(cut) > VISIBLE * _area(boxes)
    return _window(image, top, left, size[0], size[1]), cut, seen


def _window(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A window of an image; where it reaches beyond, it is grey."""
    rows, columns = image.shape[-2:]
    if top >= 0 and left >= 0 and top + height <= rows and left + width <= columns:
        return image[:, top : top + height, left : left + width]
    canvas = image.new_full((image.shape[0], height, width), CANVAS)
    canvas[:, -top : rows - top, -left : columns - left] = image
    return canvas


def _area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def _jittered(values: Tensor, strength: float, chance: np.random.Generator) -> Tensor:
    if strength == 0:
        return values
    gain, shift = chance.uniform(-strength, strength, 2).tolist()
    mean = values.mean()
    return ((values - mean) * (1 + gain) + mean + shift / 2).clamp(0, 1)
