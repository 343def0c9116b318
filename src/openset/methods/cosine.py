"""The cosine head: logits are scaled cosines, and classes and boxes have towers of their own.

The baseline of OpenDet (CosineFasterRCNN in its code): the head without any loss for the unknown.
Not the cosine objective of `openset.recognition`, which trains classifiers.
"""

from __future__ import annotations

import copy
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from openset.methods._spec import Method, method
from openset.options import POSITIVE

_EPSILON = 1e-5  # beside every norm


class CosineLayer(nn.Module):
    """Scaled cosines between embeddings and a direction per column.

    In training, rows are divided by their norm before they are used, outside of the gradient, as in
    the original: the gradient is not projected on the sphere.
    """

    def __init__(self, width: int, columns: int, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(torch.randn(columns, width) * 0.01)

    def forward(self, embedding: Tensor) -> Tensor:
        """The logits."""
        weight: Tensor = self.weight
        if self.training:
            with torch.no_grad():
                weight.copy_(unit(weight))
        else:  # looking changes nothing
            weight = unit(weight)
        return self.scale * functional.linear(unit(embedding), weight)


def unit(rows: Tensor) -> Tensor:
    """Rows divided by their norms."""
    return rows / (rows.norm(dim=-1, keepdim=True) + _EPSILON)


class CosinePredictor(nn.Module):
    """Logits of the first half of an embedding, and one box for all classes of the second."""

    def __init__(self, width: int, columns: int, scale: float) -> None:
        super().__init__()
        self.width = width
        self.cls_score = CosineLayer(width, columns, scale)
        self.bbox_pred = nn.Linear(width, 4)
        nn.init.normal_(self.bbox_pred.weight, std=0.001)
        nn.init.zeros_(self.bbox_pred.bias)

    def forward(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and boxes."""
        named, boxed = embedding[:, : self.width], embedding[:, self.width :]
        return self.cls_score(named), self.bbox_pred(boxed)


class Towers(nn.Module):
    """Two box heads on the same regions, side by side: for classes, and for boxes."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.named, self.boxed = head, copy.deepcopy(head)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                xavier(part)

    def forward(self, regions: Tensor) -> Tensor:
        """Both embeddings."""
        return torch.cat([self.named(regions), self.boxed(regions)], 1)


def xavier(layer: nn.Linear) -> None:
    """Initial weights as those of detectron2's hidden layers."""
    nn.init.kaiming_uniform_(layer.weight, a=1)
    nn.init.zeros_(layer.bias)


@method(
    "cosine",
    title="Cosine head",
    paper="Han et al., Expanding Low-Density Latent Regions for Open-Set Object Detection, "
    "CVPR 2022: the baseline",
)
class Cosine(Method):
    """Logits are scaled cosines; nothing is learned about the unknown.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        scale: Of the cosines.
    """

    ranges: ClassVar = {"scale": POSITIVE}
    group = 1

    def __init__(self, classes: int, width: int, scale: float = 20.0) -> None:
        super().__init__(classes, width)
        self.scale = scale

    def heads(self, head: nn.Module, predictor: nn.Module) -> tuple[nn.Module, nn.Module]:
        """Two towers, cosines, and boxes that know no class."""
        del predictor
        columns = 1 + self.classes + self.unknown
        return Towers(head), CosinePredictor(self.width, columns, self.scale)
