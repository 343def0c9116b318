"""The loop: images in, a detector out; stopped at any moment, it goes on to the same weights.

The steps themselves are those of any training (`openset.training.steps`). Bit-equal repetition is
torch's on one kind of machine with the same number of threads and processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from openset.detectors import TorchModel, carry, find, grow, of_other_classes, refuse_other_method
from openset.files import alone
from openset.findings import Finding, InputError, Level, UsageError
from openset.nets import weights as model_files
from openset.nets.pictures import fingerprints, prints
from openset.nets.processes import own_device, processes
from openset.training._diverged import exploded
from openset.training.advice import advised
from openset.training.data import Order, TrainingData, Views, resident
from openset.training.folder import RunFolder, about_run
from openset.training.log import Log, Progress
from openset.training.recipe import Recipe
from openset.training.steps import Kept, TrainingState, advance, wants_gpu

__all__ = ["Progress", "Trained", "TrainingState", "rehearse", "train"]
_REGIONS = (
    3  # on an object, itself among them: 1.5 in the first 20 steps of digits-small, 2.9 in 90
)
_MEND = "replace the file, or take the image out of the ground truth"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training has made.

    Attributes:
        model: File of the detector; `openset.detectors.load` reads it.
        folder: Folder of the training.
        seconds: Time that this call took.
        resumed: The step at which it went on; 0 for a new training.
        step: The step at which it ended; there is no model before the recipe's last.
        data: What it was taught, as its method wanted it.
        findings: What is to be known of its pictures, and what its method says once it is done.
    """

    model: Path
    folder: Path
    seconds: float
    resumed: int
    step: int
    data: TrainingData
    findings: tuple[Finding, ...] = ()


def train(
    recipe: Recipe,
    data: TrainingData,
    folder: str | Path,
    *,
    device: str | None = None,
    weights: str | None = None,
    start: str | Path | None = None,
    workers: int = 0,
    hold: bool = False,
    compile: bool = False,
    checkpoint_every: int = 500,
    log_every: int = 20,
    tensorboard: bool = False,
    progress: Callable[[Progress], None] | None = None,
    report: Callable[[Finding], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Trained:
    """Train a detector, or go on with a training that was stopped.

    Args:
        recipe: What to train, and how.
        data: What to train on.
        folder: Where to keep the training; one that holds a checkpoint of it is gone on with.
            Every process must see it.
        device: Such as ``cuda:1``; by default a GPU where there is one.
        weights: A local file of weights to start from.
        start: Or a trained model whose classes are the first of these: the others are new.
        workers: Processes that decode images; 0 is this one.
        hold: Decode every image once and hold it on the device, where it is augmented too; for data
            that fits. `workers` then has nothing to do.
        compile: Let torch compile the step: about a minute at the start, then faster on a GPU. It
            draws other regions of the same distribution.
        checkpoint_every: Steps between checkpoints.
        log_every: Steps between lines of the log.
        tensorboard: Whether to also write TensorBoard's files.
        progress: Called at every logged step, in the first process.
        report: Called before the first step with what the method foresees, in the first process.
        stop: Asked after every step of a single process whether to end here, with a checkpoint.

    Raises:
        InputError: The folder is of another training, the loss is not finite, or memory ran out.
    """
    _refuse_untrainable(recipe, started=bool(weights or start))
    began = time.perf_counter()
    place = RunFolder(folder)
    with processes() as among, ExitStack() as held_open:
        # Before the folder is claimed: a recipe that cannot be trained must not keep it.
        state, foreign = _prepared(recipe, data, own_device(device), weights, start)
        _refuse_parted(state.model, among.share(recipe.batch))
        data = _wanted(state.model, data)
        if compile:
            state.model.compile_step()
        if among.first:
            if report is not None:
                at_start = [] if weights or start else _absent(data)
                foreseen = [*_computed(state.model, recipe), *_foreseen(state.model, recipe, data)]
                for finding in (*foreign, *at_start, *foreseen):
                    report(finding)
            held_open.enter_context(alone(place.path))
            place.claim(_about(recipe, data, start, weights), asdict(Recipe()))
        held = place.resume(cut_log=among.first)
        if held is not None:
            state.restore(held, place.checkpoint)
        among.wait()
        resumed = state.step
        log = Log(place, recipe, resumed, writes=among.first, board=tensorboard, tell=progress)
        kept = Kept(place, log, checkpoint_every, log_every)
        holding = hold and resumed < recipe.steps  # what is done sees no image any more
        views = Views(data, recipe, resident(data, state.model.device) if holding else None)
        order = Order(len(views), recipe.batch, recipe.seed, among.rank, among.count)
        batches = _loaded(views, order, state, recipe.steps, 0 if hold else workers)
        advance(state, recipe, batches, kept=kept, among=among, stop=stop)
        if among.first and state.step == recipe.steps:
            state.model.pictures = _pictures(data, start)
            _finish(state, place, resumed)
        said = (*data.resized(), *_said(state, recipe, place))
        if among.first and state.step == recipe.steps:
            place.note(said)
        among.wait()
    seconds = time.perf_counter() - began
    return Trained(place.model, place.path, seconds, resumed, state.step, data, said)


def rehearse(recipe: Recipe, data: TrainingData, *, started: bool = False) -> None:
    """Refuse what `train` would refuse before its first step; nothing is written.

    Args:
        recipe: What to train, and how.
        data: What to train on.
        started: Whether there will be weights to start from.
    """
    _refuse_untrainable(recipe, started=started)
    with processes() as among:
        state, _ = _prepared(recipe, data, "cpu", None, None)
        _refuse_parted(state.model, among.share(recipe.batch))
        _wanted(state.model, data)


def _computed(model: TorchModel, recipe: Recipe) -> list[Finding]:
    """That numbers are more precise than the recipe says, where they are."""
    if not wants_gpu(recipe.precision, model.device):
        return []
    said = f"the recipe computes in {recipe.precision}, and this device is a CPU: float32 it is"
    return [Finding("OS643", Level.WARNING, said, 1, f"precision is {recipe.precision!r}")]


def _absent(data: TrainingData) -> list[Finding]:
    """That classes are to be taught of which there is no object."""
    there = set(np.concatenate([*data.classes, np.arange(0)]).tolist())
    absent = [label for at, label in enumerate(data.labels) if at not in there]
    if not absent:
        return []
    said = f"{len(absent)} of {len(data.labels)} classes to teach are on no image of the training"
    return [Finding("OS641", Level.WARNING, said, len(absent), absent[0])]


def _foreseen(model: TorchModel, recipe: Recipe, data: TrainingData) -> list[Finding]:
    """What the method says before the first step, from how often each class will be seen."""
    if model.method is None:
        return []
    times, count = recipe.steps * recipe.batch / len(data), len(data.labels)
    objects = np.bincount(np.concatenate([*data.classes, np.arange(0)]), minlength=count)[:count]
    images = np.zeros(count)
    for classes in data.classes:
        images[np.unique(classes[classes < count])] += 1  # one that an oracle adds has no name
    regions = objects.astype(float)
    if model.objects_seen is not None:
        regions = np.minimum(_REGIONS * objects, model.objects_seen * images)
    found: list[Finding] = model.method.foresee(data.labels, (times * regions).tolist())
    return found


def _said(state: TrainingState, recipe: Recipe, place: RunFolder) -> tuple[Finding, ...]:
    """What a training says once it is done."""
    if state.step < recipe.steps:
        return ()
    method, lost = state.model.method, exploded(place.logged())
    of_method = () if method is None else tuple(method.findings(state.model.labels))
    return of_method if lost is None else (lost, *of_method)


def _about(
    recipe: Recipe, data: TrainingData, start: str | Path | None, weights: str | None
) -> dict[str, Any]:
    objects = sum(map(len, data.boxes))
    more = {"images": len(data), "objects": objects, "left_out": data.left_out}
    more |= {"pictures": fingerprints(data.files.path)}
    more |= {"weights": "" if weights is None else _hash_of(weights)}
    before = "" if start is None else model_files.fingerprint(start)
    return about_run(asdict(recipe), data.labels, data.fingerprint(), before, **more)


def _hash_of(weights: str) -> str:
    return model_files.fingerprint_of((), model_files.read_state(weights))


def _pictures(data: TrainingData, start: str | Path | None) -> NDArray[np.int64]:
    """Hashes of all pictures that the weights were taught, by an earlier training too."""
    before = None if start is None else model_files.pictures_in(model_files.read_model(start)[0])
    now = prints(data.files.path)
    return np.unique(now if before is None else np.concatenate([before, now]))


def _refuse_untrainable(recipe: Recipe, *, started: bool) -> None:
    if not find(recipe.detector).trainable:
        raise UsageError(f"detector {recipe.detector!r} cannot be trained")
    options = {**find(recipe.detector).options, **recipe.options}
    if not _keeps_stages(options) or options["pretrained"] or started:
        return
    instead = " (or frozen=0 and norm=batch)" if "frozen" in options else ""
    raise UsageError(
        "the recipe keeps stages of the backbone as they are, but nothing was learned before: "
        f"give the option pretrained{instead}, or weights="
    )


def _keeps_stages(options: Mapping[str, Any]) -> bool:
    """Whether a part of the backbone is not trained, and must have learned something before."""
    if "frozen" in options:
        return bool(options["frozen"]) or options["norm"] == "frozen"
    # Transformers keeps the first stages of a ResNet as they are, and all of its norms.
    whole = options.get("folder") or options.get("size") == "small"
    return "pretrained" in options and not whole


def _prepared(
    recipe: Recipe,
    data: TrainingData,
    device: str | None,
    weights: str | None,
    start: str | Path | None,
) -> tuple[TrainingState, list[Finding]]:
    """The state before the first step, and what is to be said of the weights it starts from."""
    torch.manual_seed(recipe.seed)
    built = find(recipe.detector).build(data.labels, device=device, **recipe.options)
    assert isinstance(built, TorchModel)
    said: list[Finding] = []
    if weights is None:
        _carry(built, recipe)
    else:
        said = _start_from(weights, built, recipe)
    if start is not None:
        grow(built, start)
    if built.method is not None and (weights or start):
        built.method.restart()
    return TrainingState.of(recipe, built), said


def _carry(model: TorchModel, recipe: Recipe) -> None:
    if recipe.method:
        carry(model, recipe.method, recipe.method_options)


def _start_from(weights: str, model: TorchModel, recipe: Recipe) -> list[Finding]:
    """Load weights: those of a plain detector before it gets its method, others after."""
    held = model_files.read(weights)
    state, about = model_files.state_in(held, weights), held.get("openset")
    about = about if isinstance(about, dict) else {}
    said = of_other_classes(about, model.labels, weights)
    if "method" not in about:
        model.load_state(state, weights)
        _carry(model, recipe)
        return said
    _carry(model, recipe)
    refuse_other_method(about, state, model, weights)
    model.load_state(state, weights)
    return said


def _wanted(model: TorchModel, data: TrainingData) -> TrainingData:
    """The data as the method wants it, and the model told what it will have seen."""
    method = model.method
    if method is None:
        return data
    data = data.with_unknown(method.unknown_truth) if method.unknown_objects else data
    data = data if method.advisor is None else advised(data, method.advisor)
    taught = {"images": len(data), "objects": sum(map(len, data.boxes)), "leaks": [*data.leaks]}
    model.about = {**model.about, "taught": taught}
    return data


def _refuse_parted(model: Any, share: int) -> None:
    """Refuse a batch that the groups of a method do not divide: some would be smaller."""
    if model.method is not None and share % model.method.group:
        raise UsageError(
            f"method {model.about['method']!r} acts on groups of {model.method.group} images, "
            f"which a batch of {share} in each process does not consist of"
        )


def _loaded(
    views: Views, order: Order, state: TrainingState, last: int, workers: int
) -> Iterator[tuple[list[Tensor], list[dict[str, Tensor]]]]:
    """Batches in order, on the device, and the model told how far the training is.

    An image that cannot be decoded ends the training.
    """
    indexed: Any = views  # by epoch and image, where torch's type expects an integer
    loader: Iterable[Any] = torch.utils.data.DataLoader(
        indexed,
        batch_sampler=order.steps(state.step, last),
        num_workers=workers,
        collate_fn=_as_list,
    )
    device = state.model.device
    for batch in loader:
        bad = [item for item in batch if isinstance(item, Finding)]
        if bad:
            raise InputError([replace(one, fix=_MEND) for one in bad])
        images = [image.to(device, non_blocking=True) for image, _ in batch]
        state.model.progress = state.step / last
        yield images, _sent([target for _, target in batch], device)


def _sent(targets: list[dict[str, Tensor]], device: torch.device) -> list[dict[str, Tensor]]:
    """Targets on a device, to which all values of a name travel together."""
    held = {}
    for name in targets[0]:
        values = [target[name] for target in targets]
        sent = torch.cat(values).to(device, non_blocking=True)
        held[name] = sent.split([len(one) for one in values])
    return [dict(zip(held, part, strict=True)) for part in zip(*held.values(), strict=True)]


def _as_list(batch: list[Any]) -> list[Any]:
    return batch


def _finish(state: TrainingState, place: RunFolder, resumed: int) -> None:
    """Write the model, unless it was there already."""
    state.finish()
    if resumed < state.step or not place.model.is_file():
        model_files.write_model(state.model, place.model)
