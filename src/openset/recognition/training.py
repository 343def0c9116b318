"""Training: a network and a method on the known samples of a split, through the one loop.

The pictures rest on the device, as bytes, and are augmented there; on a GPU convolutions see them
channels last. Optimiser, schedule, precision, running mean of weights, checkpoints and the going on
after a stop are `openset.training.steps`, the same as for detectors. Needs torch.

The networks are small, and so are the steps: Python starts a GPU's work more slowly than the GPU
does it. Two options spare it that. `ahead` augments the pictures of several steps at once, and
`graphed` records network, loss and gradients once, as a CUDA graph, and plays that at every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from openset.evaluation.provenance import digest
from openset.findings import UsageError, refuse
from openset.nets import weights
from openset.nets.device import device_of
from openset.options import is_of
from openset.plugins import lookup
from openset.recognition.augment import Augment, scaled
from openset.recognition.data import OpenSplit
from openset.recognition.methods import Objective, table
from openset.recognition.networks import build_network, standardised
from openset.recognition.recipe import ClassifierRecipe
from openset.recognition.scores import Scores, class_column, same_length
from openset.training.data import Order
from openset.training.folder import RunFolder, about_run
from openset.training.log import Log
from openset.training.recipe import Recipe
from openset.training.steps import Kept, TrainingState, advance, precise, seed_at

__all__ = ["Classifier", "ClassifierRecipe", "train"]
LOG_EVERY = 100
GRAPHS = "cuda"
"""The kind of device that replays recordings."""
Shape = tuple[int, int, int]
"""Channels, height and width of a picture."""


class _Losses(nn.Module):
    """What to minimise on a batch of augmented pictures, by name.

    Args:
        network: The body, and the head on top of it.
        precision: To compute at; by default that of whoever calls.
    """

    def __init__(self, network: nn.Module, precision: str = "") -> None:
        super().__init__()
        self.network, self.precision = network, precision

    def forward(self, pixels: Tensor, label: Tensor) -> dict[str, Tensor]:
        body, head = self.network.get_submodule("body"), self.network.get_submodule("head")
        assert isinstance(head, Objective)
        if not self.precision:
            return head.losses(body, pixels, label)
        with precise(self.precision, pixels.device, cached=False):
            return head.losses(body, pixels, label)


class Learner(nn.Module):
    """A network and the objective on top of it, as the loop trains them."""

    def __init__(
        self, recipe: ClassifierRecipe, labels: tuple[str, ...], shape: Shape, device: str | None
    ) -> None:
        super().__init__()
        self.about: Mapping[str, Any] = {"recipe": asdict(recipe), "shape": list(shape)}
        self.labels = labels
        chosen = lookup(table(), recipe.method, "recognition method")
        body = build_network(recipe.network, max(shape[0], len(recipe.mean)))
        body = standardised(body, recipe.mean, recipe.std)
        head = chosen.build(len(labels), int(body.width), **recipe.options)  # type: ignore[arg-type]
        body = head.adapted(body, shape)
        both = nn.ModuleDict({"body": body, "head": head})
        self.network: nn.Module = both.to(device_of(device))
        self.losses = _Losses(self.network)
        self.augment = Augment(recipe.shift, recipe.flip, recipe.randaugment, recipe.operations)
        if self.device.type == "cuda":
            self.network.to(memory_format=torch.channels_last)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.network.parameters()).device

    @property
    def objective(self) -> Objective:
        """The last layer, its openness and its loss."""
        head = self.network.get_submodule("head")
        assert isinstance(head, Objective)
        return head

    @property
    def body(self) -> nn.Module:
        """What makes the embedding."""
        return self.network.get_submodule("body")

    def load_state(self, state: Mapping[str, Tensor], where: str) -> None:
        """Take weights that were read from a file."""
        weights.load_into(self.network, state, where)

    def forward(self, images: Tensor, label: Tensor) -> dict[str, Tensor]:
        """Losses on some pictures: bytes, channels first, or what `augmented` has made of them."""
        pixels = images if images.is_floating_point() else self.augmented(images)
        losses: dict[str, Tensor] = self.losses(pixels, label)
        return losses

    def augmented(self, images: Tensor) -> Tensor:
        """What the network is taught with."""
        pixels = self.augment(images)
        return pixels.contiguous(memory_format=torch.channels_last) if pixels.is_cuda else pixels

    def record(self, batch: int, precision: str) -> None:
        """Make a CUDA graph of the losses of so many pictures, and of their gradients."""
        if type(self.objective).losses is not Objective.losses or self.device.type != GRAPHS:
            raise UsageError("graphed=True needs a GPU, and a method whose step is one loss")
        self.train()
        before = {name: held.clone() for name, held in self.network.named_buffers()}
        pixels = torch.rand(batch, *self.about["shape"], device=self.device)
        pixels = pixels.contiguous(memory_format=torch.channels_last)
        label = torch.arange(batch, device=self.device) % len(self.labels)
        self.losses = _Losses(self.network, precision)
        torch.cuda.make_graphed_callables(self.losses, (pixels, label), allow_unused_input=True)
        for name, held in self.network.named_buffers():  # it was tried out before it was recorded
            held.copy_(before[name])


@dataclass(frozen=True, eq=False)
class Classifier:
    """A trained network and the objective on top of it."""

    learner: Learner

    def scores(self, split: OpenSplit) -> Scores:
        """What it says of the known and unknown test samples of a split."""
        known, openness = self.answers(split.test.images)
        strange, unknown_openness = self.answers(split.unknown_test.images)
        label = split.test.label.astype(np.int32)
        return Scores(known, label, openness, unknown_openness, strange, self.learner.labels)

    def answers(self, images: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The known class that each picture is named, and its openness."""
        logits = self.logits(images)
        named, openness = logits.argmax(dim=1), self.learner.objective.openness(logits)
        return named.cpu().numpy().astype(np.int32), openness.double().cpu().numpy()

    @torch.no_grad()
    def logits(self, images: NDArray[np.uint8]) -> Tensor:
        """A number for every picture and known class."""
        self.learner.eval()
        held = _resident(images, self.learner.about["shape"], self.learner.device)
        parts = [self.learner.body(scaled(part)) for part in held.split(1024)]
        return self.learner.objective.logits(torch.cat(parts))

    def save(self, path: str | Path) -> None:
        """Write weights, classes and recipe to one file."""
        weights.write_model(self.learner, path)

    @classmethod
    def load(cls, path: str | Path, *, device: str | None = None) -> Classifier:
        """The classifier that `save` has written; nothing is unpickled."""
        held = weights.read(path)
        about = held.get("openset")
        if not isinstance(about, dict) or not {"recipe", "shape", "labels"} <= about.keys():
            raise refuse("OS604", f"{path} holds no classifier", example=", ".join(map(str, held)))
        try:
            recipe, labels, shape = _described(about)
        except (TypeError, ValueError) as error:
            raise refuse("OS604", f"{path} holds no classifier: {error}") from error
        learner = Learner(recipe, labels, shape, device)
        learner.load_state(weights.state_in(held, path), str(path))
        return cls(learner)


def train(
    split: OpenSplit,
    recipe: str | Mapping[str, Any] | ClassifierRecipe,
    *,
    folder: str | Path | None = None,
    device: str | None = None,
    compiled: bool = False,
    graphed: bool = False,
    ahead: int = 1,
    checkpoint_every: int = 2000,
) -> Classifier:
    """Train a classifier on the known samples of a split.

    Args:
        split: From `openset.recognition.data.open_split`.
        recipe: A preset by name, such as ``digits-openauc``, or a recipe.
        folder: Where to keep checkpoints and the log; a training that is there is gone on with.
        device: Such as ``cuda:1``; by default a GPU where there is one.
        compiled: Whether torch compiles the network first, a minute that long trainings earn back.
        graphed: Whether a GPU replays a recording of the step, so that it need not wait for Python.
        ahead: Steps whose pictures are augmented at once. Another number draws other chances.
        checkpoint_every: Steps between checkpoints.

    Raises:
        InputError: Labels and pictures do not belong together, the folder is of another training,
            the loss is not finite, or memory ran out.
    """
    how = ClassifierRecipe.of(recipe)
    if not len(split.train.label):
        raise UsageError(f"split {split.name!r} has no sample to train on")
    plan = how.plan(len(split.train.label))
    labels = tuple(map(str, split.known))
    class_column(split.train.label, len(labels), "label", "training")
    same_length({"labels": split.train.label}, split.train.images, "training")
    _, height, width, channels = split.train.images.shape
    shape = (channels, how.size or height, how.size or width)
    with torch.random.fork_rng():
        torch.manual_seed(how.seed)
        learner = Learner(how, labels, shape, device)
        state = TrainingState.of(plan, learner)
        kept = _claimed(folder, how, split, state, checkpoint_every)
        order = Order(len(split.train.label), how.batch, how.seed)
        batches = _batches(split, order, state, plan, ahead)
        if compiled:
            learner.body.compile()
        if graphed:
            learner.record(how.batch, plan.precision)
        if state.step < plan.steps:
            advance(state, plan, batches, kept=kept)
        state.finish()
    return Classifier(learner)


def _described(about: Mapping[str, Any]) -> tuple[ClassifierRecipe, tuple[str, ...], Shape]:
    """Recipe, labels and shape as a file has them, or an error of any kind that is not theirs."""
    recipe = ClassifierRecipe.of(dict(about["recipe"]))
    lookup(table(), recipe.method, "recognition method")
    labels, shape = about["labels"], about["shape"]
    if not is_of(labels, tuple[str, ...]) or not labels:
        raise TypeError(f"labels are {labels!r}")
    if not is_of(shape, tuple[int, ...]) or len(shape) != 3 or min(shape) < 1:
        raise TypeError(f"shape is {shape!r}")
    return recipe, tuple(labels), (shape[0], shape[1], shape[2])


def _claimed(
    folder: str | Path | None,
    recipe: ClassifierRecipe,
    split: OpenSplit,
    state: TrainingState,
    checkpoint_every: int,
) -> Kept:
    """What the folder of the training keeps, the state moved to where it was when it stopped."""
    if folder is None:
        return Kept(None, None, checkpoint_every, LOG_EVERY)
    place = RunFolder(folder)
    data = digest([split.train.images, split.train.label])
    place.claim(about_run(asdict(recipe), state.model.labels, data), asdict(ClassifierRecipe()))
    held = place.resume(cut_log=True)
    if held is not None:
        state.restore(held, place.checkpoint)
    plan = recipe.plan(len(split.train.label))
    return Kept(place, Log(place, plan, state.step), checkpoint_every, LOG_EVERY)


def _batches(
    split: OpenSplit, order: Order, state: TrainingState, plan: Recipe, ahead: int
) -> Iterator[tuple[Tensor, Tensor]]:
    device = state.model.device
    images = _resident(split.train.images, state.model.about["shape"], device)
    label = torch.as_tensor(split.train.label.astype(np.int64), device=device)
    for first in range(state.step - state.step % ahead, plan.steps, ahead):
        seen = [at for step in range(first, first + ahead) for _, at in order.images(step)]
        rows = torch.tensor(seen, device=device)
        pictures = images[rows]
        if ahead > 1:
            torch.manual_seed(seed_at(plan.seed, first, 1))  # step by step, the loop does it
            pictures = state.model.augmented(pictures)
        parts = zip(pictures.split(plan.batch), label[rows].split(plan.batch), strict=True)
        yield from islice(parts, max(0, state.step - first), None)


def _resident(images: NDArray[np.uint8], shape: Sequence[int], device: torch.device) -> Tensor:
    """All pictures on a device as bytes, channels first, resized where another size is asked."""
    planes = torch.as_tensor(np.ascontiguousarray(images.transpose(0, 3, 1, 2)), device=device)
    size = tuple(shape[1:])
    if planes.shape[2:] == size:
        return planes
    resized = [
        nn.functional.interpolate(part.float(), size, mode="bilinear", antialias=True)
        for part in planes.split(4096)
    ]
    return torch.cat([part.round().clamp(0, 255).to(torch.uint8) for part in resized])
