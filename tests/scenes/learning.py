"""A chain of two tasks that takes seconds: a digits world of thirty small images, a tiny recipe.

Run as a program, it learns and is killed on the way: ``learning.py WORLD OUT STAGE STEP``.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

SCRIPT = Path(__file__)


def make_world(folder: Path, **changes) -> Path:
    from openset.worlds.digits import DigitsWorld

    given = {"images": 30, "size": 64, "tasks": 2, "exemplars": 4, "crowds": 0.0, **changes}
    return DigitsWorld(**given).write(folder)


def recipe(**changes):
    from openset.training import Recipe

    held = {
        "detector": "faster_rcnn",
        "options": {"backbone": "small", "shortest": 64, "longest": 64},
        "steps": 6,
        "batch": 2,
        "optimizer": "adamw",
        "lr": 1e-3,
        "ema": 0.9,
        "later": {"steps": 4},
        "finetune": {"steps": 3},
    }
    return Recipe.of({**held, **changes})


def plan(world, **changes):
    from openset.evaluation.settings import Settings
    from openset.learning import Plan

    options = {"device": "cpu", "checkpoint_every": 2, "log_every": 1}
    given = {"recipe": recipe(), "settings": Settings(intervals=False), "options": options}
    return Plan(**{**given, "images": Path(world), **changes})


def learned(world, out, say=lambda stage, progress: None, stop=None, **changes):
    from openset.learning import bundle_of, learn

    return learn(bundle_of(world), plan(world, **changes), out, say=say, stop=stop)


def main() -> None:
    import torch

    torch.set_num_threads(1)
    world, out, stage, step = sys.argv[1:]

    def watch(at, progress):
        if (at.name, progress.step) == (stage, int(step)):
            os.kill(os.getpid(), signal.SIGKILL)

    learned(world, out, watch)


if __name__ == "__main__":
    main()
