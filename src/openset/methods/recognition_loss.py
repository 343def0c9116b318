"""A loss of open-set recognition on the box head of a detector.

An extension: no paper of open-set recognition trains detectors. The objective sees the embeddings
of regions, or queries, that were assigned to a known object; background is left to the detector.
What is detected stays what it was: ``network.method.objective`` has the logits and the openness
that were learned beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from openset.detectors import Queries, Regions
from openset.findings import Finding
from openset.methods._spec import Method, method, teaches_nothing
from openset.options import AMOUNT, SHARE
from openset.plugins import lookup
from openset.recognition.methods import table

_PROBES = 8


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
        self.name = objective
        self.weight, self.start, self.group = weight, start, group

    def losses(self, regions: Regions | Queries, progress: float) -> dict[str, Tensor]:
        """The objective's loss on the objects of each group; 0 where there are none."""
        if not self.weight or progress < self.start:
            return {}
        each = [self._one(group.embedding[0], group.label[0]) for group in regions.each()]
        return {"recognition": self.weight * torch.stack(each)}

    def foresee(self, labels: Sequence[str], regions: Sequence[float]) -> list[Finding]:
        """That the objective has no slope with a single class, as any cross-entropy."""
        del regions
        if self.classes > 1 or not self.weight or self.start >= 1 or self._slopes():
            return []
        return [teaches_nothing(f"recognition_loss ({self.name})", labels[0])]

    def _slopes(self) -> bool:
        """Whether the loss of some embeddings of the first class changes with them."""
        device = next((weight.device for weight in self.parameters()), None)
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            rows = torch.randn(_PROBES, self.width).to(device).requires_grad_()
            loss = self.objective.loss(rows, torch.zeros_like(rows[:, 0], dtype=torch.long))
            (slope,) = torch.autograd.grad(loss, rows, allow_unused=True)
        return slope is not None and bool(slope.any())

    def _one(self, embedding: Tensor, label: Tensor) -> Tensor:
        known = label >= 0
        mine = embedding[known].float()
        # Distances are differences of large numbers: not in half precision.
        with torch.autocast(mine.device.type, enabled=False):
            return self.objective.loss(mine, label[known]) if len(mine) else mine.sum()
