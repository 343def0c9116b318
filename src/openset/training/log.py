"""The log of a training: a line per logged step, the caller's progress, TensorBoard's files."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from openset.findings import refuse
from openset.training.folder import RunFolder
from openset.training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is.

    Attributes:
        step: Steps done.
        steps: Steps of all.
        loss: Sum of the losses of the last step.
        losses: The losses of the last step, by name.
        lr: Learning rate of the last step.
        images_per_second: Since this process started or went on.
    """

    step: int
    steps: int
    loss: float
    losses: Mapping[str, float]
    lr: float
    images_per_second: float


class Log:
    """Where the losses of a training go; only the first process writes."""

    def __init__(
        self,
        place: RunFolder,
        recipe: Recipe,
        first: int,
        *,
        writes: bool = True,
        board: bool = False,
        tell: Callable[[Progress], None] | None = None,
    ) -> None:
        self.place, self.recipe, self.first = place, recipe, first
        self.writes, self.tell = writes, tell
        self.start = time.perf_counter()
        self.board = _board(place.path) if board and writes else None

    def add(self, step: int, losses: Mapping[str, Tensor]) -> None:
        """Note a step; refuse losses that are not finite."""
        refuse_diverged(losses, step)
        if not self.writes:
            return
        values = {name: float(loss) for name, loss in losses.items()}
        total, lr = math.fsum(values.values()), self.recipe.lr * self.recipe.factor(step - 1)
        row = {"step": step, "loss": total, "lr": lr, **values}
        with self.place.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if self.board is not None:
            for name, value in row.items():
                self.board.add_scalar(f"train/{name}", value, step)
        if self.tell is not None:
            done = (step - self.first) * self.recipe.batch
            rate = done / max(time.perf_counter() - self.start, 1e-9)
            self.tell(Progress(step, self.recipe.steps, total, values, lr, rate))


def refuse_diverged(losses: Mapping[str, Tensor], step: int) -> None:
    """Refuse losses that are NaN or infinite."""
    bad = [name for name, loss in losses.items() if not torch.isfinite(loss).all()]
    if bad:
        message = f"the loss is not finite at step {step}"
        raise refuse("OS608", message, count=len(bad), example=", ".join(bad))


def _board(folder: Path) -> Any:
    from importlib.util import find_spec

    if find_spec("tensorboard") is None:
        raise refuse("OS601", "TensorBoard's files need tensorboard", example="tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder))
