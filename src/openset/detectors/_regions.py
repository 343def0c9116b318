"""Regions: what a two-stage detector shows a method in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

Shown = Literal["regions"]
"""What a detector can show a method in training."""

BACKGROUND = -1
NOTHING = -2


class Proposals(NamedTuple):
    """What a region proposal network found on the images of a batch, best first.

    Attributes:
        box: ``x1, y1, x2, y2`` in pixels of the network's input, ``[images, proposals, 4]``.
        objectness: How much each looks like an object, as a logit.
        real: Which are proposals; the others fill up.
    """

    box: Tensor
    objectness: Tensor
    real: Tensor


class Regions(NamedTuple):
    """The regions that were sampled on groups of images: a row per group, then one per region.

    Attributes:
        embedding: Input of the last layer, ``[groups, regions, width]``.
        logits: Output of the last layer: background, the known classes, and "unknown" where the
            method has that column.
        label: The known class, from 0; `BACKGROUND`; `NOTHING` where an image had fewer regions:
            such a row takes part in nothing.
        overlap: Largest overlap (IoU) with a taught object.
        objectness: The proposal's logit; infinite for the taught objects themselves.
        classify: From embeddings to logits, by the detector's own last layer.
    """

    embedding: Tensor
    logits: Tensor
    label: Tensor
    overlap: Tensor
    objectness: Tensor
    classify: Callable[[Tensor], Tensor]

    def each(self) -> list[Regions]:
        """One group at a time, for losses that cannot be had of all at once."""
        columns = self._asdict()
        return [
            self._replace(**{name: columns[name][at : at + 1] for name in self._fields[:-1]})
            for at in range(len(self.label))
        ]
