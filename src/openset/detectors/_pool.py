"""Pooling of regions from a pyramid: all regions of a batch, sorted by level.

Lin et al., FPN, CVPR 2017. The values are torchvision's to the last bit; the device is waited for
once, where torchvision waits at every level. `aligned` moves the grid by half a cell, as detectron2
does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchvision.ops import MultiScaleRoIAlign, roi_align
from torchvision.ops.poolers import _setup_scales

Sizes = list[tuple[int, int]]


class Pool(MultiScaleRoIAlign):
    """Torchvision's pooling, also of padded regions, and also aligned."""

    def __init__(
        self, levels: list[str], side: int, samples: int, *, aligned: bool = False
    ) -> None:
        super().__init__(levels, side, samples)
        self.aligned = aligned
        self.scales: Any = None
        self.map_levels: Any = None

    def forward(self, maps: dict[str, Tensor], boxes: list[Tensor], sizes: Sizes) -> Tensor:
        """The pooled maps of the boxes of each image."""
        image = torch.cat([torch.full_like(b[:, :1], at) for at, b in enumerate(boxes)])
        pooled, order = self._pooled(maps, torch.cat([image, torch.cat(boxes)], 1), sizes)
        return pooled[order]

    def rows(self, maps: dict[str, Tensor], boxes: Tensor, sizes: Sizes) -> tuple[Tensor, Tensor]:
        """The pooled maps of as many boxes of each image, by level; and the order of the boxes."""
        image = torch.arange(len(boxes), device=boxes.device, dtype=boxes.dtype)
        image = image[:, None, None].expand(-1, boxes.shape[1], 1)
        return self._pooled(maps, torch.cat([image, boxes], 2).flatten(0, 1), sizes)

    def _pooled(
        self, maps: dict[str, Tensor], regions: Tensor, sizes: Sizes
    ) -> tuple[Tensor, Tensor]:
        used = [values for name, values in maps.items() if name in self.featmap_names]
        if self.map_levels is None:
            self.scales, self.map_levels = _setup_scales(
                used, sizes, self.canonical_scale, self.canonical_level
            )
        if len(used) == 1:
            return self._one(used[0], regions, self.scales[0]), torch.arange(len(regions)).to(
                regions.device
            )
        level = self.map_levels([regions[:, 1:]])
        order = torch.argsort(level, stable=True)
        counts = torch.bincount(level, minlength=len(used)).tolist()
        parts = zip(used, regions[order].split(counts), self.scales, strict=True)
        pooled = torch.cat([self._one(*part) for part in parts])
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=order.device)
        return pooled, back

    def _one(self, values: Tensor, regions: Tensor, scale: float) -> Tensor:
        pooled: Tensor = roi_align(
            values, regions, self.output_size, scale, self.sampling_ratio, self.aligned
        )
        return pooled
