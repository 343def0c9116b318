"""A loss of open-set recognition on the box head of a detector.

An extension: no paper of open-set recognition trains detectors. The objective sees the embeddings
of regions, or queries, that were assigned to a known object; background is left to the detector.
What is detected stays what it was: ``network.method.objective`` has the logits and the openness
that were learned beside it.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from openset.detectors import Queries, Regions
from openset.methods._spec import Method, method
from openset.options import AMOUNT, SHARE
from openset.plugins import lookup
from openset.recognition.methods import table


@method(
    "recognition_loss",
    title="Recognition loss",
    paper="no paper: an extension of those that `openset list recognition` names",
    needs=("regions", "queries"),
)
class RecognitionLoss(Method):
    """A loss of open-set recognition on the embeddings of sampled objects.

    Args:
        classes: Known classes.
        width: Width of the embedding.
        objective: Name of a method of recognition.
        weight: Of its loss; 0 is off.
        start: Share of the training from which on it acts.
        group: Images that the loss acts on.
    """

    ranges: ClassVar = {"weight": AMOUNT, "start": SHARE}

    def __init__(
        self,
        classes: int,
        width: int,
        objective: str = "openauc",
        weight: float = 0.1,
        start: float = 0.0,
        group: int = 2,
    ) -> None:
        super().__init__(classes, width)
        self.objective = lookup(table(), objective, "method of recognition").build(classes, width)
        self.weight, self.start, self.group = weight, start, group

    def losses(self, regions: Regions | Queries, progress: float) -> dict[str, Tensor]:
        """The objective's loss on the objects of each group; 0 where there are none."""
        if not self.weight or progress < self.start:
            return {}
        each = [self._one(group.embedding[0], group.label[0]) for group in regions.each()]
        return {"recognition": self.weight * torch.stack(each)}

    def _one(self, embedding: Tensor, label: Tensor) -> Tensor:
        known = label >= 0
        mine = embedding[known].float()
        # Distances are differences of large numbers: not in half precision.
        with torch.autocast(mine.device.type, enabled=False):
            return self.objective.loss(mine, label[known]) if len(mine) else mine.sum()
