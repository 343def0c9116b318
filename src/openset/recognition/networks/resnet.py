"""ResNet-18 and ResNet-50 for small pictures: a 3 by 3 stem and no pooling before the first stage.

With weights of their own, not ImageNet's; for large pictures or learned weights, use ``timm:``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


class _ResNet(nn.Module):
    """A stem, four stages of residual blocks, and a mean over the picture.

    Args:
        channels: 1 for grey, 3 for colour.
        depths: Blocks of each stage.
        block: The kind of block; it has a `widening`, of output over inner channels.
    """

    def __init__(
        self, channels: int, depths: tuple[int, ...], block: type[_Basic] | type[_Bottleneck]
    ) -> None:
        super().__init__()
        layers = [nn.Conv2d(channels, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        previous = 64
        for (size, stride), depth in zip(_STAGES, depths, strict=True):
            for place in range(depth):
                layers.append(block(previous, size, stride if place == 0 else 1))
                previous = size * block.widening
        self.width = previous
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings of images: (n, channels, height, width) → (n, width)."""
        features: Tensor = self.layers(images)
        return features.mean(dim=(2, 3))


class ResNet18(_ResNet):
    """Four stages of two basic blocks (He et al. 2016), for pictures of about 32 by 32."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, (2, 2, 2, 2), _Basic)


class ResNet50(_ResNet):
    """Stages of 3, 4, 6 and 3 bottlenecks (He et al. 2016), for pictures of about 32 by 32."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, (3, 4, 6, 3), _Bottleneck)


class _Residual(nn.Module):
    """A path of convolutions beside a shortcut."""

    def __init__(self, path: list[nn.Module], channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(*path)
        same = channels == out and stride == 1
        self.shortcut = nn.Identity() if same else nn.Sequential(*_normed(channels, out, 1, stride))

    def forward(self, features: Tensor) -> Tensor:
        return torch.relu(self.path(features) + self.shortcut(features))


class _Basic(_Residual):
    widening = 1

    def __init__(self, channels: int, size: int, stride: int) -> None:
        path = [*_normed(channels, size, 3, stride), nn.ReLU(), *_normed(size, size, 3, 1)]
        super().__init__(path, channels, size, stride)


class _Bottleneck(_Residual):
    widening = 4

    def __init__(self, channels: int, size: int, stride: int) -> None:
        out = size * self.widening
        narrow = [*_normed(channels, size, 1, 1), nn.ReLU(), *_normed(size, size, 3, stride)]
        super().__init__([*narrow, nn.ReLU(), *_normed(size, out, 1, 1)], channels, out, stride)


def _normed(channels: int, size: int, kernel: int, stride: int) -> list[nn.Module]:
    padding = kernel // 2
    convolution = nn.Conv2d(channels, size, kernel, stride, padding=padding, bias=False)
    return [convolution, nn.BatchNorm2d(size)]
