"""Recipe: everything that decides a training, as a frozen value that a TOML file can hold.

`BaseRecipe` is what any kind of recipe can do; `Recipe` is that of detectors, and its optimiser and
schedule are also those of classifiers (`openset.recognition.recipe`).

Presets are the papers' hyper-parameters, one file each in ``recipes/`` (or behind an entry point in
the group ``openset.training.recipes``), with a line on what differs from the original where
something does. Steps count batches, not epochs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_type_hints

from openset.findings import InputError, UsageError, refuse
from openset.options import is_of
from openset.plugins import documents, lookup

Optimizer = Literal["sgd", "adamw"]
Schedule = Literal["steps", "cosine", "constant"]
Precision = Literal["float32", "bfloat16", "float16"]


class BaseRecipe:
    """What recipes share, of detectors and of classifiers: presets, changes and checks.

    A subclass is a frozen dataclass, all of whose values TOML can hold.
    """

    __slots__ = ()
    home: ClassVar[str]  # package whose folder ``recipes`` has the presets
    name: str
    merged: ClassVar[tuple[str, ...]] = ("options",)  # tables that are changed key by key
    owned: ClassVar[Mapping[str, str]] = {}  # tables that go when the value of a key is another
    least: ClassVar[Mapping[str, float]]
    most: ClassVar[Mapping[str, float]]

    def __post_init__(self) -> None:
        """Take lists for tuples, as TOML has them, and refuse what cannot be."""
        for name, value in self.values().items():
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        problems = [*wrong_types(self.values(), get_type_hints(type(self))), *self._wrong_values()]
        problems = problems or self.problems()
        if problems:
            message = f"{len(problems)} values of the recipe cannot be"
            raise refuse("OS612", message, count=len(problems), example="; ".join(problems))

    def problems(self) -> list[str]:
        """What is wrong beyond types and ranges of single values."""
        return []

    @classmethod
    def of(cls, source: str | Path | Mapping[str, Any] | Self, **changes: Any) -> Self:
        """A preset by name, a TOML file, or a mapping; with some keys changed.

        >>> Recipe.of("vos-voc").milestones
        (12000, 16000)
        >>> Recipe.of("vos-voc", seed=7).seed
        7
        """
        held = cls._held(source)
        for key in (*held, *changes):
            lookup(dict.fromkeys(cls._names()), key, "key of a recipe:")
        for table, owner in cls.owned.items():
            if changes.get(owner, held.get(owner)) != held.get(owner):
                held = _without(table, held)
        for key in cls.merged:
            if isinstance(held.get(key), Mapping) and isinstance(changes.get(key), Mapping):
                changes[key] = {**held[key], **changes[key]}
        return cls(**{**held, **changes})

    @classmethod
    @cache
    def presets(cls) -> Mapping[str, Self]:
        """The recipes that have a name, of this package and of others: one a file."""
        return documents(f"{cls.home}.recipes", cls.of)

    @classmethod
    def _held(cls, source: str | Path | Mapping[str, Any] | Self) -> dict[str, Any]:
        if isinstance(source, BaseRecipe):
            return source.values()
        if isinstance(source, Mapping):
            return dict(source)
        if isinstance(source, str) and not source.endswith(".toml"):
            return lookup(cls.presets(), source, "recipe").values()
        from openset.files import load_text, toml

        path = Path(source)
        try:
            return {"name": path.stem, **toml(load_text(path))}
        except InputError:
            raise
        except ValueError as error:
            raise refuse("OS612", f"{path} is not TOML: {error}") from error

    @classmethod
    def _names(cls) -> list[str]:
        return [item.name for item in fields(cls)]  # type: ignore[arg-type]

    def values(self) -> dict[str, Any]:
        """All values by their names."""
        return {name: getattr(self, name) for name in self._names()}

    def _wrong_values(self) -> list[str]:
        values = {name: getattr(self, name) for name in self.least}
        return [
            f"{name} is {value!r}"
            for name, value in values.items()
            if isinstance(value, int | float)
            and not self.least[name] <= value <= self.most.get(name, float("inf"))
        ]


@dataclass(frozen=True, slots=True)
class Recipe(BaseRecipe):
    """Everything that decides the training of a detector, beside the data.

    Attributes:
        name: How a preset is asked for.
        detector: Name of a trainable detector.
        options: Options of the detector.
        method: Name of a method (`openset.methods`) that is trained with it; empty is none.
        method_options: Options of the method.
        paper: Where the numbers come from.
        differs: What is not as in the paper.
        steps: Number of batches.
        batch: Images of a batch, over all processes.
        optimizer: ``sgd`` (with momentum) or ``adamw``.
        lr: Learning rate after the warm-up.
        backbone_lr: Factor on the learning rate of the backbone.
        momentum: Of ``sgd``.
        weight_decay: Not on norms, and not on biases.
        decay_bias: Also on biases, as detectron2 has it.
        warmup: Steps over which the rate grows linearly.
        schedule: ``steps`` multiplies the rate by `gamma` at each of `milestones`; ``cosine`` lets
            it fall to 0.
        restarts: How often ``cosine`` starts again, after equal numbers of steps.
        milestones: Steps.
        gamma: Factor at each milestone.
        clip: Largest norm of the gradient; 0 is no limit.
        precision: Of the forward pass; ``float16`` scales the loss.
        ema: Decay of the running mean of weights that is saved in the end; 0 is off.
        flip: Chance of a horizontal flip. None for digits and text.
        zoom: Images are zoomed by a random factor of up to this, in or out; 1 is not at all.
        jitter: Strength of random brightness and contrast, 0 to 1.
        seed: Decides initial weights, order, augmentation and sampling.
        later: What the second task and those after it change, by key; a list has a value for each
            of them, the last of which stands for the rest. ``lr = "as_run"`` goes on with the rate
            that the first task ended with, as the published chains did; ``"as_written"`` begins
            the schedule anew.
        finetune: What fine-tuning on exemplars changes, likewise.
    """

    home = "openset.training"
    merged: ClassVar[tuple[str, ...]] = ("options", "method_options")
    owned: ClassVar[Mapping[str, str]] = {"method_options": "method"}
    least: ClassVar[Mapping[str, float]] = {
        "steps": 1, "batch": 1, "lr": 0, "backbone_lr": 0, "momentum": 0, "weight_decay": 0,
        "warmup": 0, "restarts": 0, "gamma": 0, "clip": 0, "ema": 0, "flip": 0, "zoom": 1,
        "jitter": 0, "seed": 0,
    }  # fmt: skip
    most: ClassVar[Mapping[str, float]] = {"ema": 1, "flip": 1, "jitter": 1, "momentum": 1}

    name: str = ""
    detector: str = "faster_rcnn"
    options: Mapping[str, Any] = field(default_factory=dict)
    method: str = ""
    method_options: Mapping[str, Any] = field(default_factory=dict)
    paper: str = ""
    differs: str = ""
    steps: int = 1000
    batch: int = 8
    optimizer: Optimizer = "sgd"
    lr: float = 0.01
    backbone_lr: float = 1.0
    momentum: float = 0.9
    weight_decay: float = 1e-4
    decay_bias: bool = False
    warmup: int = 0
    schedule: Schedule = "steps"
    milestones: tuple[int, ...] = ()
    gamma: float = 0.1
    restarts: int = 0
    clip: float = 0.0
    precision: Precision = "float32"
    ema: float = 0.0
    flip: float = 0.0
    zoom: float = 1.0
    jitter: float = 0.0
    seed: int = 0
    later: Mapping[str, Any] = field(default_factory=dict)
    finetune: Mapping[str, Any] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Options of no method, and changes of later tasks that cannot be."""
        orphaned = bool(self.method_options) and not self.method
        found = ["method_options are given, but no method"] * orphaned
        return found + _wrong_changes("later", self) + _wrong_changes("finetune", self)

    def at(self, task: int, *, finetune: bool = False) -> Recipe:
        """The recipe of a task, from 1, or of the fine-tuning after it.

        >>> chain = Recipe(steps=90, lr=0.1, milestones=[60], later={"steps": [52, 40]})
        >>> [chain.at(task).steps for task in (1, 2, 3, 4)]
        [90, 52, 40, 40]
        >>> as_run = Recipe.of(chain, later={"lr": "as_run"}).at(2)
        >>> round(as_run.lr, 9), as_run.factor(0)
        (0.01, 1.0)
        """
        alone = replace(self, later={}, finetune={})
        if task < 2 and not finetune:
            return alone
        hints = get_type_hints(type(self))
        told = (self.finetune if finetune else self.later).items()
        changes = {key: _of_task(value, hints[key], max(0, task - 2)) for key, value in told}
        steps, rate = changes.pop("steps", self.steps), changes.pop("lr", "as_written")
        if rate == "as_run":
            last = self.lr * self.factor(self.steps - 1)
            changes = {"lr": last, "schedule": "constant", "warmup": 0, **changes}
        elif rate != "as_written":
            changes["lr"] = rate
        return Recipe.of(alone.shortened(steps), **changes)

    def shortened(self, steps: int) -> Recipe:
        """The same recipe over another number of steps; warm-up and milestones in proportion."""
        if steps < 1:
            raise UsageError(f"steps must be at least 1, not {steps}")
        share = steps / self.steps
        milestones = in_steps(self.milestones, share)
        warmup = round(self.warmup * min(1.0, share))
        return replace(self, steps=steps, milestones=milestones, warmup=warmup)

    def scaled(self, steps: int) -> Recipe:
        """The same chain with another number of steps in its first task, the others in proportion.

        >>> chain = Recipe(steps=100, later={"steps": [50, 30]}, finetune={"steps": 10})
        >>> [chain.scaled(10).at(task).steps for task in (1, 2, 3)]
        [10, 5, 3]
        """
        later, finetune = (
            _in_proportion(t, steps / self.steps) for t in (self.later, self.finetune)
        )
        return replace(self.shortened(steps), later=later, finetune=finetune)

    def factor(self, step: int) -> float:
        """What the learning rate is multiplied by at a step, counted from 0.

        >>> Recipe(warmup=10, milestones=[50], steps=100).factor(4)
        0.5
        >>> Recipe(schedule="cosine", restarts=2, steps=300).factor(150)
        0.5
        """
        import math

        warm = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        if self.schedule == "steps":
            passed = sum(step >= milestone for milestone in self.milestones)
            return warm * self.gamma**passed
        if self.schedule == "cosine":
            times = self.restarts + 1
            cycle = self.steps / times
            # The remainder is of whole numbers: a cycle of 5/3 steps has no exact one.
            gone = step * times % self.steps / times if step < self.steps else cycle
            return warm * 0.5 * (1 + math.cos(math.pi * gone / cycle))
        return warm


def _without(table: str, held: Mapping[str, Any]) -> dict[str, Any]:
    """Values but for a table, also where later tasks change it."""
    return {
        key: _without(table, value) if isinstance(value, Mapping) else value
        for key, value in held.items()
        if key != table
    }


_CHANGING = {item.name for item in fields(Recipe)} - {
    "name", "detector", "method", "paper", "differs", "later", "finetune"
}  # fmt: skip


_RATES = ("as_run", "as_written")


def _wrong_changes(table: str, recipe: Recipe) -> list[str]:
    """What a table of changes has that a later task cannot be told."""
    hints, found = get_type_hints(Recipe), []
    for key, value in getattr(recipe, table).items():
        if key not in _CHANGING:
            found.append(f"{table}.{key} is nothing that a later task can change")
        elif not is_of(one := _of_task(value, hints[key], 0), hints[key]):
            if key != "lr" or one not in _RATES:
                found.append(f"{table}.{key} is {value!r}")
            elif one == "as_run" and recipe.schedule == "cosine":
                found.append(f'{table}.lr is "as_run", but a cosine ends at 0')
    return found


def _in_proportion(table: Mapping[str, Any], share: float) -> dict[str, Any]:
    """What a later task changes, with its steps and milestones in another number of them."""

    def fewer(value: Any) -> Any:
        return max(1, round(value * share)) if isinstance(value, int) else [*map(fewer, value)]

    return {k: fewer(v) if k in ("steps", "milestones") else v for k, v in table.items()}


def _of_task(value: Any, hint: Any, at: int) -> Any:
    """A value, or that of one task of a list with one for each."""
    whole = isinstance(value, str) or is_of(value, hint) or not isinstance(value, list | tuple)
    return value if whole or not value else value[min(at, len(value) - 1)]


def in_steps(milestones: Iterable[float], share: float) -> tuple[int, ...]:
    """Milestones in another unit, or of a training of another length, as whole steps."""
    return tuple(max(1, round(at * share)) for at in milestones)


def wrong_types(values: Mapping[str, Any], hints: Mapping[str, Any], where: str = "") -> list[str]:
    """Which values are not of their types."""
    return [
        f"{where}{name} is {value!r}"
        for name, value in values.items()
        if not is_of(value, hints[name])
    ]
