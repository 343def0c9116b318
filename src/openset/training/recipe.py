"""Recipe: everything that decides a training, as a frozen value that a TOML file can hold.

Presets are the papers' hyper-parameters, one file each in ``recipes/``, with a line on what differs
from the original where something does. Steps count batches, not epochs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_type_hints

from openset.findings import UsageError, refuse
from openset.options import is_of
from openset.plugins import lookup

Optimizer = Literal["sgd", "adamw"]
Schedule = Literal["steps", "cosine", "constant"]
Precision = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides a training, beside the data.

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
        weight_decay: Not on biases and norms.
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
    """

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "milestones", tuple(self.milestones))
        problems = [*_wrong_types(self), *_wrong_values(self)]
        if problems:
            message = f"{len(problems)} values of the recipe cannot be"
            raise refuse("OS612", message, count=len(problems), example="; ".join(problems))

    @classmethod
    def of(cls, source: str | Path | Mapping[str, Any] | Recipe, **changes: Any) -> Recipe:
        """A preset by name, a TOML file, or a mapping; with some keys changed.

        >>> Recipe.of("vos-voc").milestones
        (12000, 16000)
        >>> Recipe.of("vos-voc", seed=7).seed
        7
        """
        held = asdict(source) if isinstance(source, Recipe) else _held(source)
        for key in (*held, *changes):
            lookup({item.name: None for item in fields(cls)}, key, "key of a recipe:")
        if changes.get("method", held.get("method")) != held.get("method"):
            held.pop("method_options", None)  # they are those of another
        for key in ("options", "method_options"):
            changes[key] = {**held.get(key, {}), **changes.get(key, {})}
        return cls(**{**held, **changes})

    def shortened(self, steps: int) -> Recipe:
        """The same recipe over another number of steps; warm-up and milestones in proportion."""
        if steps < 1:
            raise UsageError(f"steps must be at least 1, not {steps}")
        share = steps / self.steps
        milestones = tuple(max(1, round(step * share)) for step in self.milestones)
        warmup = round(self.warmup * min(1.0, share))
        return replace(self, steps=steps, milestones=milestones, warmup=warmup)

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


def presets() -> Mapping[str, Recipe]:
    """The recipes that come with the package, by name."""
    return dict(_presets())


@cache
def _presets() -> dict[str, Recipe]:
    folder = files("openset.training") / "recipes"
    paths = sorted(
        (p for p in folder.iterdir() if p.name.endswith(".toml")), key=lambda path: path.name
    )
    found = {}
    for path in paths:
        name = path.name.removesuffix(".toml")
        found[name] = Recipe.of({"name": name, **tomllib.loads(path.read_text("utf-8"))})
    return found


def _held(source: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, str) and not source.endswith(".toml"):
        return asdict(lookup(_presets(), source, "recipe"))
    from openset.files import load_text

    path = Path(source)
    try:
        return {"name": path.stem, **tomllib.loads(load_text(path))}
    except tomllib.TOMLDecodeError as error:
        raise refuse("OS612", f"{path} is not TOML: {error}") from error


def _wrong_types(recipe: Recipe) -> list[str]:
    hints = get_type_hints(Recipe)
    values = {item.name: getattr(recipe, item.name) for item in fields(recipe)}
    return [
        f"{name} is {value!r}" for name, value in values.items() if not is_of(value, hints[name])
    ]


def _wrong_values(recipe: Recipe) -> list[str]:
    least = {"steps": 1, "batch": 1, "lr": 0, "backbone_lr": 0, "momentum": 0, "warmup": 0}
    least |= {"weight_decay": 0, "clip": 0, "gamma": 0, "ema": 0, "flip": 0, "jitter": 0, "seed": 0}
    least |= {"zoom": 1, "restarts": 0}
    most = {"ema": 1, "flip": 1, "jitter": 1, "momentum": 1}
    orphaned = bool(recipe.method_options) and not recipe.method
    found = ["method_options are given, but no method"] * orphaned
    for name, low in least.items():
        value = getattr(recipe, name)
        if isinstance(value, int | float) and not low <= value <= most.get(name, float("inf")):
            found.append(f"{name} is {value!r}")
    return found
