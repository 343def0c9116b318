"""ResNet-18 for small pictures: a 3 by 3 stem and no pooling before the first stage."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ResNet18(nn.Module):
    """Four stages of two residual blocks (He et al. 2016), for pictures of about 32 by 32.

    Args:
        channels: 1 for grey, 3 for colour.
    """

    width = 512

    def __init__(self, channels: int) -> None:
        super().__init__()
        stem = [nn.Conv2d(channels, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        blocks, previous = [], 64
        for size, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            blocks += [_Block(previous, size, stride), _Block(size, size, 1)]
            previous = size
        self.layers = nn.Sequential(*stem, *blocks)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings of images: (n, channels, height, width) → (n, 512)."""
        features: Tensor = self.layers(images)
        return features.mean(dim=(2, 3))


class _Block(nn.Module):
    def __init__(self, channels: int, size: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(channels, size, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(size),
            nn.ReLU(),
            nn.Conv2d(size, size, 3, padding=1, bias=False),
            nn.BatchNorm2d(size),
        )
        same = channels == size and stride == 1
        self.shortcut = nn.Identity() if same else _projection(channels, size, stride)

    def forward(self, features: Tensor) -> Tensor:
        return torch.relu(self.path(features) + self.shortcut(features))


def _projection(channels: int, size: int, stride: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(channels, size, 1, stride, bias=False), nn.BatchNorm2d(size))
