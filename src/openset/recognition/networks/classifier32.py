"""Classifier32: the small network of open-set recognition papers, nine convolutions."""

from __future__ import annotations

from torch import Tensor, nn

_COLOURS = 3


class Classifier32(nn.Module):
    """Nine 3 by 3 convolutions in three stages, then a mean over the picture (Neal et al. 2018).

    Each stage halves the picture with the stride of its last convolution and begins with dropout
    of whole channels. Grey pictures are seen as three equal channels, as the published code sees
    them: the dropout would blank one picture in five of a single channel, and batch norm would
    learn statistics that no test picture has. For 8 by 8 pixels or more; published for 32 by 32.

    Args:
        channels: 1 for grey, 3 for colour.
    """

    width = 128

    def __init__(self, channels: int) -> None:
        super().__init__()
        stages = ((64, 64, 128), (128, 128, 128), (128, 128, 128))
        layers: list[nn.Module] = []
        previous = max(channels, _COLOURS)
        for stage in stages:
            layers.append(nn.Dropout2d(0.2))
            for place, size in enumerate(stage):
                stride = 2 if place == 2 else 1
                layers += convolution(previous, size, stride)
                previous = size
        self.layers = nn.Sequential(*layers)
        self.apply(_initialise)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings of images: (n, channels, height, width) → (n, 128)."""
        coloured = images.expand(-1, _COLOURS, -1, -1) if images.shape[1] == 1 else images
        features: Tensor = self.layers(coloured)
        return features.mean(dim=(2, 3))


def convolution(channels: int, size: int, stride: int) -> list[nn.Module]:
    """A 3 by 3 convolution, its batch norm and a leaky rectifier."""
    convolution = nn.Conv2d(channels, size, 3, stride, padding=1, bias=False)
    return [convolution, nn.BatchNorm2d(size), nn.LeakyReLU(0.2)]


def _initialise(module: nn.Module) -> None:
    """Convolutions are normal with a deviation of 0.05, scales normal around one, as published."""
    if isinstance(module, nn.Conv2d):
        nn.init.normal_(module.weight, 0.0, 0.05)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)
