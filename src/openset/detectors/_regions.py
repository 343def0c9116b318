"""What a detector shows a method in training: regions (two stages), or queries (transformers)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

Shown = Literal["regions", "queries"]
"""What a detector can show a method in training."""

BACKGROUND = -1
NOTHING = -2
METHOD_BOXES = "method_boxes"
"""Boxes among the targets of an image that its method asked for."""


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
        box: ``x1, y1, x2, y2`` in pixels of the network's input, ``[groups, regions, 4]``.
        place: Number among the proposals of its image, best first; taught objects come after all.
        advised: Boxes of the method's advisor in the same pixels, ``[groups, boxes, 4]``; those
            that fill up have no area. None of them without an advisor.
        classify: From embeddings to logits, by the detector's own last layer.
        most: Rows of a group that are on objects at most, by the rule of the sample: a number that
            no device is waited for.
    """

    embedding: Tensor
    logits: Tensor
    label: Tensor
    overlap: Tensor
    objectness: Tensor
    box: Tensor
    place: Tensor
    advised: Tensor
    classify: Callable[[Tensor], Tensor]
    most: int

    def overlaps(self, boxes: Tensor) -> Tensor:
        """Overlap (IoU) of every region with boxes of its group, ``[groups, regions, boxes]``."""
        from openset.detectors._boxes import overlaps

        return overlaps(self.box, boxes)

    def each(self) -> list[Regions]:
        """One group at a time, for losses that cannot be had of all at once."""
        columns = self._asdict()
        return [
            self._replace(**{name: columns[name][at : at + 1] for name in self._fields[:-2]})
            for at in range(len(self.label))
        ]


class Queries(NamedTuple):
    """The queries of a decoder layer on groups of images: a row per group, then one per query.

    What a method may read of `Regions` too has the same name and the same meaning. Queries that
    only help to train (denoising) are not shown.

    Attributes:
        embedding: Input of the last layer, ``[groups, queries, width]``.
        logits: Output of the last layer: the known classes, and "unknown" where the method has that
            column; sigmoids, without a background.
        label: The known class of the object that the layer was matched to, from 0; `BACKGROUND`
            where it was matched to none.
        overlap: Largest overlap (IoU) with a taught object.
        earlier: The same of the decoder layers before, the first layer first; those know no others.
        classify: From embeddings to logits, by the detector's own last layer.
    """

    embedding: Tensor
    logits: Tensor
    label: Tensor
    overlap: Tensor
    earlier: tuple[Queries, ...]
    classify: Callable[[Tensor], Tensor]

    def each(self) -> list[Queries]:
        """One group at a time, for losses that cannot be had of all at once."""
        return [self._at(at) for at in range(len(self.label))]

    def _at(self, at: int) -> Queries:
        held = self._asdict()
        columns = {name: held[name][at : at + 1] for name in self._fields[:4]}
        return self._replace(**columns, earlier=tuple(one._at(at) for one in self.earlier))
