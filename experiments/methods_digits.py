"""Train every method for the open set on the digits world, and judge what it finds.

One command, from the repository's root, with the extra ``torch``; minutes of a CPU per training.
Stopped, it goes on where it was; ``--jobs`` trains several at a time:

    python experiments/methods_digits.py --work runs/methods --results experiments/results --jobs 2

`methods_page` puts what it wrote on the page.
Every method is trained with three seeds by the recipe ``digits-small``. A plain detector is judged
with every scorer that needs logits or embeddings alone, and by the means of 30 passes with dropout;
methods by what they say themselves, or by the score of their paper. Scorers are fitted on train
detections that found their object; what exceeds the 95 % quantile of such val detections is called
unknown. Numbers are of test images of another seed. Each training has a file of facts,
``methods_digits/METHOD-SEED.json``; ``methods_digits.json`` has the means over seeds.
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
from openset.detectors import ImageFiles, load, run
from openset.evaluation.result import Evaluation
from openset.evaluation.trainings import Trainings
from openset.findings import InputError
from openset.formats import read_annotations, read_detections, write
from openset.matching import right_detections
from openset.tables import Annotations, Detections
from openset.training import Recipe, TrainingData, train
from openset.version import __version__
from openset.worlds.digits import SPLITS, DigitsWorld

METHODS = ("base", "cosine", "opendet", "opendet_cwa", "vos", "siren")
SCORERS = {"cosine": ("msp", "energy"), "vos": ("energy",), "siren": ("siren_knn", "siren_vmf")}
SAMPLED, DROPOUT = "base, 30 passes", ("dropout_mean", "dropout_logits")
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


def main() -> None:
    """Train, run and judge what is not there yet, and write the means."""
    given = asked(__doc__, METHODS, images=4000).parse_args()
    worlds = Worlds.of(given.work, given.images)
    facts = given.results / "methods_digits"
    facts.mkdir(parents=True, exist_ok=True)
    recipes = [  # one of each first
        recipe_of(method, seed, given.steps) for seed in range(given.seeds) for method in given.only
    ]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        list(pool.map(partial(done, given.work, given.images, facts), recipes))
    write_json(given.results / "methods_digits.json", means(facts, given.work, worlds))


def done(work: Path, images: int, facts: Path, recipe: Recipe) -> None:
    """Write the facts of a training, unless they are there; in any process."""
    name = f"{recipe.name}-{recipe.seed}"
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
    """The same recipe for every method."""
    chosen = {} if method == "base" else {"method": method}
    recipe = Recipe.of("digits-small", seed=seed, name=method, **chosen)
    return recipe if steps is None else recipe.shortened(steps)


def is_done(path: Path, recipe: Recipe) -> bool:
    """Whether the facts of this very training are there."""
    if not path.exists():
        return False
    held: dict[str, Any] = json.loads(path.read_text("utf-8"))["recipe"]
    return held == json.loads(json.dumps(asdict(recipe)))


def facts_of(recipe: Recipe, worlds: Worlds, folder: Path) -> dict[str, Any]:
    """Train, run and judge: all that is known of one training."""
    about = taught(recipe, worlds, folder)
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


def taught(recipe: Recipe, worlds: Worlds, folder: Path) -> dict[str, Any]:
    """Train, and say how; what was trained before has no time."""
    import torch

    data, clock = TrainingData.of(worlds.folders["train"] / "train.json"), Clock(recipe.batch)
    done = train(recipe, data, folder, log_every=100, progress=clock)
    return {
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


def detected(folder: Path, worlds: Worlds, split: str, **options: Any) -> Detections:
    """Detections on a split, with logits and embeddings; kept in the folder of the training."""
    sampled = "passes" in options
    path = folder / f"{split}{'-passes' * sampled}.parquet"
    if not path.exists():
        files = ImageFiles.of_annotations(worlds.truths[split], worlds.folders[split])
        model = load(str(folder / "model.pt"), **options)
        keep = ("logits", "logit_samples") if sampled else ("logits", "embedding")
        write(run(model, files, keep=keep, batch=32, split=f"digits {split}"), path)
    return read_detections(path)


def rows_of(
    method: str, found: Mapping[str, Detections], worlds: Worlds, folder: Path
) -> Iterator[tuple[str, Detections]]:
    """What a training is judged by: the name of a row, and test detections that say unknown."""
    test = found["test"]
    fit, held_out = (right_detections(worlds.truths[s], found[s]) for s in ("train", "val"))
    if method in ("base", "cosine") or method.startswith("opendet"):
        yield method, test
    elif test.unknownness is not None:
        yield method, scorers.calibrate(held_out).relabel(test)
    able = [name for name in scorers.suited(test) if name not in PASSES]
    names = able if method == "base" else SCORERS.get(method, ())
    yield from scored(method, names, fit, held_out, test)
    if method == "base":
        passes = {s: detected(folder, worlds, s, passes=30) for s in ("val", "test")}
        held_out = right_detections(worlds.truths["val"], passes["val"])
        yield from scored(SAMPLED, DROPOUT, fit, held_out, passes["test"])


def scored(
    row: str, names: Sequence[str], fit: Detections, held_out: Detections, test: Detections
) -> Iterator[tuple[str, Detections]]:
    """Test detections of which each scorer calls some unknown."""
    for name in names:
        record = scorers.find(name)
        try:
            fitted = record.fit(None if record.fits_on == "nothing" else fit)
            limit = scorers.calibrate(fitted.scored(held_out))
        except InputError as error:
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


if __name__ == "__main__":
    main()
