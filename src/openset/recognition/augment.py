"""Augmentation of small pictures, on the device that holds them: shifts, flips, RandAugment.

Every picture of a batch is changed on its own. Chances come from torch's generator, which the loop
seeds at every step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from openset.recognition.randaugment import randaugment
from openset.recognition.recipe import Operations


@dataclass(frozen=True, slots=True)
class Augment:
    """What may happen to a picture.

    Attributes:
        shift: Largest shift in pixels, in each direction; the border is repeated.
        flip: Chance of a horizontal flip. None for digits and text.
        randaugment: How many of RandAugment's operations, and their strength from 0 to 30. Nothing
            means none.
        operations: Which of them: those for ``objects``, or those for ``digits``.
    """

    shift: int = 0
    flip: float = 0.0
    randaugment: tuple[int, ...] = ()
    operations: Operations = "objects"

    def __call__(self, images: Tensor) -> Tensor:
        """Pictures as bytes, channels first, to numbers from -1 to 1."""
        if self.randaugment:
            count, strength = self.randaugment
            images = randaugment(images, count, strength, self.operations)
        pixels = scaled(images)
        if self.flip:
            turned = torch.rand(len(pixels), device=pixels.device) < self.flip
            pixels = torch.where(turned[:, None, None, None], pixels.flip(3), pixels)
        return _shifted(pixels, self.shift) if self.shift else pixels


def scaled(images: Tensor) -> Tensor:
    """Bytes to numbers from -1 to 1."""
    return images.float() / 127.5 - 1


def _shifted(pixels: Tensor, by: int) -> Tensor:
    n, channels, height, width = pixels.shape
    padded = nn.functional.pad(pixels, (by, by, by, by), mode="replicate")
    down, right = torch.randint(0, 2 * by + 1, (2, n, 1), device=pixels.device)
    rows = torch.arange(height, device=pixels.device) + down
    columns = torch.arange(width, device=pixels.device) + right
    picture = torch.arange(n, device=pixels.device)[:, None, None, None]
    plane = torch.arange(channels, device=pixels.device)[None, :, None, None]
    return padded[picture, plane, rows[:, None, :, None], columns[:, None, None, :]]
