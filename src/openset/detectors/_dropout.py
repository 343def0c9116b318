"""Dropout sampling: the last layers of a two-stage detector, run many times on the same regions.

Regions are proposed and pooled once, and dropout acts on the inputs of the last hidden layer and of
the last layers. Dhamija et al., The Overlooked Elephant of Object Detection, WACV 2020, average
what the passes say of a region before any box is dropped (`Sampling.mean`). Miller et al., Dropout
Sampling for Robust Object Detection, ICRA 2018, let every pass detect for itself; what overlaps is
one observation, whose entropy says how unknown it is (`observed`).

Masks come from a fixed seed for each image, so that what is found on one does not depend on the
others of its batch. A box head without hidden layers of its own (the last stage of a ResNet, the
towers of OpenDet) has dropout before the last layers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from openset.detectors._boxes import sent
from openset.detectors._found import Found, tabled
from openset.tables import LogitLayout

SHARE = 0.5


class Pass(NamedTuple):
    """What one pass says of every region.

    Attributes:
        embedding: Input of the last layers.
        logits: Of every column.
        box: ``x1, y1, x2, y2`` for every column, or one for all.
    """

    embedding: Tensor
    logits: Tensor
    box: Tensor


class Sampling(NamedTuple):
    """The regions of a batch, ready to be looked at many times.

    Attributes:
        heads: Torchvision's heads of regions.
        pooled: The maps, pooled over each region.
        embedding: Input of the last layers without dropout.
        proposals: Boxes of the regions, by image.
        sizes: Height and width of each image, as the network sees it.
    """

    heads: Any
    pooled: Tensor
    embedding: Tensor
    proposals: list[Tensor]
    sizes: list[tuple[int, int]]

    def passes(self, count: int) -> Iterator[Pass]:
        """So many passes, the same ones every time."""
        head, hidden = self.heads.box_head, hasattr(self.heads.box_head, "fc7")
        first = torch.relu(head.fc6(self.pooled.flatten(1))) if hidden else self.embedding
        chances = [torch.Generator(first.device).manual_seed(0) for _ in self.proposals]
        for _ in range(count):
            last = self._dropped(first, chances)
            if hidden:
                last = self._dropped(torch.relu(head.fc7(last)), chances)
            logits, deltas = self.heads.box_predictor(last)
            yield Pass(last, logits, self._boxes(deltas))

    def _dropped(self, values: Tensor, chances: list[torch.Generator]) -> Tensor:
        width, device = values.shape[1], values.device
        draws = [
            torch.rand((len(boxes), width), generator=chance, device=device)
            for boxes, chance in zip(self.proposals, chances, strict=True)
        ]
        return values * (torch.cat(draws) >= SHARE) / (1 - SHARE)

    def _boxes(self, deltas: Tensor) -> Tensor:
        """Boxes inside of their images."""
        decoded: Tensor = self.heads.box_coder.decode(deltas, self.proposals)
        decoded = decoded.view(-1, deltas.shape[1] // 4, 4)  # of no region, too
        counts = sent([len(boxes) for boxes in self.proposals], decoded).long()
        high = sent([(float(w), float(h)) * 2 for h, w in self.sizes], decoded)
        return torch.minimum(decoded.clamp(min=0), high.repeat_interleave(counts, 0)[:, None])

    def mean(self, count: int, sure: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """How sure the passes are of every column of a region, and its boxes: means of all passes.

        Args:
            count: How many passes.
            sure: From embeddings and logits to probabilities.
        """
        score = box = self.embedding.new_zeros(())
        for one in self.passes(count):
            score = score + sure(one.embedding, one.logits) / count
            box = box + one.box / count
        return score, box

    def of(self, rows: Tensor, column: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Logits and boxes of each pass, of some regions: ``[rows, passes, ...]``.

        Args:
            rows: Numbers of regions in the batch.
            column: The column of the logits whose box is meant.
            count: How many passes.
        """
        logits, boxes = [], []
        for one in self.passes(count):
            logits.append(one.logits[rows])
            boxes.append(one.box[rows, column if one.box.shape[1] > 1 else 0])
        return torch.stack(logits, 1), torch.stack(boxes, 1)

    def only(self, rows: Tensor, regions: list[Tensor]) -> Sampling:
        """Some regions alone.

        Args:
            rows: Their numbers in the batch.
            regions: Their numbers in their image, by image.
        """
        boxes = [mine[at] for mine, at in zip(self.proposals, regions, strict=True)]
        some = self.pooled[rows], self.embedding[rows], boxes
        return Sampling(self.heads, *some, self.sizes)


def observed(found: Found, labels: tuple[str, ...], layout: LogitLayout) -> Found:
    """The observations among what all passes have found on an image.

    Box and score are means, label and evidence those of the surest detection, and the entropy of
    the mean probabilities is the unknownness.
    """
    from openset.scorers.dropout import dropout_observations, merge_observations

    table = tabled([found], [0], labels, layout, {})
    merged = merge_observations(replace(table, unknownness=dropout_observations(table)))
    corners = np.concatenate([merged.box[:, :2], merged.box[:, :2] + merged.box[:, 2:]], axis=1)
    assert merged.unknownness is not None
    return Found(
        corners.astype(np.float32),
        merged.score.astype(np.float32),
        merged.label,
        merged.logits,
        merged.embedding,
        merged.unknownness.astype(np.float32),
        merged.attributes,
    )
