"""Training: one plain loop for every trainable detector, and the papers' recipes.

``train(Recipe.of("digits-small"), TrainingData.of("train.json", "images"), "runs/1")`` trains, and
goes on where it was stopped, to the same weights as if it had not been. Under ``torchrun`` the same
call trains on many processes. `Recipe.presets()` lists the recipes that come with the package.

Not a framework: no callbacks that change the training, no distributed strategies beyond one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import openset.detectors  # noqa: F401 - settles how torch's threads wait, before torch is loaded
from openset.late import late
from openset.training.recipe import Recipe

if TYPE_CHECKING:
    from openset.training.data import TrainingData
    from openset.training.loop import Progress, Trained, rehearse, train

__all__ = ["Progress", "Recipe", "Trained", "TrainingData", "rehearse", "train"]
_LOOP = dict.fromkeys(("Progress", "Trained", "rehearse", "train"), "loop")
__getattr__ = late(__name__, {"TrainingData": "data", **_LOOP})  # they need torch
