"""Standardised: a network that sees pixels on the scale of a paper, whatever scale others see.

Augmentation and generators speak of pixels from -1 to 1; published networks see them from 0 to 1,
or less a mean and divided by a deviation. It is no matter of taste where dropout blanks whole
channels, as in `Classifier32`: on a scale from 0 to 1 a blank channel is black, as the background
of a digit is; on others it is grey, and batch norm learns statistics that no test picture has.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Standardised(nn.Module):
    """A network, and the scale of its pixels.

    Args:
        network: The network.
        mean: What is subtracted from pixels between 0 and 1, of each channel or of all.
        std: What they are divided by then.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, network: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.network = network
        self.width = network.width
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(values).view(1, -1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings of pictures from -1 to 1; grey ones become as many channels as means."""
        embedding: Tensor = self.network(((images + 1) / 2 - self.mean) / self.std)
        return embedding


def standardised(network: nn.Module, mean: Sequence[float], std: Sequence[float]) -> nn.Module:
    """The network on this scale; itself where that goes from -1 to 1.

    >>> from openset.recognition.networks import build_network
    >>> network = standardised(build_network("classifier32", 1), mean=[0], std=[1])
    >>> network(torch.full((2, 1, 8, 8), -1.0)).shape
    torch.Size([2, 128])
    """
    if tuple(mean) == tuple(std) == (0.5,):
        return network
    return Standardised(network, mean, std)
