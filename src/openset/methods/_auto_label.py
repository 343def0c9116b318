"""A column "unknown" on a detector's own head, taught by regions that no known object explains.

Joseph et al., Towards Open World Object Detection, CVPR 2021: of the sampled regions on no object,
those that look most like one are taught as unknown. ORE and PAD rest on it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from openset.detectors import BACKGROUND, NOTHING, Regions
from openset.methods._spec import Method


class AutoLabel(Method):
    """Teaches the column "unknown" by the `top` most object-like regions of each image.

    With `top` 0 there is no such column: the detector is the one it would be without the method.
    """

    group, unknown, top = 1, True, 1

    def heads(self, head: nn.Module, predictor: nn.Module) -> tuple[nn.Module, nn.Module]:
        """The detector's own, with a column and a box for the unknown."""
        if self.unknown:
            layers: Any = predictor
            layers.cls_score = _widened(layers.cls_score, 1, 0.01)
            layers.bbox_pred = _widened(layers.bbox_pred, 4, 0.001)
        return head, predictor

    def relabel(self, regions: Regions, progress: float) -> Tensor:
        """Labels, some of the background unknown."""
        del progress
        return self.named(regions, best(self.likely(regions), self.top))

    def likely(self, regions: Regions) -> Tensor:
        """How much those that may be unknown look like an object; others do not at all."""
        return regions.objectness.masked_fill(regions.label != BACKGROUND, -torch.inf)

    def named(self, regions: Regions, unknown: Tensor) -> Tensor:
        """Labels, with some regions unknown; what fills up stays as it is."""
        return torch.where(unknown & (regions.label != NOTHING), self.classes, regions.label)


def best(value: Tensor, most: int) -> Tensor:
    """Which of each row have its largest finite values."""
    top, at = value.topk(min(most, value.shape[1]), dim=1)
    return torch.zeros_like(value, dtype=torch.bool).scatter(1, at, top.isfinite())


def _widened(layer: nn.Linear, rows: int, deviation: float) -> nn.Linear:
    """A layer with more rows, whose chance is their own: the others start as they would."""
    with torch.random.fork_rng(devices=[]):
        wide = nn.Linear(layer.in_features, layer.out_features + rows)
        nn.init.normal_(wide.weight, std=deviation)
        nn.init.zeros_(wide.bias)
    with torch.no_grad():
        wide.weight[: layer.out_features] = layer.weight.cpu()
        wide.bias[: layer.out_features] = layer.bias.cpu()
    return wide.to(layer.weight.device)
