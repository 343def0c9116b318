"""The loop: batches in, weights out; stopped at any moment, it goes on to the same weights.

Everything random at a step is drawn from a seed made of the recipe's seed, the step and the
process; a checkpoint therefore needs weights, optimiser and step, and nothing else. Bit-equal
repetition is torch's on one kind of machine with the same number of threads and processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from openset.detectors import _weights, find
from openset.detectors._torch import TorchModel, memory_guard
from openset.findings import Finding, InputError, UsageError
from openset.training._average import Average
from openset.training._folder import RunFolder
from openset.training._log import Log, Progress, refuse_diverged
from openset.training._processes import Processes, processes
from openset.training.data import Order, TrainingData, View, Views
from openset.training.recipe import Recipe

__all__ = ["Progress", "State", "Trained", "train"]
_PRECISION = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training has made.

    Attributes:
        model: File of the detector; `openset.detectors.load` reads it.
        folder: Folder of the training.
        seconds: Time that this call took.
        resumed: The step at which it went on; 0 for a new training.
    """

    model: Path
    folder: Path
    seconds: float
    resumed: int = 0


@dataclass(eq=False)
class State:
    """All that changes from step to step."""

    model: TorchModel
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    average: Average | None
    step: int = 0

    def held(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            **_weights.identity(self.model),
            "step": self.step,
            "model": self.model.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "average": None if self.average is None else self.average.state_dict(),
        }

    def restore(self, held: Mapping[str, Any], where: Path) -> None:
        """Go on from a checkpoint."""
        self.model.load_state(held["model"], str(where))
        self.optimizer.load_state_dict(held["optimizer"])
        self.scaler.load_state_dict(held["scaler"])
        if self.average is not None:
            self.average.load_state_dict(held["average"])
        self.step = int(held["step"])


def train(
    recipe: Recipe,
    data: TrainingData,
    folder: str | Path,
    *,
    device: str | None = None,
    weights: str | None = None,
    workers: int = 0,
    checkpoint_every: int = 500,
    log_every: int = 20,
    tensorboard: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train a detector, or go on with a training that was stopped.

    Args:
        recipe: What to train, and how.
        data: What to train on.
        folder: Where to keep the training; one that holds a checkpoint of it is gone on with.
            Every process must see it.
        device: Such as ``cuda:1``; by default a GPU where there is one.
        weights: A local file of weights to start from.
        workers: Processes that decode images; 0 is this one.
        checkpoint_every: Steps between checkpoints.
        log_every: Steps between lines of the log.
        tensorboard: Whether to also write TensorBoard's files.
        progress: Called at every logged step, in the first process.

    Raises:
        InputError: The folder is of another training, the loss is not finite, or memory ran out.
    """
    _refuse_untrainable(recipe, weights)
    start = time.perf_counter()
    place = RunFolder(folder)
    with processes() as among:
        if among.first:
            place.claim(recipe, data)
        state = _prepared(recipe, data, among.device(device), weights)
        held = place.resume(cut_log=among.first)
        if held is not None:
            state.restore(held, place.checkpoint)
        among.wait()
        resumed = state.step
        log = Log(place, recipe, resumed, among.first, tensorboard, progress)
        every = (checkpoint_every, log_every)
        _steps(state, recipe, data, among, place, log, workers, every)
        if among.first:
            _finish(state, place)
        among.wait()
    return Trained(place.model, place.path, time.perf_counter() - start, resumed)


def _refuse_untrainable(recipe: Recipe, weights: str | None) -> None:
    if not find(recipe.detector).trainable:
        raise UsageError(f"detector {recipe.detector!r} cannot be trained")
    options = recipe.options
    fixed = options.get("frozen") or options.get("norm") == "frozen"
    if fixed and not options.get("pretrained") and weights is None:
        raise UsageError(
            "the recipe keeps stages of the backbone as they are, but nothing was learned before: "
            "give options={'pretrained': FILE} (or 'frozen': 0, 'norm': 'batch'), or weights="
        )


def _prepared(recipe: Recipe, data: TrainingData, device: str | None, weights: str | None) -> State:
    torch.manual_seed(recipe.seed)
    built = find(recipe.detector).build(
        data.labels, device=device, weights=weights, **recipe.options
    )
    assert isinstance(built, TorchModel)
    average = Average(built.network, recipe.ema) if recipe.ema else None
    scaled = recipe.precision == "float16"
    scaler = torch.amp.GradScaler(built.device.type, enabled=scaled)
    return State(built, _optimizer(recipe, built), scaler, average)


def _optimizer(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            factor = recipe.backbone_lr if ".backbone." in f".{name}" else 1.0
            decay = recipe.weight_decay if weight.ndim > 1 else 0.0
            groups.setdefault((factor, decay), []).append(weight)
    listed = [
        {"params": weights, "lr": recipe.lr * factor, "weight_decay": decay, "factor": factor}
        for (factor, decay), weights in groups.items()
    ]
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(listed)
    return torch.optim.SGD(listed, lr=recipe.lr, momentum=recipe.momentum)


def _steps(
    state: State,
    recipe: Recipe,
    data: TrainingData,
    among: Processes,
    place: RunFolder,
    log: Log,
    workers: int,
    every: tuple[int, int],
) -> None:
    share = among.share(recipe.batch)
    order = Order(len(data), recipe.batch, recipe.seed, among.rank, among.count)
    model = among.wrapped(state.model, state.model.device)
    model.train()
    for batch in _loaded(Views(data, recipe), order, state.step, recipe.steps, workers):
        torch.manual_seed(_seed(recipe.seed, state.step, among.rank))
        with memory_guard(share):
            losses = _step(state, model, recipe, batch)
        state.step += 1
        last = state.step == recipe.steps
        if last or state.step % every[1] == 0:
            log.add(state.step, losses)
        if among.first and (last or state.step % every[0] == 0):
            refuse_diverged(losses, state.step)
            place.save(state.held())


def _loaded(
    views: Views, order: Order, first: int, last: int, workers: int
) -> Iterator[list[View]]:
    """Batches in order; an image that cannot be decoded ends the training."""
    indexed: Any = views  # by epoch and image, where torch's type expects an integer
    loader: Iterable[Any] = torch.utils.data.DataLoader(
        indexed,
        batch_sampler=order.steps(first, last),
        num_workers=workers,
        collate_fn=_as_list,
    )
    for batch in loader:
        bad = [item for item in batch if isinstance(item, Finding)]
        if bad:
            raise InputError(bad)
        yield batch


def _as_list(batch: list[Any]) -> list[Any]:
    return batch


def _seed(seed: int, step: int, rank: int) -> int:
    return int(np.random.SeedSequence((seed, step, rank)).generate_state(1, np.uint64)[0] >> 1)


def _step(state: State, model: nn.Module, recipe: Recipe, batch: list[View]) -> dict[str, Tensor]:
    device = state.model.device
    factor = recipe.factor(state.step)
    for group in state.optimizer.param_groups:
        group["lr"] = recipe.lr * group["factor"] * factor
    images = [image.to(device, non_blocking=True) for image, _ in batch]
    targets = [{name: v.to(device) for name, v in target.items()} for _, target in batch]
    half = _PRECISION.get(recipe.precision)
    with torch.autocast(device.type, half, enabled=half is not None):
        losses: dict[str, Tensor] = model(images, targets)
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


def _finish(state: State, place: RunFolder) -> None:
    if state.average is not None:
        state.model.network.load_state_dict(state.average.state)
    _weights.write_model(state.model, place.model)
