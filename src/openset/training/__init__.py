"""Training: one plain loop for every trainable detector, and the papers' recipes.

``train(Recipe.of("digits-small"), TrainingData.of("train.json", "images"), "runs/1")`` trains, and
goes on where it was stopped, to the same weights as if it had not been. Under ``torchrun`` the same
call trains on many processes. `Recipe.presets()` lists the recipes that come with the package.

Not a framework: no callbacks that change the training, no distributed strategies beyond one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openset.detectors  # noqa: F401 - settles how torch's threads wait, before torch is loaded
from openset.training.recipe import Recipe

if TYPE_CHECKING:
    from openset.training.data import TrainingData
    from openset.training.loop import Progress, Trained, rehearse, train

__all__ = ["Progress", "Recipe", "Trained", "TrainingData", "rehearse", "train"]
_WHERE = {"TrainingData": "data"} | dict.fromkeys(
    ("Progress", "Trained", "rehearse", "train"), "loop"
)


def __getattr__(name: str) -> Any:
    """Names that need torch, imported on first use."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
