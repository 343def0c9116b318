"""Train every method for the open set on the digits world, and judge what it finds.

One command, from the repository's root, with the extra ``torch``; minutes of a CPU per training.
Stopped, it goes on where it was; ``--jobs`` trains several at a time:

    python experiments/methods_digits.py --work runs/methods --results experiments/results --jobs 2

`methods_page` puts what it wrote on the page.
Every method is trained with three seeds by the recipe ``digits-small``, those of queries by
``digits-rtdetr``. A plain detector is judged with every scorer that needs logits or embeddings
alone, that with regions also by SAFE, by the gamma rule and by the means of 30 passes with dropout;
methods by what they say themselves, or by the score of their paper. Scorers are fitted on train
detections that found their object; what exceeds the 95 % quantile of such val detections is called
unknown. The gamma rule is chosen on known objects of val. Numbers are of test images of another
seed. Each training has a file of facts, ``methods_digits/METHOD-SEED.json``;
``methods_digits.json`` has the means over seeds, and keeps those of methods that are not asked for
(``--only``). Trainings may be made on another machine (``--train-only``) and brought here in their
folders.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from digits_page import PASSES, TEST_SEED, TEST_TIMES
from photographs import METRICS, Clock, write_json

import openset
from openset import scorers
from openset.detectors import OF_REGIONS, ImageFiles, attack, load, run
from openset.evaluation.choosing import choose
from openset.evaluation.result import Evaluation
from openset.evaluation.trainings import Trainings
from openset.findings import InputError, OpenSetError
from openset.formats import read_annotations, read_detections, write
from openset.matching import right_detections
from openset.scorers.gamma_rule import GammaRule
from openset.tables import Annotations, Detections
from openset.training import Recipe, TrainingData, train
from openset.version import __version__
from openset.worlds.digits import SPLITS, DigitsWorld

ON_REGIONS = ("base", "cosine", "opendet", "opendet_cwa", "vos", "siren")
ON_QUERIES = {"rt_detr": "digits-rtdetr", "prob": "digits-prob", "siren_detr": "siren-detr-digits"}
METHODS = (*ON_REGIONS, *ON_QUERIES)
PLAIN = ("base", "rt_detr")
ITSELF = (*PLAIN, "cosine", "opendet", "opendet_cwa", "prob")  # judged by what it says itself
OF_SIREN = ("siren_knn", "siren_vmf")
SCORERS = {
    "cosine": ("msp", "energy"),
    "vos": ("energy",),
    "siren": OF_SIREN,
    "siren_detr": OF_SIREN,
}
SAMPLED, DROPOUT = "base, 30 passes", ("dropout_mean", "dropout_logits")
ATTACKED = 10  # boxes of a picture that SAFE is fitted on, the surest
GAMMA, GAMMAS = "base, gamma rule", (1.5, 2, 3, 4, 5, 10, 15, 50)
RESULT = ".result.json"


class Worlds(NamedTuple):
    """Where images are, and what is on them."""

    folders: Mapping[str, Path]
    truths: Mapping[str, Annotations]

    @classmethod
    def of(cls, work: Path, images: int) -> Worlds:
        """Train and val images of one world, test images of another, made here if need be."""
        taught = DigitsWorld(images=images).write(work / "world")
        fresh = DigitsWorld(images=TEST_TIMES * images, seed=TEST_SEED).write(work / "fresh")
        folders = {"train": taught, "val": taught, "test": fresh}
        return cls(folders, {s: read_annotations(folders[s] / f"{s}.json") for s in SPLITS})

    def files(self, split: str) -> ImageFiles:
        """The pictures of a split."""
        return ImageFiles.of_annotations(self.truths[split], self.folders[split])


def main() -> None:
    """Train, run and judge what is not there yet, and write the means."""
    parser = asked(__doc__, METHODS, images=4000)
    parser.add_argument("--train-only", action="store_true", help="judge on another machine")
    given = parser.parse_args()
    recipes = [  # one of each first
        recipe_of(method, seed, given.steps) for seed in range(given.seeds) for method in given.only
    ]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        if given.train_only:
            world = DigitsWorld(images=given.images).write(given.work / "world")
            folders = [given.work / name_of(recipe) for recipe in recipes]
            list(pool.map(taught, recipes, [world] * len(recipes), folders))
            return
        worlds = Worlds.of(given.work, given.images)
        facts = given.results / "methods_digits"
        facts.mkdir(parents=True, exist_ok=True)
        list(pool.map(partial(done, given.work, given.images, facts), recipes))
    path = given.results / "methods_digits.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else None
    write_json(path, added(before, means(facts, given.work, worlds)))


def name_of(recipe: Recipe) -> str:
    """What the files of a training are called."""
    return f"{recipe.name}-{recipe.seed}"


def done(work: Path, images: int, facts: Path, recipe: Recipe) -> None:
    """Write the facts of a training, unless they are there; in any process."""
    name = name_of(recipe)
    path = facts / f"{name}.json"
    if not is_done(path, recipe):
        write_json(path, facts_of(recipe, Worlds.of(work, images), work / name))
        print(f"wrote {path}", flush=True)


def asked(doc: str | None, rows: Sequence[str], images: int) -> argparse.ArgumentParser:
    """What scripts ask for that train the rows of a table on a digits world, with some seeds."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--images", type=int, default=images)
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each row")
    parser.add_argument("--only", choices=rows, nargs="*", default=rows)
    parser.add_argument("--steps", type=int, help="fewer steps, to try the script out")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    return parser


def recipe_of(method: str, seed: int, steps: int | None = None) -> Recipe:
    """The same recipe for every method on regions; those on queries have the package's."""
    chosen = {} if method in ("base", *ON_QUERIES) else {"method": method}
    recipe = Recipe.of(ON_QUERIES.get(method, "digits-small"), seed=seed, name=method, **chosen)
    return recipe if steps is None else recipe.shortened(steps)


def is_done(path: Path, recipe: Recipe) -> bool:
    """Whether the facts of this very training are there."""
    if not path.exists():
        return False
    held: dict[str, Any] = json.loads(path.read_text("utf-8"))["recipe"]
    return held == json.loads(json.dumps(asdict(recipe)))


def facts_of(recipe: Recipe, worlds: Worlds, folder: Path) -> dict[str, Any]:
    """Train, run and judge: all that is known of one training."""
    about = taught(recipe, worlds.folders["train"], folder)
    start = time.perf_counter()
    found = {split: detected(folder, worlds, split) for split in SPLITS}
    about["run_seconds"] = round(time.perf_counter() - start, 1)
    about["rows"] = {}
    tried = recipe.steps < recipe_of(recipe.name, 0).steps  # it may have learned nothing
    for name, named in rows_of(recipe.name, found, worlds, folder):
        result = openset.evaluate(worlds.truths["test"], named, metrics=METRICS, force=tried)
        result.to_json(folder / f"{name}{RESULT}", replicates=True)
        values = {key: value.value for key, value in result.values.items()}
        about["rows"][name] = {"values": values, "ledger": scorers.ledger.summary(named)}
        print(f"{folder.name}: {name}", flush=True)
    return about


def taught(recipe: Recipe, world: Path, folder: Path) -> dict[str, Any]:
    """Train, and say how; what was trained before, on any machine, has kept what it said."""
    import torch

    path = folder / "about.json"
    if is_done(path, recipe):
        held: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return held
    data, clock = TrainingData.of(world / "train.json"), Clock(recipe.batch)
    done = train(recipe, data, folder, log_every=100, progress=clock)
    about = {
        "method": recipe.name,
        "seed": recipe.seed,
        "recipe": asdict(recipe),
        "images": len(data),
        "objects": sum(map(len, data.boxes)),
        "seconds": None if done.resumed else round(done.seconds, 1),
        "findings": [f"{finding.code}: {finding.message}" for finding in done.findings],
        "versions": {"openset": __version__, "torch": str(torch.__version__)},
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "threads": torch.get_num_threads(),
    }
    write_json(path, about)
    return about


KINDS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "": ({}, {"keep": ("logits", "embedding")}),
    "-passes": ({"passes": 30}, {"keep": ("logits", "logit_samples")}),
    "-shortcut": ({"score": 0.05}, {"keep": ("logits", "shortcut")}),
    "-regions": ({}, {"keep": OF_REGIONS[:2], "regions": True}),
}
"""What is kept of a run, by the end of its file's name: options of the detector, and of the run."""


def detected(folder: Path, worlds: Worlds, split: str, kind: str = "") -> Detections:
    """Detections on a split, with evidence of a kind; kept in the folder of the training."""
    path = folder / f"{split}{kind}.parquet"
    if not path.exists():
        options, how = KINDS[kind]
        model, files = load(str(folder / "model.pt"), **options), worlds.files(split)
        write(run(model, files, batch=32, split=f"digits {split}", **how), path)
    return read_detections(path)


def attacked(folder: Path, worlds: Worlds) -> Detections:
    """Train detections, with the shortcuts of pictures that were changed to deceive, too."""
    path = folder / "train-attacked.parquet"
    if not path.exists():
        model = load(str(folder / "model.pt"), score=0.05)
        truth, files = worlds.truths["train"], worlds.files("train")
        write(attack(model, files, truth, most=ATTACKED, split="digits train"), path)
    return read_detections(path)


def rows_of(
    method: str, found: Mapping[str, Detections], worlds: Worlds, folder: Path
) -> Iterator[tuple[str, Detections]]:
    """What a training is judged by: the name of a row, and test detections that say unknown."""
    test = found["test"]
    fit, held_out = (right_detections(worlds.truths[s], found[s]) for s in ("train", "val"))
    if method in ITSELF:
        yield method, test
    elif test.unknownness is not None:
        try:
            limit = scorers.calibrate(held_out)
        except OpenSetError as error:  # tried out with few steps, it has found no object yet
            print(f"left out {method}: {error}", flush=True)
        else:
            yield method, limit.relabel(test)
    able = {name: how for name, how in scorers.suited(test).items() if name not in PASSES}
    asked = able if method in PLAIN else {name: {} for name in SCORERS.get(method, ())}
    yield from scored(method, asked, fit, held_out, test)
    if method == "base":
        yield from of_regions(worlds, folder, fit)


def of_regions(worlds: Worlds, folder: Path, fit: Detections) -> Iterator[tuple[str, Detections]]:
    """What needs other runs of the plain detector: dropout, SAFE and the gamma rule."""
    for row, kind, names in ((SAMPLED, "-passes", DROPOUT), ("base", "-shortcut", ("safe",))):
        found = {split: detected(folder, worlds, split, kind) for split in ("val", "test")}
        held_out = right_detections(worlds.truths["val"], found["val"])
        taught_on = attacked(folder, worlds) if kind == "-shortcut" else fit
        yield from scored(row, {name: {} for name in names}, taught_on, held_out, found["test"])
    regions = {split: detected(folder, worlds, split, "-regions") for split in ("val", "test")}
    rules = [GammaRule(gamma=gamma) for gamma in GAMMAS]
    try:
        chosen = choose(rules, regions["val"], worlds.truths["val"]).rule
    except InputError as error:
        print(f"left out {GAMMA}: {error}", flush=True)
    else:
        yield GAMMA, chosen.apply(regions["test"], regions["val"])


def scored(
    row: str,
    asked: Mapping[str, Mapping[str, Any]],
    fit: Detections,
    held_out: Detections,
    test: Detections,
) -> Iterator[tuple[str, Detections]]:
    """Test detections of which each scorer, with its options, calls some unknown."""
    for name, options in asked.items():
        record = scorers.find(name)
        try:
            fitted = record.fit(None if record.fits_on == "nothing" else fit, **options)
            limit = scorers.calibrate(fitted.scored(held_out))
        except OpenSetError as error:
            print(f"left out {row} + {name}: {error}", flush=True)
        else:
            yield f"{row} + {name}", limit.relabel(fitted.scored(test))


def means(facts: Path, work: Path, worlds: Worlds) -> dict[str, Any]:
    """Every row over the seeds that have it, with intervals of images and training together."""
    abouts = [json.loads(path.read_text("utf-8")) for path in sorted(facts.glob("*.json"))]
    abouts.sort(key=lambda one: (METHODS.index(one["method"]), one["seed"]))
    results: dict[str, list[Evaluation]] = {}
    for one in abouts:
        for name in one["rows"]:
            path = work / f"{one['method']}-{one['seed']}" / f"{name}{RESULT}"
            results.setdefault(name, []).append(Evaluation.from_json(path))
    return {
        "images": {split: len(truth.images) for split, truth in worlds.truths.items()},
        "methods": {name: Trainings.of(some).document() for name, some in results.items()},
        "trainings": [{k: v for k, v in one.items() if k != "rows"} for one in abouts],
    }


def added(before: Mapping[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """What was judged before, and what is new in its place; a method counts with all its rows."""
    if before is None:
        return new
    if before["images"] != new["images"]:
        raise SystemExit("what was judged before is of other images")
    mine = {one["method"] for one in new["trainings"]}
    stay = {name: one for name, one in before["methods"].items() if method_of(name) not in mine}
    there = {one["method"] for one in before["trainings"]} | mine
    order = [name for name in METHODS if name in there]
    methods = {**stay, **new["methods"]}
    trainings = [one for one in before["trainings"] if one["method"] not in mine]
    return {
        "images": new["images"],
        "methods": dict(sorted(methods.items(), key=lambda one: order.index(method_of(one[0])))),
        "trainings": sorted(
            trainings + new["trainings"],
            key=lambda one: (order.index(one["method"]), one["seed"]),
        ),
    }


def method_of(row: str) -> str:
    """The method of a row: ``base`` of ``base, 30 passes + dropout_mean``."""
    return row.partition(" + ")[0].partition(", ")[0]


if __name__ == "__main__":
    main()
