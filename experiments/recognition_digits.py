"""Every recognition method on the digits of scikit-learn, over the five published trials.

    python experiments/recognition_digits.py --page docs/results/recognition.md

trains eight methods on five trials, with three seeds each, and writes the table (``--seeds 1`` is
three times as quick, and does not know what training does). ``--choose`` instead trains on four of
the six known classes and takes the other two for unknown: what the recipes were chosen on. No
unknown class and no test sample takes part in that.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from variants import changed

from openset.files import replacing
from openset.recognition import evaluate_recognition
from openset.recognition.data import left_out, open_split
from openset.recognition.recipe import ClassifierRecipe
from openset.render import Table
from openset.resampling.intervals import TAIL, judged
from openset.resampling.trainings import Spread, spread

METHODS = ("softmax", "ce_plus", "gcpl", "rpl", "arpl", "arpl_cs", "acc_auc", "openauc")
METRICS = ("openauc", "auc", "closed_set_accuracy")
BASELINE = "ce_plus"
PAIRS = ((0, 1), (2, 3), (3, 5))
TRIALS = range(5)


class Job(NamedTuple):
    """One training: what, on which trial, and which known classes are left out."""

    recipe: ClassifierRecipe
    trial: int
    out: tuple[int, ...] = ()


class Done(NamedTuple):
    """What came of it: numbers, their resamples, and seconds of the processor."""

    value: dict[str, float]
    drawn: dict[str, NDArray[np.float64]]
    seconds: float


def main() -> None:
    """Train, and write the page, or print what options do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--page", type=Path, help="where to write the table")
    parser.add_argument("--choose", nargs="*", metavar="METHOD[,KEY=VALUE...]")
    parser.add_argument("--epochs", type=int, help="fewer epochs, to try the script out")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of a method on a trial")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    start = time.perf_counter()
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        if given.choose is not None:
            print(_chosen(given.choose or METHODS, given.epochs, pool.map).text())
            return
        found = _trained(METHODS, given.epochs, given.seeds, pool.map)
    minutes = (time.perf_counter() - start) / 60
    table = results(found)
    cpu = sum(done.seconds for trials in found.values() for dones in trials for done in dones)
    note = f"{minutes:.1f} minutes on {given.processes} cores ({cpu:.0f} seconds of processor time)"
    print(table.text(), note, sep="\n\n")
    if given.page:
        with replacing(given.page, folder=False) as part:
            part.write_text(page(table, note, given.seeds), "utf-8")


def run(job: Job) -> Done:
    """One training, and its evaluation."""
    import torch

    from openset.recognition.training import train

    torch.set_num_threads(1)  # pictures are small: two trainings at once gain more
    start = time.process_time()
    split = open_split("digits", trial=job.trial)
    if job.out:
        split = left_out(split, job.out)
    scores = train(split, job.recipe, device="cpu").scores(split)
    result = evaluate_recognition(scores, metrics=METRICS, seed=job.trial)
    value = {name: float(result.value(name)) for name in METRICS}
    return Done(value, dict(result.replicates), time.process_time() - start)


Map = Callable[..., object]


Found = dict[str, list[list[Done]]]
"""What came of every training of every trial of every method."""


def _trained(methods: Sequence[str], epochs: int | None, seeds: int, each: Map) -> Found:
    recipes = {name: changed("digits", name, epochs) for name in methods}
    jobs = [
        Job(replace(recipe, seed=seed), trial)
        for recipe in recipes.values()
        for trial in TRIALS
        for seed in range(seeds)
    ]
    grouped = _grouped(methods, jobs, each)
    starts = range(0, seeds * len(TRIALS), seeds)
    return {name: [dones[at : at + seeds] for at in starts] for name, dones in grouped.items()}


def _grouped(names: Sequence[str], jobs: list[Job], each: Map) -> dict[str, list[Done]]:
    done: list[Done] = list(each(run, jobs))  # type: ignore[call-overload]
    size = len(done) // len(names)
    return {name: done[at * size : (at + 1) * size] for at, name in enumerate(names)}


def _chosen(asked: Sequence[str], epochs: int | None, each: Map) -> Table:
    """What options do where two known classes are taken for unknown."""
    recipes = [changed("digits", one, epochs) for one in asked]
    jobs = [Job(recipe, trial, out) for recipe in recipes for trial in TRIALS for out in PAIRS]
    found = _grouped(asked, jobs, each)
    rows = [
        (name, *(_mean([[done] for done in dones], metric) for metric in METRICS))
        for name, dones in found.items()
    ]
    return Table(("method", "OpenAUC", "AUC", "accuracy"), tuple(rows))


def results(found: Found) -> Table:
    """The table: means and deviations over trials, and the paired difference from the baseline."""
    from openset.recognition.methods import table

    rows = []
    for name, trials in found.items():
        cells = [_mean(trials, metric) for metric in METRICS]
        rows.append((table()[name].title, *cells, *_differences(trials, found[BASELINE])))
    several = len(next(iter(found.values()))[0]) > 1
    header = ("method", "OpenAUC", "AUC", "accuracy", "OpenAUC - CE+")
    inside = "95 % samples, training" if several else "95 % samples"
    return Table((*header, inside, "95 % trials"), tuple(rows))


def _values(dones: Sequence[Done], metric: str = "openauc") -> list[float]:
    return [100 * done.value[metric] for done in dones]


def _mean(trials: Sequence[Sequence[Done]], metric: str) -> str:
    numbers = [fmean(_values(dones, metric)) for dones in trials]
    return f"{fmean(numbers):.2f} ± {stdev(numbers):.2f}"


def _differences(trials: list[list[Done]], others: list[list[Done]]) -> tuple[str, str, str]:
    """The mean difference, its interval over samples and trainings, and that over trials."""
    if trials is others:
        return "", "", ""
    pairs = list(zip(trials, others, strict=True))
    each = [fmean(_values(a)) - fmean(_values(b)) for a, b in pairs]
    drawn = [_drawn(a) - _drawn(b) for a, b in pairs]
    mean, by_trial = fmean(each), spread(each)
    said = judged(np.mean(drawn, axis=0), mean, _spreads(pairs))
    low, high = said[0] if said else (float("nan"), float("nan"))
    reach = by_trial.reach(TAIL) if by_trial else float("nan")
    return (
        f"{mean:+.2f}",
        f"[{low:+.2f}, {high:+.2f}]",
        f"[{mean - reach:+.2f}, {mean + reach:+.2f}]",
    )


def _drawn(dones: Sequence[Done]) -> NDArray[np.float64]:
    return np.asarray(100 * np.mean([done.drawn["openauc"] for done in dones], axis=0))


def _spreads(pairs: Sequence[tuple[list[Done], list[Done]]]) -> list[Spread]:
    """The spread of trainings in every trial, as part of the mean.

    Paired by seed: it decides the initial weights and the order of samples of all methods.
    """
    found = [spread(np.subtract(_values(a), _values(b)).tolist()) for a, b in pairs]
    known = (one for one in found if one is not None)
    return [Spread(one.deviation / len(pairs), one.freedom) for one in known]


PAGE = """# Recognition methods on digits

Generated by `python experiments/recognition_digits.py --page docs/results/recognition.md`, {note}.

The 1,797 digits of scikit-learn, 8 by 8 pixels; six known and four unknown, the five published
trials of MNIST; {trainings}. Mean and standard deviation over trials, in per cent.

{table}

The difference from CE+ is paired by trial. Its first interval resamples test samples (1,000 times,
within each trial), {holds}; the second is Student's over the
five trials, and so also holds the chance of training and of the choice of classes.

One network (`classifier8`) and one recipe for all methods: `recognition/recipes/digits.toml`. It
was chosen on known classes alone: two of the six were left out of training and taken for unknown
(`--choose`); test samples and unknown digits took no part. No number here is comparable with a
paper's: they have other data.

OpenAUC and Acc+AUC rank logits here, with a hinge (`ranked = "logit_hinge"`), which was chosen so;
the paper ranks probabilities, which is what the recipes for other data do
([why](../recognition.md#methods)). Digits do not tell the readings apart.
"""


ALONE = "the trained classifiers being what they are"
SEVERAL = """and holds the spread of
trainings in a trial, paired by seed ([how](../evaluation.md#several-trainings))"""


def page(table: Table, note: str, seeds: int) -> str:
    """The page, in Markdown."""
    trainings = "one training a trial" if seeds == 1 else f"{seeds} trainings a trial, by seed"
    return PAGE.format(
        table=table.markdown(),
        note=note,
        trainings=trainings,
        holds=SEVERAL if seeds > 1 else ALONE,
    )


if __name__ == "__main__":
    main()
