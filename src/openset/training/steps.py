"""Steps: what every training goes through, whatever is trained.

`openset.training.loop` does it with detectors, `openset.recognition.training` with classifiers: a
model that gives losses on a batch, an optimiser with the recipe's rate, a running mean of weights,
checkpoints and a log.

Everything random at a step is drawn from a seed made of the recipe's seed, the step and the
process; a checkpoint therefore needs weights, optimiser and step, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from openset.findings import InputError
from openset.nets import weights
from openset.nets.device import memory_guard, refuse_broken_bfloat16
from openset.nets.processes import Processes
from openset.training._average import Average
from openset.training._diverged import divergence_guard
from openset.training.folder import RunFolder, damaged
from openset.training.log import Log, refuse_diverged
from openset.training.recipe import Recipe

_NORMS = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm)
_PRECISION = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Trainable(Protocol):
    """What can be trained: a module that is called with a batch and gives losses by name.

    Attributes:
        about: What it takes to build the model again, beside weights and labels.
        labels: The classes.
        network: What has the weights.
    """

    about: Mapping[str, Any]
    labels: tuple[str, ...]
    network: nn.Module

    @property
    def device(self) -> torch.device:
        """Where the weights are."""

    def load_state(self, state: Mapping[str, Tensor], where: str) -> None:
        """Take weights that were read from a file."""

    def parameters(self) -> Iterable[nn.Parameter]:
        """All weights."""


@dataclass(eq=False)
class TrainingState:
    """All that changes from step to step."""

    model: Any  # a Trainable, and a torch module: Python has no type for both
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    average: Average | None
    step: int = 0

    @classmethod
    def of(cls, recipe: Recipe, model: Trainable) -> TrainingState:
        """Before the first step."""
        if recipe.precision == "bfloat16" and model.device.type == "cpu":
            refuse_broken_bfloat16()
        average = Average(model.network, recipe.ema) if recipe.ema else None
        scaled = recipe.precision == "float16"
        scaler = torch.amp.GradScaler(model.device.type, enabled=scaled)
        return cls(model, _optimizer(recipe, model), scaler, average)

    def held(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            **weights.identity(self.model),
            "step": self.step,
            "model": self.model.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "average": None if self.average is None else self.average.state_dict(),
        }

    def restore(self, held: Mapping[str, Any], where: Path) -> None:
        """Go on from a checkpoint; refused if it is not whole, or has lost its numbers."""
        try:
            self.model.load_state(held["model"], str(where))
            weights.refuse_not_finite(_moments(held["optimizer"]), where)
            self.optimizer.load_state_dict(held["optimizer"])
            self.scaler.load_state_dict(held["scaler"])
            if self.average is not None:
                weights.refuse_not_finite(held["average"]["state"], where)
                self.average.load_state_dict(held["average"])
            self.step = int(held["step"])
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            message = f"{where} is no whole checkpoint of this training"
            raise damaged(where, message, f"{type(error).__name__}: {error}") from error

    def finish(self) -> None:
        """Give the model the weights that are kept: the running mean, if there is one."""
        if self.average is not None:
            self.model.network.load_state_dict(self.average.state)


def _moments(optimizer: Mapping[str, Any]) -> dict[str, Tensor]:
    """What an optimizer remembers of each weight, by name."""
    return {
        f"{name} of weight {at}": value
        for at, one in optimizer["state"].items()
        for name, value in one.items()
        if isinstance(value, Tensor)
    }


@dataclass(frozen=True, slots=True)
class Kept:
    """What a training keeps on the way.

    Attributes:
        place: Where checkpoints go; None keeps none.
        log: Where losses go; None only refuses those that are not finite.
        checkpoint_every: Steps between checkpoints.
        log_every: Steps between lines of the log.
    """

    place: RunFolder | None
    log: Log | None
    checkpoint_every: int
    log_every: int


def advance(
    state: TrainingState,
    recipe: Recipe,
    batches: Iterable[tuple[Any, ...]],
    *,
    kept: Kept,
    among: Processes = Processes(),  # noqa: B008 - frozen
    stop: Callable[[], bool] | None = None,
) -> None:
    """Train on batches until the recipe's last step.

    Args:
        state: Where the training is; it is moved on.
        recipe: How to train.
        batches: What the model is called with at each step, from the state's on.
        kept: What is kept on the way.
        among: The processes.
        stop: Asked after every step of a single process whether to end here, with a checkpoint.
    """
    share = among.share(recipe.batch)
    # A method may leave some of its weights out of a step.
    model = among.wrapped(state.model, state.model.device, idle=bool(recipe.method))
    model.train()
    for batch in batches:
        torch.manual_seed(seed_at(recipe.seed, state.step, among.rank))
        again = partial(_losses, state, state.model, recipe, batch) if among.count == 1 else None
        with memory_guard(share), divergence_guard(state.model.network, state.step, again):
            losses = _step(state, model, recipe, batch)
        state.step += 1
        last = state.step == recipe.steps or (stop is not None and among.count == 1 and stop())
        # The first is what an untrained network loses: what all others are held against.
        if last or state.step == 1 or state.step % kept.log_every == 0:
            kept.log.add(state.step, losses) if kept.log else refuse_diverged(losses, state.step)
        if kept.place and among.first and (last or state.step % kept.checkpoint_every == 0):
            refuse_diverged(losses, state.step)
            kept.place.save(state.held())
        if last:
            return


def seed_at(seed: int, step: int, rank: int) -> int:
    """What all chances of a step are drawn from."""
    return int(np.random.SeedSequence((seed, step, rank)).generate_state(1, np.uint64)[0] >> 1)


def wants_gpu(precision: str, device: torch.device) -> bool:
    """Whether a precision is a GPU's: a CPU has no arithmetic in float16, and is slow without."""
    return precision == "float16" and device.type == "cpu"


def precise(precision: str, device: torch.device, *, cached: bool = True) -> torch.autocast:
    """Where a network computes at a recipe's precision; `cached` if weights are cast once."""
    half = None if wants_gpu(precision, device) else _PRECISION.get(precision)
    return torch.autocast(device.type, half, enabled=half is not None, cache_enabled=cached)


def _step(
    state: TrainingState, model: nn.Module, recipe: Recipe, batch: tuple[Any, ...]
) -> dict[str, Tensor]:
    factor = recipe.factor(state.step)
    for group in state.optimizer.param_groups:
        group["lr"] = recipe.lr * group["factor"] * factor
    losses = _losses(state, model, recipe, batch)
    total = torch.stack([loss.float() for loss in losses.values()]).sum()
    state.optimizer.zero_grad(set_to_none=True)
    state.scaler.scale(total).backward()
    if recipe.clip:
        state.scaler.unscale_(state.optimizer)
        nn.utils.clip_grad_norm_(state.model.parameters(), recipe.clip)
    state.scaler.step(state.optimizer)
    state.scaler.update()
    if state.average is not None:
        state.average.update(state.model.network)
    return {name: loss.detach() for name, loss in losses.items()}


def _losses(
    state: TrainingState, model: nn.Module, recipe: Recipe, batch: tuple[Any, ...]
) -> dict[str, Tensor]:
    with precise(recipe.precision, state.model.device):
        losses: dict[str, Tensor] = model(*batch)
        return losses


def _optimizer(recipe: Recipe, model: Any) -> torch.optim.Optimizer:
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    norms = [part for part in model.modules() if isinstance(part, _NORMS)]
    normed = {id(weight) for part in norms for weight in part.parameters()}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            factor = recipe.backbone_lr if ".backbone." in f".{name}" else 1.0
            decayed = weight.ndim > 1 or (recipe.decay_bias and id(weight) not in normed)
            decay = recipe.weight_decay if decayed else 0.0
            groups.setdefault((factor, decay), []).append(weight)
    listed = [
        {"params": weights, "lr": recipe.lr * factor, "weight_decay": decay, "factor": factor}
        for (factor, decay), weights in groups.items()
    ]
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(listed)
    # Not fused: weights that a method leaves out of its first steps have no momentum yet.
    return torch.optim.SGD(listed, lr=recipe.lr, momentum=recipe.momentum)
