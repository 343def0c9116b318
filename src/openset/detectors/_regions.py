"""Regions: what a two-stage detector shows a method in training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

Shown = Literal["regions"]
"""What a detector can show a method in training."""


class Regions(NamedTuple):
    """The regions that were sampled on some images, one row each, image after image.

    Attributes:
        embedding: Input of the last layer.
        logits: Output of the last layer, background first.
        label: The known class, from 0; -1 is background.
        counts: How many rows each image has.
    """

    embedding: Tensor
    logits: Tensor
    label: Tensor
    counts: tuple[int, ...]

    def groups(self, size: int) -> list[Regions]:
        """The regions of so many images at a time."""
        parts = [self.counts[start : start + size] for start in range(0, len(self.counts), size)]
        rows = [sum(part) for part in parts]
        columns = (column.split(rows) for column in self[:3])
        return [Regions(*part) for part in zip(*columns, parts, strict=True)]
