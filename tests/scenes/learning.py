"""A chain of two tasks that takes seconds: a digits world of thirty small images, a tiny recipe.

Run as a program, it learns: ``learning.py WORLD OUT``. With a number (``learning.py WORLD OUT 10``)
it learns that often, each time into a folder of its own, and is killed at a moment of its own. A
moment is a logged step, or the opening, renaming or removing of anything in the folder.
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
    from scenes import training

    return training.recipe(
        **{"steps": 6, "later": {"steps": 4}, "finetune": {"steps": 3}, **changes}
    )


def plan(world, **changes):
    from openset.evaluation.settings import Settings
    from openset.learning import Plan

    options = {"device": "cpu", "checkpoint_every": 2, "log_every": 1}
    given = {"recipe": recipe(), "settings": Settings(intervals=False), "options": options}
    return Plan(**{**given, "images": Path(world), **changes})


def learned(world, out, say=lambda stage, progress: None, stop=None, **changes):
    from openset.learning import bundle_of, learn

    return learn(bundle_of(world), plan(world, **changes), out, say=say, stop=stop)


class Moments:
    """Counts moments of a chain, and ends the process at one of them."""

    FILES = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"})

    def __init__(self, out: Path, last: int) -> None:
        self.out, self.last, self.count = str(out), last, 0
        sys.addaudithook(self.touched)

    def touched(self, event: str, given: tuple[object, ...]) -> None:
        if event in self.FILES and str(given[0]).startswith(self.out):
            self.pass_by()

    def pass_by(self, *at: object) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def apart(world: str, out: Path, last: int) -> int:
    """Learn in a process of its own that ends at a moment; how it ended."""
    if child := os.fork():  # what was imported need not be imported again
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    moments = Moments(out, last)
    learned(world, out, moments.pass_by)
    (out.parent / "count.txt").write_text(str(moments.count))
    os._exit(0)


def main() -> None:
    import random

    import torch

    torch.set_num_threads(1)
    world, out, times = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    if not times:
        learned(world, out)
        return
    assert apart(world, out / "whole", 0) == 0
    count = int((out / "count.txt").read_text())
    for at, last in enumerate(random.Random(0).sample(range(1, count), int(times[0]))):
        assert apart(world, out / str(at), last) == -signal.SIGKILL, (at, last)


if __name__ == "__main__":
    sys.path.insert(0, str(SCRIPT.parents[1]))  # where pytest finds scenes
    main()
