"""Classifier8: a small network for pictures of 8 by 8 pixels, ours, so that a CPU trains it."""

from __future__ import annotations

from torch import Tensor, nn

from openset.recognition.networks.classifier32 import convolution


class Classifier8(nn.Module):
    """Six 3 by 3 convolutions in three stages, then a mean over the picture.

    A smaller Classifier32: half its width in the first two stages, two convolutions a stage in
    place of three, no stride in the last, and no dropout. From no paper.

    Args:
        channels: 1 for grey, 3 for colour.
    """

    width = 128

    def __init__(self, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        previous = channels
        for size, stride in ((32, 2), (64, 2), (128, 1)):
            layers += [*convolution(previous, size, 1), *convolution(size, size, stride)]
            previous = size
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings of images: (n, channels, height, width) → (n, 128)."""
        features: Tensor = self.layers(images)
        return features.mean(dim=(2, 3))
