"""CIFAR: OpenAUC's Table 2 and Figure 2, from rows that ``experiments/recognition_gpu.py`` keeps.

A number is the mean over trials, which differ by their known classes; its interval is Student's
over trials. Methods are compared trial by trial, after as many epochs. What was not trained is
said, with the command that trains it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from record import Recorder, results

from openset.files import digest
from openset.papers import Column, Estimate
from openset.resampling.intervals import TAIL
from openset.resampling.trainings import spread

sys.path.append(str(Path(__file__).parents[1]))

from recognition_gpu import rows_of
from recognition_gpu_page import METHODS, PAPER, own_score, title

HERE = "python experiments/papers/openauc.py"
ROWS = Path("experiments/results/recognition_cifar.jsonl")
SMALL = Path("experiments/results/recognition_small.jsonl")
DATA = {"cifar10": "CIFAR-10", "cifar+10": "CIFAR+10", "cifar+50": "CIFAR+50"}
TRAINED = {name: 150 if name in ("ce_plus", "acc_auc", "openauc") else 100 for name in METHODS}
"""Methods of the table, and the epochs of the command for those that were not trained."""
TRIALS = tuple(range(5))
OWN = 0.1
"""The recipe's weight of the ranking."""
WEIGHTS = (0.01, OWN, 0.2, 0.5, 1.0)
BASELINE, OURS = "ce_plus", "openauc"
AGAINST = (BASELINE, "acc_auc")
PAIRS = (("softmax", "arpl"), (BASELINE, OURS))
"""What is compared by one score of both, where the table may have two."""
OVER = (
    "Means over trials, which differ by their known classes; intervals are Student's over trials."
)

SCORED = (
    "Softmax, GCPL and RPL are scored by their largest probability, as in ARPL's code; the others "
    "by their largest logit."
)

Row = dict[str, Any]
Trials = dict[int, Row]
Cells = list[str | float | Estimate | None]


def tables(to: Recorder) -> None:
    """Write Table 2, what OpenAUC is above CE+, and Figure 2."""
    rows = rows_of(results(ROWS, *every()))
    whole = [row for row in rows if not (row["size"] or row["images"] or row["left_out"])]
    table_2(to, whole)
    differences(to, whole)
    by_score(to, whole)
    figure_2(to, whole)
    small(to, [row for row in rows_of(SMALL) if row["size"] and not row["left_out"]])


def by_epochs(rows: Iterable[Row], data: str) -> dict[int, dict[str, Trials]]:
    """Trials of every method on a data set, by the epochs that they were trained for."""
    found: dict[int, dict[str, Trials]] = {}
    for row in rows:
        if row["data"] == data:
            of = found.setdefault(row["epochs"], {}).setdefault(row["method"], {})
            of[row["trial"]] = row
    return found


def longest(rows: Iterable[Row], data: str, method: str) -> tuple[int, Trials]:
    """The trainings of a method that had the most trials, and then the most epochs."""
    several = {at: held.get(method, {}) for at, held in by_epochs(rows, data).items()}
    return max(several.items(), key=lambda one: (len(one[1]), one[0]), default=(0, {}))


def table_2(to: Recorder, rows: Sequence[Row]) -> None:
    """OpenAUC of every method that was trained, beside what the paper prints."""
    cells: list[Cells] = []
    missing, used = [], []
    for data, method in product(DATA, TRAINED):
        epochs, trials = longest(rows, data, method)
        row: Cells = [DATA[data], title(method)]
        paper = round(PAPER[data][METHODS.index(method)] / 100, 4)
        if not trials:
            missing.append((data, method))
            cells.append([*row, None, None, None, paper, None])
            continue
        used += trials.values()
        mean = over_trials([one[own_score(method)] / 100 for one in trials.values()])
        apart = round(value_of(mean) - paper, 6)  # the paper has the same trials: no interval
        cells.append([*row, float(epochs), float(len(trials)), mean, paper, apart])
    columns = [Column("data"), Column("method"), Column("epochs", "count")]
    columns += [Column("trials", "count"), Column("OpenAUC", "%", 2)]
    columns += [Column("paper", "%"), Column("less paper", "points", 2)]
    save(to, "table-2", columns, cells, used, SCORED, *not_trained(missing))


def differences(to: Recorder, rows: Sequence[Row]) -> None:
    """What OpenAUC's loss adds to CE+ and to Acc+AUC, trial by trial, after as many epochs."""
    names = {"openauc": "OpenAUC", "auc": "AUC", "accuracy": "accuracy"}
    cells: list[Cells] = []
    missing, used = [], []
    for (data, name), other in product(DATA.items(), AGAINST):
        epochs, ours, base = paired(rows, data, other)
        shared = sorted(ours.keys() & base.keys())
        row: Cells = [name, title(other)]
        if not shared:
            missing += [(data, each) for each in (other, OURS) if not longest(rows, data, each)[1]]
            cells.append([*row, *(None for _ in range(3 + len(names)))])
            continue
        used += [held[trial] for held in (base, ours) for trial in shared]
        apart = [over_trials([less(ours[t], base[t], key) for t in shared]) for key in names]
        above = float(sum(less(ours[t], base[t], "openauc") > 0 for t in shared))
        cells.append([*row, float(epochs), float(len(shared)), *apart, above])
    columns = [Column("data"), Column("less"), Column("epochs", "count"), Column("trials", "count")]
    columns += [Column(each, "points", 2) for each in names.values()]
    columns.append(Column("trials above", "count"))
    save(to, "above-ce-plus", columns, cells, used, *not_trained(dict.fromkeys(missing)))
    against_paper(to, rows)


def against_paper(to: Recorder, rows: Sequence[Row]) -> None:
    """What OpenAUC's loss adds to CE+ here, less what it adds in the paper."""
    cells: list[Cells] = []
    used: list[Row] = []
    for data, name in DATA.items():
        epochs, ours, base = paired(rows, data, BASELINE)
        shared = sorted(ours.keys() & base.keys())
        if not shared:
            continue
        used += [held[trial] for held in (base, ours) for trial in shared]
        one, other = (PAPER[data][METHODS.index(method)] for method in (OURS, BASELINE))
        printed = round((one - other) / 100, 4)
        apart = [less(ours[t], base[t], "openauc") - printed for t in shared]
        cells.append([name, float(epochs), float(len(shared)), printed, over_trials(apart)])
    columns = [Column("data"), Column("epochs", "count"), Column("trials", "count")]
    columns += [Column("in the paper", "points")]
    save(to, "against-paper", [*columns, Column("less what the paper adds", "points", 2)], cells,
         used)  # fmt: skip


def by_score(to: Recorder, rows: Sequence[Row]) -> None:
    """Pairs of methods by either number of the same networks that samples may be ranked by."""
    cells: list[Cells] = []
    used: list[Row] = []
    for (data, name), pair in product(DATA.items(), PAIRS):
        first, second = (longest(rows, data, method)[1] for method in pair)
        shared = sorted(first.keys() & second.keys())
        if not shared:
            continue
        used += [held[trial] for held in (first, second) for trial in shared]
        scores = ("openauc", "openauc_by_probability")
        row: Cells = [name, " and ".join(map(title, pair)), float(len(shared))]
        row += [over_trials([less(second[t], first[t], key) for t in shared]) for key in scores]
        gaps = [(one[t]["openauc"] - one[t]["openauc_by_probability"]) / 100
                for one in (first, second) for t in shared]  # fmt: skip
        printed = [PAPER[data][METHODS.index(method)] for method in pair]
        row += [round(fmean(gaps), 6), round((printed[1] - printed[0]) / 100, 6)]
        cells.append(row)
    columns = [Column("data"), Column("methods"), Column("trials", "count")]
    columns += [Column("second less first, by logit", "points", 2)]
    columns += [Column("by probability", "points", 2)]
    columns += [Column("logit less probability", "points", 2), Column("paper", "points")]
    save(to, "by-score", columns, cells, used)


def paired(rows: Sequence[Row], data: str, base: str) -> tuple[int, Trials, Trials]:
    """The longest trainings of OpenAUC and another method that most trials have."""
    several = [(at, of.get(OURS, {}), of.get(base, {})) for at, of in by_epochs(rows, data).items()]

    def most(one: tuple[int, Trials, Trials]) -> tuple[int, int]:
        return len(one[1].keys() & one[2].keys()), one[0]

    return max(several, key=most, default=(0, {}, {}))


def figure_2(to: Recorder, rows: Sequence[Row]) -> None:
    """OpenAUC by the weight of the ranking, and where logits are ranked instead."""
    by = by_epochs(rows, "cifar10")
    wanted = {weighted(weight): ("probabilities", weight) for weight in WEIGHTS}
    wanted = {BASELINE: ("probabilities", 0.0), **wanted, f"{OURS},ranked=logit": ("logits", OWN)}
    epochs = max(by, key=lambda at: (len(by[at].keys() & wanted.keys()), at), default=0)
    held = by.get(epochs, {})
    cells: list[Cells] = []
    base, used = held.get(BASELINE, {}), []
    for method, (ranked, weight) in wanted.items():
        trials = held.get(method, {})
        shared = sorted(trials.keys() & base.keys())
        if not shared:
            cells.append([ranked, f"λ {weight:g}", weight, None, None, None])
            continue
        used += [trials[trial] for trial in shared]
        mean = over_trials([trials[trial]["openauc"] / 100 for trial in shared])
        apart = over_trials([less(trials[trial], base[trial], "openauc") for trial in shared])
        row: Cells = [ranked, f"λ {weight:g}", weight, float(len(shared)), value_of(mean)]
        cells.append([*row, 0.0 if method == BASELINE else apart])
    columns = [Column("ranked"), Column("weight"), Column("λ", "score", 2)]
    columns += [Column("trials", "count")]
    columns += [Column("OpenAUC", "%", 2), Column("less CE+", "points", 2)]
    missing = [("cifar10", method) for method in wanted if method not in held]
    notes = [f"After {epochs} epochs; λ 0 is CE+."] if used else []
    few = {title(m): sorted(held[m]) for m in wanted if 0 < len(held.get(m, {})) < len(base)}
    notes += [f"{name}: trials {', '.join(map(str, some))} alone." for name, some in few.items()]
    save(to, "figure-2", columns, cells, used, *notes, *not_trained(missing, epochs or 60))


def small(to: Recorder, rows: Sequence[Row]) -> None:
    """Readings of the loss on a smaller CIFAR-10, on which a CPU tells them apart."""
    by: dict[str, Trials] = {}
    for row in rows:
        by.setdefault(row["method"], {})[row["trial"]] = row
    cells: list[Cells] = []
    for method, trials in by.items():
        shared = sorted(trials.keys() & by.get(BASELINE, {}).keys())
        apart = [less(trials[t], by[BASELINE][t], "openauc") for t in shared]
        mean = over_trials([one["openauc"] / 100 for one in trials.values()])
        gap = over_trials(apart) if apart and method != BASELINE else None
        cells.append([title(method), float(len(trials)), mean, gap])
    about = sorted({(row["size"], row["images"], row["epochs"]) for row in rows})
    said = [f"{size} by {size} pixels, {n:,} pictures of each known class, {epochs} epochs."
            for size, n, epochs in about]  # fmt: skip
    to.commands, to.inputs = [*trained_small(rows), HERE], {}
    if SMALL.is_file():
        to.inputs = {SMALL.as_posix(): digest(SMALL)}
    columns = [Column("method"), Column("trials", "count"), Column("OpenAUC", "%", 2)]
    columns.append(Column("less CE+", "points", 2))
    to.save("small", columns, cells, OVER, *said, needs=("data", "training"))


def weighted(weight: float) -> str:
    """How the method of a weight is asked for."""
    return OURS if weight == OWN else f"{OURS},weight={weight:g}"


def less(one: Row, other: Row, key: str) -> float:
    """A difference, as a fraction."""
    return float(one[key] - other[key]) / 100


def over_trials(values: Sequence[float]) -> Estimate | float:
    """The mean, with Student's interval where there are several."""
    mean, known = fmean(values), spread(values)
    if known is None:
        return round(mean, 6)
    reach = known.reach(TAIL)
    return Estimate(*(round(each, 6) for each in (mean, mean - reach, mean + reach)))


def value_of(one: Estimate | float) -> float:
    """A number without its interval."""
    return one.value if isinstance(one, Estimate) else one


def not_trained(missing: Iterable[tuple[str, str]], epochs: int | None = None) -> list[str]:
    """What is missing, and the commands that make it: one for each number of epochs."""
    groups: dict[tuple[str, int], dict[str, None]] = {}
    for data, method in missing:
        group = (data.replace("+50", "+10"), epochs or TRAINED[method])
        groups.setdefault(group, {})[method] = None
    return [
        f"Not trained: {DATA[data]}, {', '.join(map(title, methods))}: "
        f"`{command(data, methods, at)}`"
        for (data, at), methods in groups.items()
    ]


def command(
    data: str, methods: Collection[str], epochs: int, trials: Collection[int] = TRIALS
) -> str:
    """What trains some methods, and which of the trials."""
    what = data if data == "cifar10" else "cifar+10 --also cifar+50"  # the same known classes
    faster = "" if "arpl_cs" in methods else "--graphed "  # its step is no single loss
    some = "" if tuple(trials) == TRIALS else f"--trials {' '.join(map(str, trials))} "
    return (
        f"python experiments/recognition_gpu.py {what} --folder CIFAR --rows {ROWS.as_posix()} "
        f"{faster}--epochs {epochs} {some}--methods {' '.join(methods)}"
    )


def trained(used: Iterable[Mapping[str, Any]]) -> list[str]:
    """The commands that some rows came from: one for each number of epochs and set of trials."""
    trials: dict[tuple[str, int, str], set[int]] = {}
    for row in used:
        at = (row["data"].replace("+50", "+10"), row["epochs"], row["method"])
        trials.setdefault(at, set()).add(row["trial"])
    groups: dict[tuple[str, int, tuple[int, ...]], list[str]] = {}
    for (data, epochs, method), some in trials.items():
        groups.setdefault((data, epochs, tuple(sorted(some))), []).append(method)
    return [command(data, of, epochs, some) for (data, epochs, some), of in groups.items()]


def trained_small(rows: Iterable[Row]) -> list[str]:
    """The commands that rows of fewer and smaller pictures came from."""
    groups: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in rows:
        at = (row["precision"], row["epochs"], row["size"], row["images"], row["network"])
        groups.setdefault((*at, row["trial"]), {})[row["method"]] = None
    return [
        f"python experiments/recognition_gpu.py cifar10 --folder CIFAR --rows {SMALL.as_posix()} "
        f"--device cpu --precision {precision} --epochs {epochs} --size {size} --images {images} "
        f"--network {network} --trials {trial} --methods {' '.join(methods)}"
        for (precision, epochs, size, images, network, trial), methods in groups.items()
    ]


def every() -> list[str]:
    """The commands that make all rows of Table 2."""
    wanted: dict[tuple[str, int], list[str]] = {}
    for data, (method, epochs) in product(("cifar10", "cifar+10"), TRAINED.items()):
        wanted.setdefault((data, epochs), []).append(method)
    return [command(data, methods, epochs) for (data, epochs), methods in wanted.items()]


def save(
    to: Recorder,
    name: str,
    columns: Sequence[Column],
    cells: Sequence[Cells],
    used: Sequence[Mapping[str, Any]],
    *notes: str,
) -> None:
    """Write a run file, with the commands that its rows came from."""
    to.commands = [*trained(used), HERE]
    to.inputs = {ROWS.as_posix(): digest(ROWS)} if ROWS.is_file() else {}
    to.save(name, columns, cells, OVER, *notes, needs=("data", "training", "gpu"))
