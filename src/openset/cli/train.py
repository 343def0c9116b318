"""train: a detector by a recipe, on the known objects of a ground truth."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._engine import Where
from openset.cli._recipes import Changes
from openset.findings import Finding, Level, UsageError, refuse
from openset.nets.processes import number

if TYPE_CHECKING:
    from openset.engines import Engine
    from openset.training import Progress, Recipe, Trained, TrainingData

app = verb("train", panel="Models")


@app.default
def train(
    recipe: str,
    data: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    images: list[Path] | None = None,
    known: list[str] | None = None,
    steps: int | None = None,
    changes: Changes = Changes(),  # noqa: B008 - frozen
    device: str | None = None,
    weights: Path | None = None,
    start: Annotated[Path | None, Parameter(name="--from")] = None,
    task: int | None = None,
    finetune: Flag = False,
    decoders: int = 0,
    hold: Flag = False,
    compile: Flag = False,
    checkpoint_every: int = 500,
    tensorboard: Flag = False,
    where: Where = Where(),  # noqa: B008 - frozen
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Train a detector on known objects; the same command goes on with a training that was stopped.

    Stop it with Ctrl-C, or kill it: it goes on to the same weights. Under torchrun it trains on
    many GPUs: torchrun --nproc-per-node 8 -m openset train ...; --engine ray --workers 8 starts as
    many on a cluster.

    Args:
        recipe: A name that `openset list recipes` shows, or a TOML file.
        data: Ground truth, or a folder with train.json in it, such as `openset build digits` makes;
            with --task, a folder that `openset build` made.
        out: Folder to keep the training in.
        images: What the names of images are relative to; by default the ground truth's folder.
            Given several times where data sets are mixed.
        known: Labels to teach: voc20 ..., a file, or a,b,c. By default those that the ground truth
            calls known, or all.
        steps: Another number of batches; the schedule is scaled to it.
        changes: What else to change of the recipe.
        device: Such as cpu or cuda:1; by default a GPU where there is one.
        weights: A local file of weights to start from.
        start: A trained model, or its folder, whose classes are the first of those to teach: the
            head grows by the others.
        task: Train on this task of a benchmark: its new classes alone, and what the recipe changes
            for it.
        finetune: Not on the task's new classes, but on the exemplars of all classes so far.
        decoders: Processes that decode images; 0 is this one.
        hold: Decode every image once and hold it on the device, for data that fits.
        compile: Let torch compile the step: about a minute at the start, then faster on a GPU.
        checkpoint_every: Steps between checkpoints.
        tensorboard: Also write TensorBoard's files.
        where: Processes to train in: ray starts --workers of them, by default one for every GPU.
        output: How to speak.
    """
    from openset.cli._inputs import trained_model
    from openset.cli._stopping import STOPPED, positive, stoppable
    from openset.nets.processes import is_first

    _refuse_task(task, start, finetune)
    engine = _engine(where)
    chosen = changes.made(recipe).at(task or 1, finetune=finetune)
    chosen = chosen if steps is None else chosen.shortened(steps)
    from openset.training import train as train_detector

    _refuse_place(out)
    first = None if start is None else trained_model(start)
    _warn_of_test(data, output)
    taught = (
        _data(data, images, known)
        if task is None
        else _of_task(data, images, (task, finetune), first)
    )
    how: dict[str, Any] = {
        "device": device,
        "weights": None if weights is None else str(weights),
        "start": first,
        "workers": decoders,
        "hold": hold,
        "compile": compile,
        "checkpoint_every": positive(checkpoint_every),
        "tensorboard": tensorboard,
    }
    trained = partial(train_detector, chosen, taught, out, **how)
    with stoppable() as stop, output.track(chosen.steps) as at:
        if engine is not None:
            from openset.training.on_ray import train_on_ray

            done = train_on_ray(trained, out, chosen.batch, engine.workers)
        else:
            say = lambda progress: at(progress.step, _words(progress))  # noqa: E731
            done = trained(progress=say, report=output.report, stop=stop)
    if not is_first():
        return Answer("")
    for finding in done.findings:
        output.report(finding)
    test = f"test-t{task}.json" if task else "test.json"
    tested = data / test if data.is_dir() else Path("IMAGES")
    text = _text(chosen, done.data, tested, done)
    code = 0 if done.step == chosen.steps else STOPPED
    return Answer(text, lambda: _document(chosen, done.data, done), code)


def _engine(where: Where) -> Engine | None:
    """Ray, if it was asked for; what else there is does not keep processes in step."""
    engine = where.chosen()
    if engine is None or engine.name == "local":
        return None
    if engine.name != "ray":
        count = engine.workers or 2
        where.refuse(f"torchrun --nproc-per-node {count} -m openset train ... trains in several")
    if number() > 1:
        where.refuse("torchrun has started processes already, and they train together")
    return engine


def _refuse_task(task: int | None, start: Path | None, finetune: bool) -> None:
    if finetune and task is None:
        raise UsageError("--finetune belongs to a task of a benchmark: --task 2")
    if start is None and (finetune or (task or 1) > 1):
        raise UsageError(
            f"task {task} starts from a model of the one before: --from t{(task or 2) - 1}/model.pt"
        )


def _data(data: Path, images: list[Path] | None, known: list[str] | None) -> TrainingData:
    from openset.cli._inputs import known_labels
    from openset.formats.yolo import image_folder
    from openset.tables import Vocabulary
    from openset.training import TrainingData
    from openset.training.data import read_truth

    truth = data / "train.json" if data.is_dir() else data
    if data.is_dir() and not truth.is_file():
        fix = "name the file with the annotations of the training images"
        raise refuse("OS101", f"{data} has no train.json", fix=fix)
    table = read_truth(truth)
    labels = None if known is None else Vocabulary.of(known_labels(known), table).known
    return TrainingData.of(table, images or image_folder(truth), labels=labels)


def _warn_of_test(data: Path, output: Output) -> None:
    """Say that what is trained on is called like a test split, or is that of a file beside it."""
    from openset.scorers.ledger import is_test
    from openset.training.tested import also_tested

    truth = data / "train.json" if data.is_dir() else data
    if truth.is_file() and is_test(truth.stem):
        message = f"{truth} is called like a test split, and is trained on"
        output.report(Finding("OS676", Level.WARNING, message, 1, str(truth)))
        return
    for test, images, total in also_tested(truth):
        message = f"{len(images)} of {total} images of {truth} are in {test}, with the same objects"
        output.report(Finding("OS676", Level.WARNING, message, len(images), f"image {images[0]}"))


def _of_task(
    data: Path, images: list[Path] | None, which: tuple[int, bool], start: Path | None
) -> TrainingData:
    """What a task of a benchmark, or its fine-tuning, may show."""
    from openset.learning.stages import bundle_of, refuse_skipped, stage_of

    bundle, (task, finetune) = bundle_of(data), which
    stage = stage_of(bundle, task, finetune=finetune)
    if start is not None:
        refuse_skipped(bundle, stage, start)
    if stage.table is None:
        raise UsageError(f"{data} has no exemplars for task {task}; openset learn chooses some")
    return stage.data(images or data)


def _refuse_place(out: Path) -> None:
    """Refuse what is no folder for a training, and weights that it would overwrite."""
    from openset.files import refuse_kept
    from openset.training.folder import RunFolder

    folder = RunFolder(out)
    refuse_kept(folder.model)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; choose another place")
    held = [path for path in out.glob("*") if not path.name.startswith(".openset-")]
    if held and folder.about not in held:
        raise UsageError(f"{out} holds something else than a training; choose another folder")


def _words(progress: Progress) -> str:
    return f"loss {progress.loss:.3f}, {progress.images_per_second:.0f} images/s"


def _text(recipe: Recipe, taught: TrainingData, test: Path, done: Trained) -> str:
    went_on = f", from step {done.resumed} on" if done.resumed else ""
    objects = sum(map(len, taught.boxes))
    by = f" with {recipe.method}" if recipe.method else ""
    lines = [
        f"trained {recipe.detector}{by} on {len(taught)} images, {objects} objects of "
        f"{len(taught.labels)} classes",
        f"{done.step} of {recipe.steps} steps in {done.seconds:.1f} s{went_on}",
    ]
    if taught.left_out:
        counts = ", ".join(f"{count} {reason}" for reason, count in taught.left_out.items())
        lines.append(f"not taught: {counts}")
    if done.step < recipe.steps:
        return "\n".join([*lines, "stopped: the same command goes on from here"])
    # The answer itself says it, since --quiet keeps warnings back.
    lines += [one.message for one in done.findings if one.code == "OS621"]
    lines.append(f"wrote {done.model}")
    return "\n".join([*lines, f"next: openset run {done.folder} {test} -o test.parquet"])


def _document(recipe: Recipe, taught: TrainingData, done: Trained) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "out": str(done.folder),
        "model": str(done.model) if done.step == recipe.steps else None,
        "recipe": asdict(recipe),
        "step": done.step,
        "resumed": done.resumed,
        "seconds": done.seconds,
        "labels": taught.labels,
        "images": len(taught),
        "objects": sum(map(len, taught.boxes)),
        "left_out": taught.left_out,
        "findings": [asdict(finding) for finding in done.findings],
    }
