"""Write the results page of the digits world: every scorer on every detector of the example.

One command, from the repository's root, with the extras ``torch`` and ``transformers``; it trains
what `make_digits` has not trained yet, every detector with three seeds, which takes hours of a CPU
(``--only digits-small``: one of them; ``--seeds 3 1 1 1``: the first alone has three):

    python experiments/digits_page.py --work runs/digits --page docs/results/digits.md

Scorers are fitted on the train images, thresholds are set on the val images. Numbers are of test
images of another seed, with digits that no other split shows: methods, recipes and this page were
made with the first seed's in view. Nothing on the page is typed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from make_digits import RECIPES, detected, trained
from numpy.typing import NDArray

from openset import scorers
from openset.detectors import find
from openset.evaluation.numbers import number
from openset.evaluation.run import evaluate_all
from openset.files import replacing
from openset.formats import read_annotations, read_detections
from openset.matching import match, right_detections
from openset.metrics import table as metrics
from openset.metrics.load import best_threshold
from openset.render import Table
from openset.resampling.draws import draw
from openset.resampling.intervals import ALPHA, false_discovery, interval, judged
from openset.resampling.trainings import spread
from openset.tables import Annotations, Detections, Vocabulary
from openset.training import Recipe
from openset.version import __version__
from openset.worlds.digits import SPLITS, DigitsWorld

BASELINE = "msp"
TEST_SEED, TEST_TIMES = 2, 3  # enough images to tell a weak scorer from chance
PASSES = ("dropout_observations",)  # reads detections of many passes with dropout, not of one
COLUMNS = ("unknown_recall", "wilderness_impact", "a_ose", "ap_known", "auroc")
Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A scorer on a detector, which was trained once or several times.

    Attributes:
        scorer: Its name.
        auroc: Known against unknown boxes, a row per training; first of the data, then of each
            resample.
        fpr: Share of unknown boxes that pass for known when 95 % of known boxes do.
        values: Metrics of the test images after the threshold, as shown.
        ledger: What was fitted on what.
        whole: AUROC of the data without a minimum score, where the other one has one.
    """

    scorer: str
    auroc: Weights
    fpr: float
    values: Mapping[str, str]
    ledger: str
    whole: float | None = None

    @property
    def mean(self) -> float:
        """AUROC of the data, over trainings."""
        return float(self.auroc[:, 0].mean())

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % interval of the AUROC."""
        drawn = self.auroc[:, 1:].mean(axis=0)
        return interval(drawn, self.mean, training=spread(self.auroc[:, 0])) or (0.0, 1.0)

    def gain(self, baseline: Row) -> Gain:
        """Difference of the AUROC from a baseline on the same detectors and images."""
        each = self.auroc - baseline.auroc
        by_training = spread(each[:, 0])
        value, drawn = float(each[:, 0].mean()), each[:, 1:].mean(axis=0)
        ends, p = judged(drawn, value, [by_training] if by_training else []) or ((-1.0, 1.0), None)
        return Gain(value, ends, p)


class Gain(NamedTuple):
    """A difference, its interval, and p of none."""

    value: float
    ends: tuple[float, float]
    p: float | None

    @property
    def star(self) -> bool:
        """Whether it is more than chance."""
        return self.p is not None and self.p < ALPHA


def main() -> None:
    """Train, run, score, evaluate, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=list(RECIPES), choices=RECIPES)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--steps", type=int, help="fewer steps, to try the script out")
    parser.add_argument("--seeds", type=int, nargs="+", default=[3], help="of each, or for each")
    parser.add_argument("--jobs", type=int, default=1, help="trainings or detectors at a time")
    given = parser.parse_args()
    made = DigitsWorld(images=given.images)
    tested = DigitsWorld(images=TEST_TIMES * given.images, seed=TEST_SEED)
    world, fresh = made.write(given.work / "world"), tested.write(given.work / "fresh")
    many = given.seeds * len(given.only) if len(given.seeds) == 1 else given.seeds
    seeds = dict(zip(given.only, many, strict=True))
    job = Job(given.work, {"train": world, "val": world, "test": fresh}, given.steps, seeds)
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        each = [(name, seed) for name in seeds for seed in range(seeds[name])]
        list(pool.map(job.found, *zip(*each, strict=True)))
        held = dict(zip(seeds, pool.map(job.judged, seeds), strict=True))
    tables = {find(job.recipe(name).detector).title: held[name][0] for name in seeds}
    parts = [section(title, job.recipe(name), seeds[name], *held[name])
             for title, name in zip(tables, seeds, strict=True)]  # fmt: skip
    with replacing(given.page, folder=False) as part:
        compared = [overview(tables)] if len(tables) > 1 else []
        text = "\n\n".join([opening(made, tested, seeds), *compared, *parts])
        part.write_text(text + "\n", "utf-8")


@dataclass(frozen=True)
class Job:
    """What is trained and judged, in any process.

    Attributes:
        work: Where trainings and detections are.
        worlds: The folder of each split.
        steps: Fewer steps than the recipes have, or None.
        seeds: Trainings of each recipe.
    """

    work: Path
    worlds: Mapping[str, Path]
    steps: int | None
    seeds: Mapping[str, int]

    def recipe(self, name: str) -> Recipe:
        """As it is trained."""
        recipe = Recipe.of(name)
        return recipe if self.steps is None else recipe.shortened(self.steps)

    def found(self, name: str, seed: int) -> dict[str, Path]:
        """Train with a seed and run on all splits, unless that is there; files of detections."""
        folder = self.work / (f"{name}-{seed}" if seed else name)  # `make_digits` has the first
        model = trained(replace(self.recipe(name), seed=seed), self.worlds["train"], folder)
        return {split: detected(model, self.worlds[split], split) for split in SPLITS}

    def judged(self, name: str) -> tuple[list[Row], dict[str, str]]:
        """Every scorer on a detector, and the detector alone."""
        truths = {split: read_annotations(self.worlds[split] / f"{split}.json") for split in SPLITS}
        found = [
            {split: read_detections(path) for split, path in self.found(name, seed).items()}
            for seed in range(self.seeds[name])
        ]
        rows = rows_of(truths, found)
        print(f"{name}: done", flush=True)
        return rows, closed_set(truths, found)


Found = Mapping[str, Detections]
"""The detections of one training, by split."""


class Once(NamedTuple):
    """A scorer on one training: AUROC and its resamples, without a minimum score, FPR95, boxes."""

    auroc: Weights
    whole: float
    fpr: float
    named: Detections


def rows_of(truths: Mapping[str, Annotations], found: Sequence[Found]) -> list[Row]:
    """Every scorer that the evidence allows, best first; `found` is of each training."""
    bench = [Bench(truths, one) for one in found]
    suited = scorers.suited(found[0]["test"])
    rows = [
        row_of(name, [one.measured(name, options) for one in bench], truths["test"])
        for name, options in suited.items()
        if name not in PASSES
    ]
    return sorted(rows, key=lambda row: -row.mean)


def row_of(name: str, each: Sequence[Once], truth: Annotations) -> Row:
    """The row of a scorer, from all trainings."""
    given = {name: [one.named for one in each]}
    run = evaluate_all(truth, given, metrics=COLUMNS, intervals=False)
    values = run.results[name].values
    return Row(
        name,
        np.stack([one.auroc for one in each]),
        float(np.mean([one.fpr for one in each])),
        {key: number(value.value, metrics()[key]) for key, value in values.items()},
        scorers.ledger.summary(each[0].named),
        float(np.mean([one.whole for one in each])),
    )


class Bench:
    """One training of a detector, on which scorers are fitted and measured."""

    def __init__(self, truths: Mapping[str, Annotations], found: Found) -> None:
        self.fit, self.held_out = (
            right_detections(truths[split], found[split]) for split in ("train", "val")
        )
        self.test = found["test"]
        self.known, self.unknown, self.image, images = groups(truths["test"], self.test)
        self.used = self.test.score >= operating_score(truths["val"], found["val"])
        self.weights = np.concatenate([np.ones((images, 1)), draw(images, 0)], axis=1)

    def measured(self, name: str, options: Mapping[str, Any]) -> Once:
        """A scorer, fitted on train and with a threshold from val."""
        record = scorers.find(name)
        fitted = record.fit(None if record.fits_on == "nothing" else self.fit, **options)
        scored = fitted.scored(self.test)
        assert scored.unknownness is not None
        known, unknown = self.known & self.used, self.unknown & self.used
        auroc, fpr = separation(scored.unknownness, known, unknown, self.image, self.weights)
        whole, _ = separation(
            scored.unknownness, self.known, self.unknown, self.image, self.weights[:, :1]
        )
        named = scorers.calibrate(fitted.scored(self.held_out)).relabel(scored)
        return Once(auroc, float(whole[0]), fpr, named)


def operating_score(truth: Annotations, found: Detections) -> float:
    """The score at which the detector would be used: t*, the best F1 on held-out images."""
    value = best_threshold(match(truth, found, Vocabulary.of(list(found.labels)))).value
    assert value is not None
    return float(value)


def groups(
    truth: Annotations, found: Detections
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32], int]:
    """Boxes on a known object of their class, boxes on an unknown object; images of all boxes."""
    matches = match(truth, found, Vocabulary.of(None, truth), "default")
    outcome, columns = matches.outcome(0.5), matches.columns
    nearest = np.maximum(columns.iou_same, columns.iou_known)
    on_unknown = (columns.iou_unknown >= 0.5) & (columns.iou_unknown > nearest)
    known, unknown = np.zeros((2, len(found)), bool)
    image = np.zeros(len(found), np.int32)
    image[matches.row] = matches.image
    known[matches.row[outcome.correct]] = True
    unknown[matches.row[on_unknown & outcome.wrong]] = True
    return known, unknown, image, matches.n_images


def separation(
    unknownness: NDArray[np.float64],
    known: NDArray[np.bool_],
    unknown: NDArray[np.bool_],
    image: NDArray[np.int32],
    weights: Weights,
) -> tuple[Weights, float]:
    """AUROC under each column of image weights, and FPR95 under the first; ties count half."""
    rows = np.flatnonzero(known | unknown)
    rows = rows[np.argsort(unknownness[rows], kind="stable")]
    last = np.append(np.flatnonzero(np.diff(unknownness[rows])), len(rows) - 1)
    drawn = weights[image[rows]]
    ours = np.cumsum(drawn * known[rows, None], axis=0)[last]
    theirs = np.cumsum(drawn * unknown[rows, None], axis=0)[last]
    step = np.diff(theirs, axis=0, prepend=0.0)
    below = ours - np.diff(ours, axis=0, prepend=0.0) / 2
    with np.errstate(invalid="ignore"):  # a resample may draw no unknown object: no number
        auroc = (step * below).sum(axis=0) / (ours[-1] * theirs[-1])
    accepted = np.searchsorted(ours[:, 0], 0.95 * ours[-1, 0])
    return auroc, float(theirs[accepted, 0] / theirs[-1, 0])


def closed_set(truths: Mapping[str, Annotations], found: Sequence[Found]) -> dict[str, str]:
    """AP of the known classes as the detector was trained, with nothing called unknown."""
    shown = {}
    for split in ("val", "test"):
        given = {split: [one[split] for one in found]}
        run = evaluate_all(truths[split], given, metrics=["ap_known"], intervals=False)
        value = run.results[split].values["ap_known"]
        shown[split] = number(value.value, metrics()["ap_known"])
    return shown


def overview(tables: Mapping[str, list[Row]]) -> str:
    """AUROC of every scorer on every detector, by the mean gain over MSP where it has evidence."""
    held = {title: {row.scorer: row.mean for row in rows} for title, rows in tables.items()}
    gains: dict[str, list[float]] = {}
    for values in held.values():
        for name, value in values.items():
            gains.setdefault(name, []).append(float(value - values[BASELINE]))
    mean = {name: float(np.mean(found)) for name, found in gains.items()}
    cells = tuple(
        (
            name,
            *(f"{v[name]:.3f}" if name in v else "–" for v in held.values()),
            f"{mean[name]:+.3f}",
        )
        for name in sorted(mean, key=lambda name: (-mean[name], name))
    )
    header = ("scorer", *held, "mean gain over MSP")
    return "## All detectors: AUROC\n\n" + Table(header, cells).markdown()


def section(
    title: str, recipe: Recipe, seeds: int, rows: list[Row], closed: Mapping[str, str]
) -> str:
    """A detector: its table, and what the table says."""
    times = "one training" if seeds == 1 else f"{seeds} trainings"
    steps = f"`{recipe.name}`, {times} of {recipe.steps} steps of {recipe.batch} images"
    ap = f"AP known before any threshold: {closed['val']} on val, {closed['test']} on test."
    parts = (f"## {title}", f"{steps}. {ap}", table_of(rows))
    return "\n\n".join([*parts, sentences(rows), ledger_lines(rows)])


def table_of(rows: list[Row]) -> str:
    """All scorers of a detector."""
    baseline, gains = baseline_of(rows), gains_of(rows)
    whole = ("AUROC, all scores",) if baseline.whole is not None else ()
    titles = [metrics()[name].title for name in COLUMNS[:-1]]
    ours = ("AUROC", "95 %", "against MSP", "95 %", *whole, "FPR95")
    cells = tuple(
        (
            row.scorer,
            f"{row.mean:.3f}",
            "{:.3f} to {:.3f}".format(*row.ends),
            *gain_cells(gains.get(row.scorer)),
            *(f"{row.whole:.3f}" for _ in whole),
            f"{row.fpr:.3f}",
            *(row.values[name] for name in COLUMNS),
        )
        for row in rows
    )
    return Table(("scorer", *ours, *titles, "AUROC, wild"), cells).markdown()


def baseline_of(rows: list[Row]) -> Row:
    """What the others are compared with."""
    return next(row for row in rows if row.scorer == BASELINE)


def ledger_lines(rows: list[Row]) -> str:
    """What was fitted and set on what, scorers alike together."""
    alike: dict[str, list[str]] = {}
    for row in rows:
        alike.setdefault(row.ledger.removeprefix(f"{row.scorer} "), []).append(row.scorer)
    return "\n".join(["Ledger:", "", *(f"- {listed(n)}: {text}" for text, n in alike.items())])


def gains_of(rows: list[Row]) -> dict[str, Gain]:
    """Differences from the baseline, with p corrected for all of a table (Benjamini-Hochberg)."""
    baseline = baseline_of(rows)
    gains = {row.scorer: row.gain(baseline) for row in rows if row is not baseline}
    corrected = false_discovery([gain.p for gain in gains.values()])
    return {
        name: gain._replace(p=p) for (name, gain), p in zip(gains.items(), corrected, strict=True)
    }


def gain_cells(gain: Gain | None) -> tuple[str, str]:
    """Difference from the baseline, with a star where it is more than chance."""
    if gain is None:
        return "–", "–"
    return f"{gain.value:+.3f}{' *' * gain.star}", "{:+.3f} to {:+.3f}".format(*gain.ends)


def sentences(rows: list[Row]) -> str:
    """What is significant, and what is not better than chance."""
    gains = {name: gain.value for name, gain in gains_of(rows).items() if gain.star}
    better = [name for name, value in gains.items() if value > 0]
    worse = [name for name, value in gains.items() if value < 0]
    chance = [row.scorer for row in rows if row.ends[0] <= 0.5]
    return " ".join(
        (
            f"Significantly better than MSP: {listed(better)}.",
            f"Significantly worse: {listed(worse)}.",
            f"Not shown to be better than chance: {listed(chance)}.",
        )
    )


def what_intervals_hold(trainings: Sequence[int]) -> str:
    """What the intervals of a page hold, by the number of trainings of each detector."""
    if set(trainings) == {1}:
        return (
            "There is one training per detector: intervals hold the choice of test images, not "
            "what\nanother seed of the training would change."
        )
    both = "numbers are means over them, and intervals hold\nboth the choice of test images and "
    both += "[training](../evaluation.md#several-trainings)."
    if 1 not in trainings:
        return f"Every detector was trained with {trainings[0]} seeds: {both}"
    return (
        f"Of a detector that was trained with several seeds {both}\nOf one that was trained once "
        "they hold the choice of images alone: what another seed would change\nis not known."
    )


def listed(names: list[str]) -> str:
    """Names, or none."""
    return ", ".join(names) or "none"


def opening(world: DigitsWorld, tested: DigitsWorld, seeds: Mapping[str, int]) -> str:
    """What was done, and how to read it."""
    counts = " and ".join(f"{world.count(split):,} {split}" for split in ("train", "val"))
    only = "" if len(seeds) == len(RECIPES) else f" --only {' '.join(seeds)}"
    return f"""# Results: the digits world

<!-- Made by experiments/digits_page.py; nothing here is typed. -->

Made by `python experiments/digits_page.py --work runs/digits --page docs/results/digits.md{only}`,
with openset {__version__} and [the digits world](../worlds.md): {counts} images of seed
{world.seed}, and {tested.count("test"):,} test images of seed {TEST_SEED}, with which no choice
was made. The world is synthetic and easy: what ranks first here may not
[on photographs](methods.md).
{what_intervals_hold(list(seeds.values()))}

- **AUROC**: boxes on unknown objects against boxes on known objects of their class (overlap 0.5),
  with a score of at least t*, that of the best F1 on val; 0.5 is chance. Intervals are
  from 1,000 half-samples of the test images; differences from MSP are paired by image and by
  training, * marks those with p < 0.05, corrected for all of the table (Benjamini-Hochberg).
  *All scores* has no minimum score: there a low score alone already tells background from objects.
- **FPR95**: share of those unknown boxes accepted when 95 % of those known boxes are.
- Scorers were fitted on the train detections that found their object; what exceeds the 95 %
  quantile of such val detections is called unknown. U-Recall, WI, A-OSE and AP known are
  those of [`openset evaluate`](../metrics.md) after that, and depend on the threshold.
- **AUROC, wild**: all detections of wild images against all of the others, right or wrong, as in
  OOD-OD benchmarks. It also rewards telling background from objects.
- Options of scorers are their defaults; sigmoid logits are read as `scorers.suited` chooses."""


if __name__ == "__main__":
    main()
