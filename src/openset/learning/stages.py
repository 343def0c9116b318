"""Stages: a benchmark as a chain of trainings, each on one split, with the boxes it may show.

A task is trained on the objects of its new classes alone, then fine-tuned on exemplars that show
all classes so far (Joseph et al., OWOD, CVPR 2021). What is shown is what the split's policy keeps;
a class that an image shows and the split does not is background to the detector, as published.

What cannot be a chain is refused here, before anything is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openset.benchmarks.bundle import Bundle, Part, of_folder
from openset.benchmarks.definition import Kind
from openset.benchmarks.own_files import WORLD, of_world
from openset.benchmarks.roles import overlaps
from openset.findings import Finding, InputError, Level, UsageError, refuse
from openset.nets.weights import read_model
from openset.tables import Annotations, Vocabulary
from openset.tables.union import merged

if TYPE_CHECKING:
    from openset.training import TrainingData


@dataclass(frozen=True)
class Stage:
    """One training of a chain.

    Attributes:
        task: Its task, from 1.
        finetune: Whether it is the fine-tuning after the task.
        labels: All classes so far, in the order in which they were taught.
        shown: Those of them whose objects it shows.
        table: Images and objects; None for exemplars that have yet to be chosen.
    """

    task: int
    finetune: bool
    labels: tuple[str, ...]
    shown: tuple[str, ...]
    table: Annotations | None

    @property
    def name(self) -> str:
        """What its folder and its row are called: ``t2``, ``t2-ft``."""
        return f"t{self.task}-ft" if self.finetune else f"t{self.task}"

    def data(self, images: Path | Sequence[Path]) -> TrainingData:
        """What it is trained on, once it has a table; images are relative to these folders."""
        from openset.training import TrainingData

        assert self.table is not None
        return TrainingData.of(self.table, images, labels=self.labels, shown=self.shown)


def bundle_of(folder: str | Path) -> Bundle:
    """The benchmark in a folder that `openset build` made, be it of files or of a seed."""
    path = Path(folder)
    return of_world(path) if (path / WORLD).is_file() else of_folder(path)


def stages_of(bundle: Bundle) -> tuple[Stage, ...]:
    """The trainings of a benchmark, in order: tasks, and from the second on fine-tunings.

    Raises:
        InputError: A task has no split to train or to test on, or is beyond the last; or a class is
            taught twice, or called otherwise in some split.
    """
    wrong = [*_not_a_chain(bundle), *_taught_twice(bundle), *_renamed(bundle)]
    if wrong:
        raise InputError(wrong)
    return tuple(
        _stage(bundle, task, finetune)
        for task in range(1, len(bundle.roles.tasks) + 1)
        for finetune in ((False, True) if task > 1 else (False,))
    )


def stage_of(bundle: Bundle, task: int, *, finetune: bool = False) -> Stage:
    """One training of a benchmark."""
    found = {(one.task, one.finetune): one for one in stages_of(bundle)}
    if (task, finetune) not in found:
        names = ", ".join(one.name for one in found.values())
        raise UsageError(f"{bundle.name} has no such task; its trainings are {names}")
    return found[task, finetune]


def refuse_skipped(bundle: Bundle, stage: Stage, model: Path) -> None:
    """Refuse to start from a model that has not gone through all tasks before a stage, or beyond.

    Raises:
        InputError: Classes in between would never be taught, or those of this task were already:
            what is learned and forgotten by it would not be seen.
    """
    tasks = bundle.roles.tasks[: stage.task - (not stage.finetune)]
    wanted = tuple(name for names in tasks for name in names)
    held = tuple(read_model(model)[0]["labels"])
    lacking = wanted[len(held) :]
    if held == wanted[: len(held)] and lacking:
        last = f"t{stage.task}" if stage.finetune else f"t{stage.task - 1}"
        said = f"{model} does not know {len(lacking)} classes that come before {stage.name}"
        fix = f"start from the model of {last}"
        raise refuse("OS664", said, count=len(lacking), example=lacking[0], fix=fix)
    known = [name for name in held[len(wanted) :] if name in bundle.roles.tasks[stage.task - 1]]
    if known and not stage.finetune:
        said = f"{model} was taught {len(known)} classes of {stage.name} already"
        fix = f"start from the model of t{stage.task - 1}" if stage.task > 1 else "leave --from out"
        raise refuse("OS664", said, count=len(known), example=known[0], fix=fix)


def of_kind(bundle: Bundle, kind: Kind, task: int) -> Part | None:
    """The split of a kind and a task, the first if there are several."""
    return next((one for one in bundle.parts if (one.kind, one.task) == (kind, task)), None)


def pooled(bundle: Bundle, task: int) -> Annotations:
    """The images of all training splits up to a task, with all objects that these show."""
    parts = [of_kind(bundle, "train", one) for one in range(1, task + 1)]
    tables = [part.table for part in parts if part is not None and part.table is not None]
    return merged(tables, [name for names in bundle.roles.tasks[:task] for name in names])


def _stage(bundle: Bundle, task: int, finetune: bool) -> Stage:
    labels = tuple(name for names in bundle.roles.tasks[:task] for name in names)
    part = of_kind(bundle, "finetune" if finetune else "train", task)
    table = None if part is None else part.table
    allowed = labels if finetune else bundle.roles.tasks[task - 1]
    shown = labels if table is None else tuple(k for k in allowed if k in table.labels)
    return Stage(task, finetune, labels, shown, table)


def _not_a_chain(bundle: Bundle) -> list[Finding]:
    """What is missing, twice there, or of another task than it says."""
    last = len(bundle.roles.tasks)
    places = [(part.kind, part.task) for part in bundle.parts]
    said = [
        f"task {task} has {places.count((kind, task)) or 'no'} {kind} splits"
        for task in range(1, last + 1)
        for kind in ("train", "test")
        if places.count((kind, task)) != 1
    ]
    said += [f"{part.name} has an image twice" for part in bundle.parts if part.table is None]
    said += [f"{p.name} is of task {p.task} of {last}" for p in bundle.parts if p.task > last]
    said += [
        f"{p.name} is of task {p.task}, but its file says {stated}"
        for p in bundle.parts
        if p.table is not None and isinstance(stated := p.table.info.get("task"), int)
        if stated != p.task
    ]
    return _finding("OS662", said, f"the tasks of {bundle.name} are no chain")


def _taught_twice(bundle: Bundle) -> list[Finding]:
    said = [f"{name!r} is {here} and {there}" for name, here, there in overlaps(bundle.roles)]
    return _finding("OS663", said, f"{bundle.name} lists classes twice")


def _renamed(bundle: Bundle) -> list[Finding]:
    """Classes that a split spells otherwise: its objects would not be taught, or not be tested."""
    key = Vocabulary(tasks=(), synonyms=bundle.roles.synonyms).key
    spelt = {key(name): name for names in bundle.roles.tasks for name in names}
    said = [
        f"{spelt[key(label)]!r} is called {label!r} in {part.name}"
        for part in bundle.parts
        if part.table is not None
        for label in part.table.labels
        if spelt.get(key(label), label) != label
    ]
    return _finding("OS663", said, f"splits of {bundle.name} call classes otherwise")


def _finding(code: str, said: Sequence[str], message: str) -> list[Finding]:
    return [Finding(code, Level.ERROR, message, len(said), said[0])] if said else []
