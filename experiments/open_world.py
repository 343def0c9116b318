r"""Learn the digits world in tasks with every method for the open world, and judge each stage.

From the repository's root, with the extra ``torch``; stopped, it goes on where it was, and
``--jobs`` learns several chains at a time:

    python experiments/open_world.py --work runs/open --results experiments/results --jobs 2
    python experiments/open_world_page.py experiments/results/open_world.json \
        --page docs/results/open-world.md

Unknown objects stand on the training images, unlabelled. Every chain is two tasks and a fine-tuning
by the recipe ``digits-tasks``, with three seeds. *pad* is advised by its own proposals, *pad,
advised by truth* by the boxes of all objects: no method, but what an advisor could do at best. With
*+ cec* the same trainings are judged again, with the expelling classifier of RE-OWOD, its alpha by
the paper's rule on val images.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from methods_digits import asked
from photographs import write_json

from openset.evaluation.run import Run
from openset.evaluation.trainings import Trainings
from openset.formats import read_annotations, write
from openset.learning import Plan, bundle_of, learn
from openset.tables.union import merged
from openset.training import Recipe
from openset.version import __version__
from openset.worlds.digits import DigitsWorld

METRICS = ("ap_previous", "ap_current", "ap_known", "ap_unknown", "unknown_recall", "udr", "udp")
METRICS += ("a_ose", "wilderness_impact")
PAD = {"start": 0.1, "overlap": 0.5, "guide_overlap": 0.7}  # as the recipe pad-digits
STAGES = ("t1", "t2", "t2-ft")


@dataclass(frozen=True)
class Chain:
    """A row of the page: a method with its options, and whether CEC decides."""

    method: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    of: str = ""  # the chain whose trainings it judges again


CHAINS = {
    "base": Chain(),
    "ore": Chain("ore"),
    "pad": Chain("pad", PAD),
    "pad, advised by truth": Chain("pad", PAD),
    "oracle": Chain("oracle"),
    "base + cec": Chain(of="base"),
    "pad + cec": Chain("pad", PAD, of="pad"),
}


def main() -> None:
    """Learn what is not learned yet, and write the means."""
    parser = asked(__doc__, [*CHAINS], images=1000)
    parser.add_argument("--device", default=None)
    given = parser.parse_args()
    made = DigitsWorld(images=given.images, tasks=2, train_unknowns="unlabelled")
    world, truth = made.write(given.work / "world"), given.work / "advice.json"
    parts = [read_annotations(world / f"train-t{task}-complete.json") for task in (1, 2)]
    write(merged(parts, sorted({label for part in parts for label in part.labels})), truth)
    each = [(name, seed) for seed in range(given.seeds) for name in given.only]
    one = partial(learned, world=world, given=given, truth=truth)
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for again in (False, True):  # what judges the trainings of another comes after them
            some = [(name, seed) for name, seed in each if bool(CHAINS[name].of) == again]
            list(pool.map(one, *zip(*some, strict=True)) if some else ())
    given.results.mkdir(parents=True, exist_ok=True)
    write_json(given.results / "open_world.json", means(given.work, given.images))


def learned(name: str, seed: int, world: Path, given: argparse.Namespace, truth: Path) -> None:
    """One chain, or what is left of it."""
    chain, out = CHAINS[name], folder(given.work, name, seed)
    options = {**chain.options}
    if name.endswith("truth") or name == "oracle":
        options["truth" if name == "oracle" else "advisor"] = str(truth)
    if chain.of and not out.exists():
        unjudged = shutil.ignore_patterns("evaluation", "learned.*")
        shutil.copytree(folder(given.work, chain.of, seed), out, ignore=unjudged)
    recipe = Recipe.of("digits-tasks", method=chain.method, method_options=options, seed=seed)
    recipe = recipe if given.steps is None else recipe.scaled(given.steps)
    plan = Plan(recipe, world, expel=bool(chain.of), options={"device": given.device})
    went = learn(bundle_of(world), plan, out)
    print(f"{name}, seed {seed}", *went.learned.lines(), sep="\n", flush=True)


def folder(work: Path, name: str, seed: int) -> Path:
    """Where a chain is."""
    return work / f"{name.replace(' ', '-').replace(',', '')}-{seed}"


def means(work: Path, images: int) -> dict[str, Any]:
    """Every stage of every chain over the seeds that have it."""
    found: dict[str, Any] = {}
    for name in CHAINS:
        stages = {stage: _stage(work, name, stage) for stage in STAGES}
        if all(stages.values()):
            found[name] = stages
    return {"openset": __version__, "images": images, "chains": found}


def _stage(work: Path, name: str, stage: str) -> dict[str, Any] | None:
    places: Sequence[Path] = [
        place
        for seed in range(10)
        if (place := folder(work, name, seed) / "evaluation" / stage).is_dir()
    ]
    if not places:
        return None
    several = Trainings.of([Run.load(place).evaluations["model"] for place in places])
    values = {k: v for k, v in several.document()["values"].items() if k in METRICS}
    return {"runs": len(places), "values": values}


if __name__ == "__main__":
    main()
