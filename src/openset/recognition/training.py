"""Training: a network and a method on the known samples of a split, small and repeatable.

The recipe of ARPL's code: stochastic gradient descent with momentum, a cosine schedule in place of
its steps. Data rest in memory, on the device. Not the loop that trains detectors, which resumes and
spreads over processes: pictures of a few pixels need neither. Needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from openset.findings import UsageError, refuse
from openset.plugins import lookup
from openset.recognition.data import OpenSplit
from openset.recognition.methods import Objective, table
from openset.recognition.networks import NETWORKS
from openset.recognition.scores import Scores


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train.

    Attributes:
        epochs: Passes over the samples.
        batch: Samples per step.
        rate: Learning rate at the start; it ends at 0.
        momentum: Of the gradient.
        decay: Weight decay.
        shift: Largest shift of a picture in pixels, in each direction, as augmentation.
        seed: Of weights, order, shifts and mixtures.
        device: Where to train.
    """

    epochs: int = 30
    batch: int = 64
    rate: float = 0.1
    momentum: float = 0.9
    decay: float = 1e-4
    shift: int = 1
    seed: int = 0
    device: str = "cpu"


@dataclass(frozen=True, eq=False)
class Classifier:
    """A trained network and the objective on top of it."""

    network: nn.Module
    objective: Objective
    device: str

    def scores(self, split: OpenSplit) -> Scores:
        """What it says of the known and unknown test samples of a split."""
        known = self._answers(split.test.images)
        unknown = self._answers(split.unknown_test.images)
        label = split.test.label.astype(np.int32)
        names = tuple(map(str, split.known))
        return Scores(known[0], label, known[1], unknown[1], unknown[0], names)

    @torch.no_grad()
    def _answers(self, images: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        self.network.eval()
        pixels = _pixels(images, self.device)
        parts = [pixels[at : at + 1024] for at in range(0, len(pixels), 1024)]
        logits = torch.cat([self.objective.logits(self.network(part)) for part in parts])
        named, openness = logits.argmax(dim=1), self.objective.openness(logits)
        return named.cpu().numpy().astype(np.int32), openness.double().cpu().numpy()


def train(
    split: OpenSplit,
    method: str,
    *,
    network: str = "classifier32",
    recipe: Recipe | None = None,
    **options: Any,
) -> Classifier:
    """Train a classifier on the known samples of a split.

    Args:
        split: From `openset.recognition.data.open_split`.
        method: Name of a method; `openset.recognition.methods.table` lists them.
        network: ``classifier32`` or ``resnet18``.
        recipe: How to train.
        **options: Options of the method.
    """
    how = recipe or Recipe()
    chosen, make = (
        lookup(table(), method, "recognition method"),
        lookup(NETWORKS, network, "network"),
    )
    if how.epochs < 1 or how.batch < 2:
        raise UsageError("a recipe needs at least one epoch, and two samples per batch")
    with torch.random.fork_rng():
        torch.manual_seed(how.seed)
        body = make(split.train.images.shape[3]).to(how.device)
        head = chosen.build(len(split.known), int(body.width), **options).to(how.device)  # type: ignore[arg-type]
        _fit(body, head, split, how)
    return Classifier(body, head, how.device)


def _fit(body: nn.Module, head: Objective, split: OpenSplit, how: Recipe) -> None:
    images = _pixels(split.train.images, how.device)
    label = torch.as_tensor(split.train.label, device=how.device)
    per_epoch = max(1, len(label) // how.batch)
    weights = [*body.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(weights, how.rate, how.momentum, weight_decay=how.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, per_epoch * how.epochs)
    for _ in range(how.epochs):
        body.train()
        order = torch.randperm(len(label), device=how.device)
        # The last, smaller batch is left out: batch norm is noisy on few samples.
        for step in range(per_epoch):
            rows = order[step * how.batch : (step + 1) * how.batch]
            loss = head.loss(body(_shifted(images[rows], how.shift)), label[rows])
            if not torch.isfinite(loss):
                raise refuse("OS608", f"the loss is {loss.item()} with a rate of {how.rate}")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def _pixels(images: NDArray[np.uint8], device: str) -> Tensor:
    """Channels first, from -1 to 1."""
    planes = torch.as_tensor(np.ascontiguousarray(images.transpose(0, 3, 1, 2)), device=device)
    return planes.float() / 127.5 - 1


def _shifted(images: Tensor, by: int) -> Tensor:
    """The batch moved by a few pixels, the border repeated."""
    if not by:
        return images
    down, right = (int(x) for x in torch.randint(0, 2 * by + 1, (2,)))
    height, width = images.shape[2:]
    padded = nn.functional.pad(images, (by, by, by, by), mode="replicate")
    return padded[:, :, down : down + height, right : right + width]
