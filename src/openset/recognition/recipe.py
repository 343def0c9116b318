"""ClassifierRecipe: everything that decides the training of a classifier, as TOML files hold it.

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
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, get_type_hints

from openset.findings import InputError
from openset.plugins import documents, lookup, only
from openset.training.recipe import BaseRecipe, Recipe, in_steps, wrong_types

Operations = Literal["objects", "digits"]
STRONGEST = 30
"""Of RandAugment's strengths, which begin at 0."""
_IN_EPOCHS = {"warmup": float, "milestones": tuple[float, ...]}
# What the loop of detectors reads too; size, flips and all that is random in a picture are ours.
_SHARED = (
    "optimizer", "lr", "momentum", "weight_decay", "warmup", "schedule", "milestones", "gamma",
    "restarts", "clip", "precision", "ema",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClassifierRecipe(BaseRecipe):
    """Everything that decides the training of a classifier, beside the data.

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

    >>> ClassifierRecipe.of("mnist-arpl").training["milestones"]
    [30, 60, 90]
    >>> ClassifierRecipe.of("mnist-openauc", options={"weight": 0.2}).options["weight"]
    0.2
    """

    home = "openset.recognition"
    merged = ("options", "training")
    least: ClassVar[Mapping[str, float]] = {
        "epochs": 1,
        "batch": 2,
        "size": 0,
        "shift": 0,
        "flip": 0,
        "seed": 0,
    }
    most: ClassVar[Mapping[str, float]] = {"flip": 1}

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

    def problems(self) -> list[str]:
        """What is wrong with augmentation, scaling and training."""
        found = []
        count, strength = self.randaugment if len(self.randaugment) == 2 else (0, 0)
        if len(self.randaugment) not in (0, 2) or count < 0 or not 0 <= strength <= STRONGEST:
            words = f"a number of operations and their strength, 0 to {STRONGEST}"
            found.append(f"randaugment is {self.randaugment!r}, not {words}")
        if len(self.mean) not in (1, 3) or len(self.mean) != len(self.std) or min(self.std) <= 0:
            found.append("mean and std are not one number each, or three, with std above 0")
        return found + self._wrong_training()

    def _wrong_training(self) -> list[str]:
        for key in self.training:
            lookup(dict.fromkeys(_SHARED), key, "key of training:")
        wrong = wrong_types(self.training, get_type_hints(Recipe) | _IN_EPOCHS, "training.")
        if wrong:
            return wrong
        epochs = [self.training.get("warmup", 0), *self.training.get("milestones", ())]
        if not all(0 <= at < float("inf") for at in epochs):
            return ["training.warmup and training.milestones are not epochs, 0 or more"]
        try:
            self.plan(self.batch)
        except InputError as error:
            return [f"training.{error.findings[0].example}"]
        return []

    def plan(self, samples: int) -> Recipe:
        """The steps of the one loop that trains, for so many samples."""
        per_epoch = samples / self.batch
        keys = {"schedule": "cosine", **self.training}
        keys["milestones"] = in_steps(keys.get("milestones", ()), per_epoch)
        keys["warmup"] = round(keys.get("warmup", 0) * per_epoch)
        steps = max(1, round(self.epochs * per_epoch))
        return Recipe(**keys, steps=steps, batch=self.batch, seed=self.seed)

    def shortened(self, epochs: int) -> ClassifierRecipe:
        """The same recipe over fewer epochs; warm-up and milestones in proportion."""
        share = epochs / self.epochs
        keys = dict(self.training)
        if "milestones" in keys:
            keys["milestones"] = [at * share for at in keys["milestones"]]
        if "warmup" in keys:
            keys["warmup"] *= min(1.0, share)
        return replace(self, epochs=epochs, training=keys)

    @classmethod
    @cache
    def presets(cls) -> Mapping[str, ClassifierRecipe]:
        """The recipes that have a name, of this package and of others: data set and method."""
        homes: dict[str, list[ClassifierRecipe]] = {}
        for recipes in documents(f"{cls.home}.recipes", cls._in_file).values():
            for recipe in recipes:
                homes.setdefault(recipe.name, []).append(recipe)
        return {name: only("recipe", name, found) for name, found in homes.items()}

    @classmethod
    def _in_file(cls, path: Path) -> list[ClassifierRecipe]:
        """The recipes of one data set: what stands before the tables is shared by them."""
        content = tomllib.loads(path.read_text("utf-8"))
        tables = {key: value for key, value in content.items() if "methods" in _table(value)}
        shared = {key: value for key, value in content.items() if key not in tables}
        found = []
        for table in tables.values():
            methods, options = table.pop("methods"), table.pop("options", {})
            for method in methods:
                keys = {**shared, **table, "options": options.get(method, {})}
                found.append(cls(name=f"{path.stem}-{method}", method=method, **keys))
        return found


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
