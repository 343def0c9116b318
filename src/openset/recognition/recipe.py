"""Recipe: everything that decides the training of a classifier, as TOML files hold it.

A file in ``recipes/`` is a data set; a table in it is the protocol of a paper, for some methods:

```toml
network = "classifier32"

[arpl]
paper = "Chen et al., TPAMI 2021"
methods = ["softmax", "arpl"]
epochs = 100
batch = 64
training = { lr = 0.1, milestones = [30, 60, 90] }
options.arpl = { weight = 0.1 }
```

``training`` has keys of `openset.training.Recipe`, with epochs in place of steps. Recipes are
called by data set and method: ``mnist-openauc``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from openset.findings import InputError, UsageError
from openset.options import is_of
from openset.plugins import documents, lookup
from openset.training.recipe import Recipe as Plan

Operations = Literal["objects", "digits"]
STRONGEST = 30
"""Of RandAugment's strengths, which begin at 0."""
_IN_EPOCHS = {"warmup": float, "milestones": tuple[float, ...]}
# What the loop of detectors reads too; size, flips and all that is random in a picture are ours.
_OF_PLAN = (
    "optimizer", "lr", "momentum", "weight_decay", "warmup", "schedule", "milestones", "gamma",
    "restarts", "clip", "precision", "ema",
)  # fmt: skip
_LEAST = {"epochs": 1, "batch": 2, "size": 0, "shift": 0, "flip": 0, "seed": 0}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides a training, beside the data.

    Attributes:
        name: How a preset is asked for.
        method: Name of a recognition method.
        options: Options of the method.
        network: Name of a network.
        paper: Where the numbers come from.
        differs: What is not as in the paper.
        epochs: Passes over the samples.
        batch: Samples of a step.
        size: Height and width that pictures are resized to; 0 leaves them as they are.
        shift: Largest shift of a picture in pixels, in each direction.
        flip: Chance of a horizontal flip.
        randaugment: Number and strength of RandAugment's operations, or nothing.
        operations: Which operations: those for ``objects``, or those for ``digits``.
        mean: What is subtracted from pixels, which go from 0 to 1, of each channel or of all.
        std: What they are divided by then.
        training: Optimiser and schedule, in keys of `openset.training.Recipe`; ``warmup`` and
            ``milestones`` in epochs.
        seed: Of weights, order, augmentation and mixtures.
    """

    name: str = ""
    method: str = "ce_plus"
    options: Mapping[str, Any] = field(default_factory=dict)
    network: str = "classifier32"
    paper: str = ""
    differs: str = ""
    epochs: int = 30
    batch: int = 64
    size: int = 0
    shift: int = 0
    flip: float = 0.0
    randaugment: tuple[int, ...] = ()
    operations: Operations = "objects"
    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.5,)
    training: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        for key in ("randaugment", "mean", "std"):
            if isinstance(getattr(self, key), list):
                object.__setattr__(self, key, tuple(getattr(self, key)))
        lookup(dict.fromkeys(get_args(Operations)), self.operations, "list of operations:")
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        _refuse_types(values, get_type_hints(Recipe), "")
        for key, least in _LEAST.items():
            if not values[key] >= least:
                raise UsageError(f"{key} of a recipe must be at least {least}, not {values[key]!r}")
        if self.flip > 1:
            raise UsageError(f"flip is a chance, at most 1, not {self.flip!r}")
        count, strength = self.randaugment if len(self.randaugment) == 2 else (0, 0)
        if len(self.randaugment) not in (0, 2) or count < 0 or not 0 <= strength <= STRONGEST:
            words = f"a number of operations and their strength, 0 to {STRONGEST}"
            raise UsageError(f"randaugment is {words}, not {self.randaugment!r}")
        if len(self.mean) not in (1, 3) or len(self.mean) != len(self.std) or min(self.std) <= 0:
            raise UsageError("mean and std are one number each, or three; std is above 0")
        self._check_training()

    def _check_training(self) -> None:
        for key in self.training:
            lookup(dict.fromkeys(_OF_PLAN), key, "key of training:")
        _refuse_types(self.training, get_type_hints(Plan) | _IN_EPOCHS, "training.")
        epochs = [self.training.get("warmup", 0), *self.training.get("milestones", ())]
        if not all(0 <= at < float("inf") for at in epochs):
            raise UsageError("training.warmup and training.milestones are epochs, 0 or more")
        try:
            self.plan(self.batch)
        except InputError as error:
            raise UsageError(f"training cannot be: {error.findings[0].example}") from error

    @classmethod
    def of(cls, source: str | Mapping[str, Any] | Recipe, **changes: Any) -> Recipe:
        """A preset by name, or a mapping, with some keys changed.

        Options and training are changed key by key.

        >>> Recipe.of("mnist-arpl").training["milestones"]
        [30, 60, 90]
        >>> Recipe.of("mnist-openauc", options={"weight": 0.2}).options["weight"]
        0.2
        """
        named = lookup(presets(), source, "recipe") if isinstance(source, str) else source
        held = asdict(named) if isinstance(named, Recipe) else dict(named)
        for key in (*held, *changes):
            lookup({item.name: None for item in fields(cls)}, key, "key of a recipe:")
        for key in ("options", "training"):
            held[key] = {**held.get(key, {}), **changes.pop(key, {})}
        return cls(**{**held, **changes})

    def plan(self, samples: int) -> Plan:
        """The steps of the one loop that trains, for so many samples."""
        per_epoch = samples / self.batch
        keys = dict(self.training)
        if "milestones" in keys:
            keys["milestones"] = [max(1, round(at * per_epoch)) for at in keys["milestones"]]
        if "warmup" in keys:
            keys["warmup"] = round(keys["warmup"] * per_epoch)
        steps = max(1, round(self.epochs * per_epoch))
        return Plan(**{"schedule": "cosine", **keys}, steps=steps, batch=self.batch, seed=self.seed)

    def shortened(self, epochs: int) -> Recipe:
        """The same recipe over fewer epochs; warm-up and milestones in proportion."""
        share = epochs / self.epochs
        keys = dict(self.training)
        if "milestones" in keys:
            keys["milestones"] = [at * share for at in keys["milestones"]]
        if "warmup" in keys:
            keys["warmup"] *= min(1.0, share)
        return replace(self, epochs=epochs, training=keys)


@cache
def presets() -> Mapping[str, Recipe]:
    """The recipes that have a name, of this package and of others: data set and method."""
    files = documents("openset.recognition.recipes", _in_file)
    return {recipe.name: recipe for recipes in files.values() for recipe in recipes}


def _in_file(path: Path) -> list[Recipe]:
    """The recipes of one data set: what stands before the tables is shared by them."""
    data, content = path.stem, tomllib.loads(path.read_text("utf-8"))
    tables = {key: value for key, value in content.items() if "methods" in _table(value)}
    shared = {key: value for key, value in content.items() if key not in tables}
    found = []
    for table in tables.values():
        methods, options = table.pop("methods"), table.pop("options", {})
        for name in methods:
            keys = {**shared, **table, "options": options.get(name, {})}
            found.append(Recipe(name=f"{data}-{name}", method=name, **keys))
    return found


def _refuse_types(values: Mapping[str, Any], hints: Mapping[str, Any], where: str) -> None:
    wrong = [key for key, value in values.items() if not is_of(value, hints[key])]
    if wrong:
        raise UsageError(f"{where}{wrong[0]} of a recipe cannot be {values[wrong[0]]!r}")


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
