"""A small GAN for confusing samples: pictures from noise, and who tells them from real ones.

Convolutions as in DCGAN (Radford et al. 2016), with as many doublings as the picture's size allows,
so that 8 by 8 pixels work as well as 32 by 32; ARPL's own networks are fixed to 32 and 64.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

NOISE = 100


class Generator(nn.Module):
    """Pictures from noise, from -1 to 1.

    Args:
        shape: Channels, height and width.
        width: Channels of the last hidden layer.
    """

    def __init__(self, shape: tuple[int, int, int], width: int = 32) -> None:
        super().__init__()
        self.shape, doublings = shape, _doublings(shape)
        self.small = tuple(-(-side // 2**doublings) for side in shape[1:])
        self.wide = width * 2**doublings
        self.start = nn.Linear(NOISE, self.wide * self.small[0] * self.small[1])
        layers: list[nn.Module] = [nn.BatchNorm2d(self.wide), nn.ReLU()]
        for step in range(doublings, 0, -1):
            size = width * 2 ** (step - 1)
            layers += [nn.ConvTranspose2d(size * 2, size, 4, 2, 1, bias=False)]
            layers += [nn.BatchNorm2d(size), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, shape[0], 3, padding=1), nn.Tanh())

    def forward(self, noise: Tensor) -> Tensor:
        """So many pictures as there are rows of noise."""
        seed = self.start(noise).view(-1, self.wide, *self.small)
        pictures: Tensor = self.layers(seed)
        return pictures[:, :, : self.shape[1], : self.shape[2]]


class Discriminator(nn.Module):
    """One logit a picture: whether it is real.

    Args:
        shape: Channels, height and width.
        width: Channels of the first hidden layer.
    """

    def __init__(self, shape: tuple[int, int, int], width: int = 32) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        previous = shape[0]
        for step in range(_doublings(shape)):
            layers += [nn.Conv2d(previous, width * 2**step, 4, 2, 1), nn.LeakyReLU(0.2)]
            previous = width * 2**step
        self.layers = nn.Sequential(*layers)
        self.last = nn.Linear(previous, 1)

    def forward(self, pictures: Tensor) -> Tensor:
        """The logit of each picture."""
        features: Tensor = self.layers(pictures)
        logit: Tensor = self.last(features.mean(dim=(2, 3)))
        return logit[:, 0]


def noise_for(images: Tensor) -> Tensor:
    """Noise for as many pictures as there are images."""
    return torch.randn(len(images), NOISE, device=images.device)


def _doublings(shape: tuple[int, int, int]) -> int:
    """How often the picture can be halved down to about 4 pixels; at most three times."""
    return max(1, min(3, (min(shape[1:]) // 4).bit_length() - 1))
