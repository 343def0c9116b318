"""Write the results page of the digits world: every scorer on every detector of the example.

One command, from the repository's root, with the extras ``torch`` and ``transformers``; it trains
what `make_digits` has not trained yet:

    python experiments/digits_page.py --work runs/digits --page docs/results/digits.md

Scorers are fitted on the train images, thresholds are set on the val images. Numbers are of test
images of another seed, with digits that no other split shows: methods, recipes and this page were
made with the first seed's in view. Nothing on the page is typed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_digits import RECIPES, detected, trained
from numpy.typing import NDArray

from openset import scorers
from openset.detectors import find
from openset.evaluation.numbers import number
from openset.evaluation.run import evaluate_all
from openset.files import replacing
from openset.formats import read_annotations
from openset.matching import match, right_detections
from openset.metrics import table as metrics
from openset.metrics.load import best_threshold
from openset.render import Table
from openset.resampling.draws import draw
from openset.resampling.intervals import interval, percentiles
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
    """A scorer on a detector.

    Attributes:
        scorer: Its name.
        auroc: Known against unknown boxes; first of the data, then of each resample.
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
    def ends(self) -> tuple[float, float]:
        """The 95 % interval of the AUROC."""
        return interval(self.auroc[1:], self.auroc[0]) or (0.0, 1.0)

    def gain(self, baseline: Row) -> tuple[float, float, float]:
        """Difference of the AUROC from a baseline, and its paired 95 % interval."""
        difference = self.auroc - baseline.auroc
        low, high = percentiles(difference[1:]) or (-1.0, 1.0)
        return float(difference[0]), low, high


def main() -> None:
    """Train, run, score, evaluate, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--steps", type=int, help="fewer steps, to try the script out")
    given = parser.parse_args()
    made = DigitsWorld(images=given.images)
    world = made.write(given.work / "world")
    tested = DigitsWorld(images=TEST_TIMES * given.images, seed=TEST_SEED)
    fresh = tested.write(given.work / "fresh")
    worlds = {"train": world, "val": world, "test": fresh}
    truths = {split: read_annotations(worlds[split] / f"{split}.json") for split in SPLITS}
    sections: list[str] = []
    tables: dict[str, list[Row]] = {}
    for name in RECIPES:
        recipe = Recipe.of(name) if given.steps is None else Recipe.of(name).shortened(given.steps)
        model = trained(recipe, world, given.work / name)
        found = {split: detected(model, worlds[split], split) for split in SPLITS}
        title = find(recipe.detector).title
        tables[title] = rows_of(truths, found)
        sections.append(section(title, recipe, tables[title], closed_set(truths, found)))
        print(f"{recipe.detector}: done")
    with replacing(given.page, folder=False) as part:
        text = "\n\n".join([opening(made, tested), overview(tables), *sections])
        part.write_text(text + "\n", "utf-8")


def rows_of(truths: Mapping[str, Annotations], found: Mapping[str, Detections]) -> list[Row]:
    """Every scorer that the evidence allows, best first."""
    fit, held_out = (right_detections(truths[split], found[split]) for split in ("train", "val"))
    truth, test = truths["test"], found["test"]
    known, unknown, image, images = groups(truth, test)
    used = test.score >= operating_score(truths["val"], found["val"])
    weights = np.concatenate([np.ones((images, 1)), draw(images, 0)], axis=1)
    rows = []
    suited = {n: o for n, o in scorers.suited(test).items() if n not in PASSES}
    for name, options in suited.items():
        record = scorers.find(name)
        fitted = record.fit(None if record.fits_on == "nothing" else fit, **options)
        scored = fitted.scored(test)
        named = scorers.calibrate(fitted.scored(held_out)).relabel(scored)
        assert scored.unknownness is not None
        values = evaluate_all(truth, {name: named}, metrics=COLUMNS, intervals=False)
        shown = {
            key: number(value.value, metrics()[key])
            for key, value in values.evaluations[name].values.items()
        }
        auroc, fpr = separation(scored.unknownness, known & used, unknown & used, image, weights)
        whole, _ = separation(scored.unknownness, known, unknown, image, weights[:, :1])
        line = scorers.ledger.summary(named)
        rows.append(Row(name, auroc, fpr, shown, line, float(whole[0])))
    return sorted(rows, key=lambda row: -row.auroc[0])


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


def closed_set(
    truths: Mapping[str, Annotations], found: Mapping[str, Detections]
) -> dict[str, str]:
    """AP of the known classes as the detector was trained, with nothing called unknown."""
    shown = {}
    for split in ("val", "test"):
        run = evaluate_all(truths[split], {split: found[split]}, metrics=["ap_known"])
        value = run.evaluations[split].value("ap_known")
        shown[split] = number(value.value, metrics()["ap_known"])
    return shown


def overview(tables: Mapping[str, list[Row]]) -> str:
    """AUROC of every scorer on every detector, by the mean gain over MSP where it has evidence."""
    held = {title: {row.scorer: row.auroc[0] for row in rows} for title, rows in tables.items()}
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


def section(title: str, recipe: Recipe, rows: list[Row], closed: Mapping[str, str]) -> str:
    """A detector: its table, and what the table says."""
    steps = f"`{recipe.name}`, {recipe.steps} steps of {recipe.batch} images"
    ap = f"AP known before any threshold: {closed['val']} on val, {closed['test']} on test."
    parts = (f"## {title}", f"{steps}. {ap}", table_of(rows))
    return "\n\n".join([*parts, sentences(rows), ledger_lines(rows)])


def table_of(rows: list[Row]) -> str:
    """All scorers of a detector."""
    baseline = baseline_of(rows)
    whole = ("AUROC, all scores",) if baseline.whole is not None else ()
    titles = [metrics()[name].title for name in COLUMNS[:-1]]
    ours = ("AUROC", "95 %", "against MSP", "95 %", *whole, "FPR95")
    cells = tuple(
        (
            row.scorer,
            f"{row.auroc[0]:.3f}",
            "{:.3f} to {:.3f}".format(*row.ends),
            *gain_cells(row, baseline),
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


def gain_cells(row: Row, baseline: Row) -> tuple[str, str]:
    """Difference from the baseline; a star where its interval leaves out 0."""
    if row is baseline:
        return "–", "–"
    gain, low, high = row.gain(baseline)
    star = "" if low <= 0 <= high else " *"
    return f"{gain:+.3f}{star}", f"{low:+.3f} to {high:+.3f}"


def sentences(rows: list[Row]) -> str:
    """What is significant, and what is not better than chance."""
    baseline = baseline_of(rows)
    gains = {row.scorer: row.gain(baseline) for row in rows if row is not baseline}
    better = [name for name, (_, low, _) in gains.items() if low > 0]
    worse = [name for name, (_, _, high) in gains.items() if high < 0]
    chance = [row.scorer for row in rows if row.ends[0] <= 0.5]
    return " ".join(
        (
            f"Significantly better than MSP: {listed(better)}.",
            f"Significantly worse: {listed(worse)}.",
            f"Not shown to be better than chance: {listed(chance)}.",
        )
    )


def listed(names: list[str]) -> str:
    """Names, or none."""
    return ", ".join(names) or "none"


def opening(world: DigitsWorld, tested: DigitsWorld) -> str:
    """What was done, and how to read it."""
    counts = " and ".join(f"{world.count(split):,} {split}" for split in ("train", "val"))
    return f"""# Results: the digits world

<!-- Made by experiments/digits_page.py; nothing here is typed. -->

Made by `python experiments/digits_page.py --work runs/digits --page docs/results/digits.md`, with
openset {__version__} and [the digits world](../worlds.md): {counts} images of seed
{world.seed}, and {tested.count("test"):,} test images of seed {TEST_SEED}, with which no choice
was made. There is one training per detector: what another seed of it would change is not in the
intervals. The world is synthetic and easy: what ranks first here may not
[on photographs](real-images.md).

- **AUROC**: boxes on unknown objects against boxes on known objects of their class (overlap 0.5),
  with a score of at least t*, that of the best F1 on val; 0.5 is chance. Intervals are
  from 1,000 half-samples of the test images; differences from MSP are paired percentiles,
  * marks those whose interval leaves out 0. Nothing is corrected for the number of comparisons.
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
