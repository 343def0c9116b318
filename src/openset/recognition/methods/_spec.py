"""What a method is: a module on top of a network's embedding, and what is known about it.

All a method must say is what it makes of an embedding, which is how it also fits the box head of a
detector. One that needs pictures (to make false ones, say) may take part in more.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from openset.findings import UsageError
from openset.options import chosen_options, options_of
from openset.plugins import tag


class Objective(nn.Module):
    """The last layer of a classifier, its openness and its loss."""

    def logits(self, embedding: Tensor) -> Tensor:
        """One number per known class; the largest names the class."""
        raise NotImplementedError

    def openness(self, logits: Tensor) -> Tensor:
        """How unknown a sample looks, larger = more unknown: minus the largest logit."""
        return -logits.amax(dim=1)

    def loss(self, embedding: Tensor, label: Tensor) -> Tensor:
        """What to minimise on a batch of known samples."""
        raise NotImplementedError

    def adapted(self, network: nn.Module, shape: tuple[int, int, int]) -> nn.Module:
        """The network as the method wants it, for pictures of channels, height and width."""
        del shape
        return network

    def losses(self, network: nn.Module, images: Tensor, label: Tensor) -> dict[str, Tensor]:
        """What to minimise on a batch of pictures, by name."""
        embedding = network(images).float()
        # Distances are differences of large numbers: not in half precision.
        with torch.autocast(embedding.device.type, enabled=False):
            return {"loss": self.loss(embedding, label)}


@dataclass(frozen=True, slots=True)
class RecognitionMethod:
    """What is known about a method.

    Attributes:
        name: How it is asked for.
        objective: Its class.
        title: How it is shown.
        paper: Where it was defined.
    """

    name: str
    objective: type[Objective]
    title: str
    paper: str

    @property
    def summary(self) -> str:
        """The first line of the description."""
        return inspect.cleandoc(self.objective.__doc__ or "").partition("\n")[0]

    @property
    def options(self) -> Mapping[str, Any]:
        """Names and defaults of its options."""
        return options_of(self.objective, after=2)

    def build(self, n_classes: int, width: int, **options: Any) -> Objective:
        """The objective for so many known classes and so wide an embedding."""
        what = f"method {self.name!r}"
        given = chosen_options(what, options, self.options, self.objective.__init__)
        if n_classes < 1 or width < 1:
            raise UsageError(f"{n_classes} classes and a width of {width} make no classifier")
        build: Callable[..., Objective] = self.objective
        return build(n_classes, width, **given)


C = TypeVar("C", bound=type[Objective])


def method(name: str, *, title: str, paper: str) -> Callable[[C], C]:
    """Make an objective a method, under a name."""

    def mark(objective: C) -> C:
        return tag("recognition method", RecognitionMethod(name, objective, title, paper))(
            objective
        )

    return mark
