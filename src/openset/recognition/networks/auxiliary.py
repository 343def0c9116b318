"""Auxiliary batch norm: statistics of their own for false pictures (Xie et al. 2020; ARPL+CS).

What a generator makes has another distribution than pictures; in one batch norm they would blur the
statistics that the test uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn


class TwoBatchNorms(nn.Module):
    """A batch norm, and another for false pictures.

    Args:
        main: The one that the network had.
    """

    def __init__(self, main: nn.BatchNorm2d) -> None:
        super().__init__()
        self.main = main
        self.aside = nn.BatchNorm2d(main.num_features)
        self.false = False

    def forward(self, features: Tensor) -> Tensor:
        """Normalised by the one or the other."""
        out: Tensor = (self.aside if self.false else self.main)(features)
        return out


def doubled(network: nn.Module) -> nn.Module:
    """The network, every batch norm in it with a twin."""
    for name, child in network.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(network, name, TwoBatchNorms(child))
        else:
            doubled(child)
    return network


@contextmanager
def false_pictures(network: nn.Module) -> Iterator[None]:
    """While it lasts, the twins normalise."""
    twins = [module for module in network.modules() if isinstance(module, TwoBatchNorms)]
    for twin in twins:
        twin.false = True
    try:
        yield
    finally:
        for twin in twins:
            twin.false = False
