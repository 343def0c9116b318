r"""Learn the digits world in tasks with every method for the open world, and judge each stage.

From the repository's root, with the extra ``torch``; stopped, it goes on where it was, and
``--jobs`` learns several chains at a time:

    python experiments/open_world.py --work runs/open --results experiments/results --jobs 2
    python experiments/open_world_page.py experiments/results --page docs/results/open-world.md

Unknown objects stand on the training images, unlabelled. Every chain is two tasks and a fine-tuning
by the recipe ``digits-tasks``, with three seeds. *pad* is advised by its own proposals, *pad,
advised by truth* by the boxes of all objects: no method, but what an advisor could do at best. With
*+ cec* the same trainings are judged again, with the expelling classifier of RE-OWOD, its alpha by
the paper's rule on val images; with *+ ebui* by ORE's identifier, which is fitted on val images
with the labels of unknown objects. What is needed for the page is kept in ``WORK/kept``, but for
the recall by the ten best boxes of an image, which is asked of the evaluations themselves.

`open_world_photos` does the same on photographs.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from methods_digits import asked
from photographs import write_json

from openset import scorers
from openset.evaluation.comparison import compare
from openset.evaluation.result import Evaluation
from openset.evaluation.run import Run, evaluate_all
from openset.evaluation.settings import Settings
from openset.evaluation.trainings import Trainings
from openset.findings import InputError
from openset.formats import read_annotations, write
from openset.learning import Plan, bundle_of, learn
from openset.matching import told_detections
from openset.scorers import Fitted
from openset.tables import Annotations, Detections
from openset.tables.union import merged
from openset.training import Recipe
from openset.version import __version__
from openset.worlds.digits import DigitsWorld

METRICS = ("ap_previous", "ap_current", "ap_known", "ap_unknown", "unknown_recall", "udr", "udp")
METRICS += ("a_ose", "wilderness_impact")
PAD = {"start": 0.1, "overlap": 0.5, "guide_overlap": 0.7}  # as the recipe pad-digits
AT_ONCE = {"start": 0.0}  # in fine-tunings, too, unlike in the release
KEPT, ABOUT, REFUSED = "kept", "about.json", "refused.json"


@dataclass(frozen=True)
class Chain:
    """A row of the page: a method with its options, and whether a rule decides.

    Attributes:
        method: Its name; empty is none.
        options: Its options.
        later: Those that are others in later tasks and fine-tunings.
        of: The chain whose trainings it judges again.
        rule: By which rule: ``cec`` or ``ebui``.
    """

    method: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    later: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    rule: str = ""


TOLD = "ore + ebui"
CHAINS = {
    "base": Chain(),
    "base + cec": Chain(of="base", rule="cec"),
    "ore": Chain("ore"),
    TOLD: Chain("ore", of="ore", rule="ebui"),
    "pad": Chain("pad", PAD, AT_ONCE),
    "pad + cec": Chain("pad", PAD, AT_ONCE, of="pad", rule="cec"),
    "pad, advised by truth": Chain("pad", PAD, AT_ONCE),
    "oracle": Chain("oracle"),
}
# Pairs that papers say something about: the reference, and what is compared with it.
COMPARED = (
    ("base", "ore"),
    ("base", "pad"),
    ("ore", "pad"),
    ("ore", "pad, advised by truth"),
    ("base", "base + cec"),
    ("pad", "pad + cec"),
    ("ore", "pad + cec"),
    ("ore", TOLD),
    ("base", "oracle"),
)


ADVISED = ("ore", "pad, advised by truth")  # whose recall of all boxes is near its ceiling


@dataclass(frozen=True)
class Course:
    """What is learned: a benchmark with its pictures, and how.

    Attributes:
        bundle: Its folder.
        images: What names of pictures are relative to.
        recipe: How, without method and seed.
        told: Val images of a task with the labels of unknown objects, ``{}`` being the task.
        settings: How stages are evaluated.
        options: Of training.
        running: Of running.
    """

    bundle: Path
    images: Path
    recipe: Recipe
    told: str = "val-t{}-complete.json"
    settings: Settings = field(default_factory=Settings)
    options: Mapping[str, Any] = field(default_factory=dict)
    running: Mapping[str, Any] = field(default_factory=dict)


def main() -> None:
    """Learn what is not learned yet, and write the means."""
    parser = asked(__doc__, [*CHAINS], images=1000)
    parser.add_argument("--device", default=None)
    given = parser.parse_args()
    made = DigitsWorld(images=given.images, tasks=2, train_unknowns="unlabelled")
    world, truth = made.write(given.work / "world"), given.work / "advice.json"
    parts = [read_annotations(world / f"train-t{task}-complete.json") for task in (1, 2)]
    write(merged(parts, sorted({label for part in parts for label in part.labels})), truth)
    recipe = Recipe.of("digits-tasks")
    recipe = recipe if given.steps is None else recipe.scaled(given.steps)
    course = Course(
        world,
        world,
        recipe,
        settings=Settings(force=given.steps is not None),  # so few steps may teach nothing
        options={"device": given.device, "hold": True},
    )
    chains = {
        name: replace(chain, options={**chain.options, **_told(name, truth)})
        for name, chain in CHAINS.items()
    }
    each = [(name, seed) for seed in range(given.seeds) for name in given.only]
    learn_all(each, chains, course, given.work, given.jobs)
    given.results.mkdir(parents=True, exist_ok=True)
    facts = {"images": given.images, **means(given.work)}
    write_json(given.results / "open_world.json", facts)
    if best := by_best_boxes(given.work):
        write_json(given.results / "open_world_best.json", best)


def _told(name: str, truth: Path) -> dict[str, str]:
    """What rows are told that are no methods."""
    held = {"oracle": "truth", "pad, advised by truth": "advisor"}
    return {held[name]: str(truth)} if name in held else {}


def learn_all(
    each: Sequence[tuple[str, int]],
    chains: Mapping[str, Chain],
    course: Course,
    work: Path,
    jobs: int,
) -> None:
    """All chains with their seeds, several at a time; those that judge another's come after it."""
    families: dict[tuple[str, int], list[str]] = {}
    for name, seed in each:
        families.setdefault((chains[name].of or name, seed), []).append(name)
    one = partial(_learned, chains=chains, course=course, work=work)
    with ProcessPoolExecutor(jobs, get_context("spawn"), _share, (jobs,)) as pool:
        list(pool.map(one, families.values(), [seed for _, seed in families]))


def _learned(names: Sequence[str], seed: int, **how: Any) -> None:
    """Chains of the same trainings, the one that trains first."""
    for name in sorted(names, key=lambda one: bool(CHAINS[one].of)):
        learned(name, seed, **how)


def _share(jobs: int) -> None:
    """Processes that run beside one another share the processors."""
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    torch.set_num_threads(max(1, (cores or 1) // jobs))
    torch.backends.cudnn.benchmark = True


def learned(name: str, seed: int, chains: Mapping[str, Chain], course: Course, work: Path) -> None:
    """One chain, or what is left of it."""
    chain, out, began = chains[name], folder(work, name, seed), time.perf_counter()
    if chain.of and not out.exists():
        unjudged = shutil.ignore_patterns("evaluation", "learned.*")
        source = folder(work, chain.of, seed)
        shutil.copytree(source, out, ignore=unjudged, copy_function=os.link)
    plan = Plan(
        _recipe(course.recipe, chain, seed),
        course.images,
        settings=course.settings,
        expel=chain.rule == "cec",
        options=dict(course.options),
        running=dict(course.running),
        force=course.settings.force,
    )
    if chain.rule == "ebui":
        write_json(out / REFUSED, judge_told(course, plan, out))
    else:
        say = lambda stage, at: print(name, seed, stage.name, at.step, flush=True)  # noqa: E731
        went = learn(bundle_of(course.bundle), plan, out, say=say)
        print(f"{name}, seed {seed}", *went.learned.lines(), *went.findings, sep="\n", flush=True)
    keep(work, name, seed, time.perf_counter() - began)


def _recipe(recipe: Recipe, chain: Chain, seed: int) -> Recipe:
    """The recipe of a chain, in all its tasks."""
    changes: dict[str, Any] = {"method": chain.method, "method_options": dict(chain.options)}
    if chain.later:
        told = {"method_options": dict(chain.later)}
        changes |= {"later": {**recipe.later, **told}, "finetune": {**recipe.finetune, **told}}
    return Recipe.of(recipe, seed=seed, **changes)


def judge_told(course: Course, plan: Plan, out: Path) -> dict[str, str]:
    """Judge the stages of a chain by EBUI, which is told which val objects are unknown.

    Where no object is unknown any more there is nothing to fit it on, and the detector stands as it
    is: so ORE and ORE* are one in the last task of the paper, too.

    Returns:
        What it says of every stage if it is told of known objects only.
    """
    from openset.detectors import ImageFiles, load, run
    from openset.scorers.ebui import EbuiRule

    refused = {}
    for model in sorted(out.glob("t*/model.pt")):
        stage, task = model.parent.name, int(model.parent.name[1])
        loaded = load(str(model), device=plan.options.get("device"))
        running = {**plan.running, "keep": ("logits",)}
        test, told, known = (
            read_annotations(course.bundle / name.format(task))
            for name in ("test-t{}.json", course.told, "val-t{}.json")
        )
        found, seen = (
            run(loaded, ImageFiles.of_annotations(table, course.images), split=split, **running)
            for table, split in ((test, "test"), (told, "val"))
        )
        by, _ = _ebui(told, seen)
        found = found if by is None else EbuiRule(fitted=by).apply(found)
        refused[stage] = _ebui(known, seen)[1]
        place = out / "evaluation" / stage
        place.parent.mkdir(exist_ok=True)
        evaluate_all(test, {"model": found}, settings=plan.settings).save(place)
    return refused


def _ebui(truth: Annotations, seen: Detections) -> tuple[Fitted | None, str]:
    """EBUI as fitted on detections on the objects of a ground truth, or why it cannot be."""
    try:
        return scorers.find("ebui").fit(told_detections(truth, seen)), ""
    except InputError as error:
        return None, f"{error.findings[0].code}: {error.findings[0].message}"


def folder(work: Path, name: str, seed: int) -> Path:
    """Where a chain is."""
    return work / f"{name.replace(' ', '-').replace(',', '')}-{seed}"


def keep(work: Path, chain: str, seed: int, seconds: float) -> None:
    """What the page needs of a chain: few numbers, with every resample, and what it cost."""
    out, kept = folder(work, chain, seed), folder(work / KEPT, chain, seed)
    kept.mkdir(parents=True, exist_ok=True)
    for place in sorted((out / "evaluation").iterdir()):
        result = Evaluation.from_json(place / "model.result.json")
        slim(result).to_json(kept / f"{place.name}.json", replicates=True)
    for name in ("learned.json", REFUSED):
        if (out / name).is_file():
            shutil.copy(out / name, kept)
    before = _read(kept / ABOUT)["seconds"] if (kept / ABOUT).is_file() else 0.0
    steps = sum(_read(path)["recipe"]["steps"] for path in out.glob("t*/run.json"))
    about = {"seconds": round(before + seconds, 1), "steps": steps, **machine()}
    write_json(kept / ABOUT, about)


def slim(result: Evaluation) -> Evaluation:
    """Only the metrics of the page."""
    values = {name: value for name, value in result.values.items() if name in METRICS}
    drawn = {name: values for name, values in result.replicates.items() if name in METRICS}
    return replace(result, values=values, replicates=drawn)


def machine() -> dict[str, Any]:
    """What it was measured on."""
    import torch

    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return {"on": name, "torch": str(torch.__version__), "threads": torch.get_num_threads()}


def means(work: Path) -> dict[str, Any]:
    """Every stage of every chain over the seeds that have it, and how chains differ."""
    names = sorted({path.stem for path in (work / KEPT).glob("*/t*.json")})
    results = {stage: _results(work, stage) for stage in names}
    return {
        "openset": __version__,
        "stages": {
            stage: {name: one.document() for name, one in rows.items()}
            for stage, rows in results.items()
        },
        "differences": {stage: differences(rows) for stage, rows in results.items()},
        "restored": {
            stage: restored(results[stage], results[f"{stage}-ft"])
            for stage in names
            if f"{stage}-ft" in results
        },
        "cost": [
            {"chain": name, "seed": int(place.name.rpartition("-")[2]), **_read(place / ABOUT)}
            for name in CHAINS
            for place in _kept(work, name)
        ],
        "learned": {
            name: _read(place / "learned.json")
            for name in CHAINS
            for place in _kept(work, name)[:1]
            if (place / "learned.json").is_file()
        },
        "refused": [_read(p / REFUSED) for p in _kept(work, TOLD) if (p / REFUSED).is_file()],
    }


def _results(work: Path, stage: str) -> dict[str, Trainings]:
    """Every chain that has come to a stage."""
    files = {name: [place / f"{stage}.json" for place in _kept(work, name)] for name in CHAINS}
    return {
        name: Trainings.of([Evaluation.from_json(path) for path in some])
        for name, some in files.items()
        if some and all(path.is_file() for path in some)
    }


def _kept(work: Path, name: str) -> list[Path]:
    places = (folder(work / KEPT, name, seed) for seed in range(10))
    return [place for place in places if (place / ABOUT).is_file()]


def _read(path: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return held


def differences(rows: Mapping[str, Trainings]) -> list[dict[str, Any]]:
    """How chains differ that papers compare; those of the same trainings are paired."""
    return [
        {
            "first": first,
            "second": second,
            "values": _differences(rows[first], rows[second], CHAINS[second].of == first),
        }
        for first, second in COMPARED
        if first in rows and second in rows
    ]


def restored(before: Mapping[str, Trainings], after: Mapping[str, Trainings]) -> dict[str, Any]:
    """What fine-tuning changes in every chain."""
    return {
        name: _differences(one, after[name], paired=True)
        for name, one in before.items()
        if name in after
    }


def by_best_boxes(work: Path, rows: tuple[str, str] = ADVISED, most: int = 10) -> dict[str, Any]:
    """How two rows differ in the recall of unknowns, if an image has only so many boxes."""
    stages: dict[str, Any] = {}
    for place in sorted((folder(work, rows[0], 0) / "evaluation").glob("t*")):
        runs = {
            name: [Run.load(one) for seed in range(10) if (one := _judged(work, name, seed, place))]
            for name in rows
        }
        if all(runs.values()):
            best, every = (_recalls(runs, many) for many in (most, None))
            stages[place.name] = {
                "rows": {name: one.document() for name, one in best.items()},
                "values": _differences(best[rows[0]], best[rows[1]], paired=False),
                "of_all": _differences(every[rows[0]], every[rows[1]], paired=False),
            }
    on = {"first": rows[0], "second": rows[1], "boxes": most, **machine()}
    return {**on, "stages": stages} if stages else {}


def _recalls(runs: Mapping[str, Sequence[Run]], most: int | None) -> dict[str, Trainings]:
    """The recall of unknowns by the best boxes of an image, or by all of them."""
    truth = next(iter(runs.values()))[0].truth
    found = {
        name: [
            run.detections["model"] if most is None else best_boxes(run.detections["model"], most)
            for run in some
        ]
        for name, some in runs.items()
    }
    return dict(evaluate_all(truth, found, metrics=["unknown_recall"]).results)


def _judged(work: Path, name: str, seed: int, stage: Path) -> Path | None:
    place = folder(work, name, seed) / "evaluation" / stage.name
    return place if place.is_dir() else None


def best_boxes(found: Detections, most: int) -> Detections:
    """The detections of every image with the highest scores."""
    image = np.unique(found.image, return_inverse=True)[1]
    order = np.lexsort((-found.score, image))
    first = np.searchsorted(image[order], image[order], "left")
    return found.select(np.sort(order[np.arange(len(order)) - first < most]))


def _differences(first: Trainings, second: Trainings, paired: bool) -> dict[str, Any]:
    paired = paired and len(first) == len(second)
    return {
        name: {"difference": one.difference, "interval": one.interval, "p": one.p}
        for name, one in compare(first, second, paired=paired).differences.items()
    }


if __name__ == "__main__":
    main()
