"""Measure what the page about Hosoya et al. (OSOD-III) shows; see `record`.

    python experiments/papers/osod3.py --data DATA

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny, ``DATA/openimages`` its hierarchy and names of classes, ``DATA/cub200`` the boxes of
CUB-200-2011; the digits example is in the repository.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import (
    OVER_TRAININGS,
    Recorder,
    difference,
    estimate,
    number,
    photographs,
    results,
    spoken,
    started,
    typed,
)

from openset.benchmarks import load
from openset.evaluation.run import Run
from openset.files import digest, load_text
from openset.matching import Matches
from openset.papers import Column, Estimate
from openset.resampling.draws import draw
from openset.resampling.intervals import percentiles
from openset.tables import Vocabulary

sys.path.append(str(Path(__file__).parents[1]))

from photographs import unpaired

EXAMPLE = "src/openset/examples/digits"
WORLDS = {
    "COCO val": (
        "$DATA/coco/instances_val2017_4697.json.gz "
        "YOLOX-nano=$DATA/coco/yolox_nano_bbox.json.gz "
        "YOLOv4-tiny=$DATA/coco/yolov4tiny_bbox.json.gz --known voc20 --leaked drop"
    ),
    "digits": " ".join(
        [f"{EXAMPLE}/truth.json.gz"]
        + [f"{name}={EXAMPLE}/{name}.parquet" for name in ("faster_rcnn", "retinanet", "fcos")]
    ),
}
DESCRIPTIONS = "openimages/class-descriptions-boxable.csv"
HIERARCHY = "openimages/bbox_labels_600_hierarchy.json"
HERE = "python experiments/papers/osod3.py --data DATA"
# By which of the methods of experiments/photographs.py a row is filled.
METHODS = {
    "Faster R-CNN": "base",
    "γ-ratio as a scorer": "base + gamma_ratio",
    "OpenDet": "opendet",
    "VOS, energy": "vos + energy",
}
DIGITS = Path("experiments/results/methods_digits.json")
RULE = "base, gamma rule"
ON_DIGITS = {"Faster R-CNN, γ rule": RULE, "OpenDet": "opendet", "VOS, energy": "vos"}
"""Rows of Table 3 that `experiments/methods_digits.py` judges; of ORE and FCOS it has none."""


def main() -> None:
    """Write all run files of the page."""
    to = started("osod3")
    profiles(to)
    swaps(to)
    impact_swaps(to)
    sizes_of_cub(to)
    classes(to)
    classes_of_coco(to)
    gammas(to)
    spreads(to)
    baselines(to)
    disagreement(to)
    gamma_trade(to)
    temperature(to)
    hotter(to)
    inner_nodes(to)
    seen_on_photographs(to)
    seen_on_digits(to)


def profiles(to: Recorder) -> None:
    """Figure 3: A-OSE and WI by the confidence from which boxes count."""
    columns = [
        Column("detector"),
        Column("threshold"),
        Column("score from", "score", 2),
        Column("A-OSE", "count"),
        Column("WI", "%"),
    ]
    for world, files in WORLDS.items():
        metrics = "a_ose_profile,wilderness_profile"
        answer = to.ask(f"evaluate {files} --protocol osod3-voc --metrics {metrics} --no-intervals")
        held = {name: each["values"] for name, each in answer["models"].items()}
        errors = {name: dict(_above(each["a_ose_profile"]["parts"])) for name, each in held.items()}
        impacts = {name: each["wilderness_profile"]["parts"] for name, each in held.items()}
        rows = [
            [name, f"from {at}", float(at), float(count), _or_none(impacts[name].get(at))]
            for name, curve in errors.items()
            for at, count in curve.items()
        ]
        to.save(f"profiles-{world.lower().replace(' ', '-')}", columns, rows)


def _or_none(value: float | None) -> float | None:
    return None if value is None else float(value)


def _above(bins: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Errors with a score above each edge, from those between edges."""
    left = sum(bins.values())
    for at, count in sorted(bins.items()):
        yield at, left
        left -= count


# Of each world the first detector and another, the threshold from which the first has more errors
# in Figure 3, and the one from which the other has.
SWAPS = {
    "COCO val": ("YOLOX-nano", "YOLOv4-tiny", "0.05", "0.90"),
    "digits": ("faster_rcnn", "retinanet", "0.70", "0.20"),
}


def swaps(to: Recorder) -> None:
    """Whether the better one by A-OSE changes with the threshold, paired over pictures."""
    rows = []
    for world, (first, other, *thresholds) in SWAPS.items():
        for at, pair in zip(thresholds, ((first, other), (other, first)), strict=True):
            asked = f"evaluate {WORLDS[world]} --protocol osod3-voc --metrics a_ose"
            answer = to.ask(f"{asked} --minimum-score {at}")
            counts = [float(answer["models"][name]["values"]["a_ose"]["value"]) for name in pair]
            held = answer["differences"][other]["a_ose"]  # the other less the first
            low, high = held["interval"]
            ends = (low, high) if pair[0] == other else (-high, -low)
            more = Estimate(counts[0] - counts[1], *ends)
            rows.append([f"{pair[0]} above {pair[1]}", f"from {at}", *counts, more])
    columns = [Column("detectors"), Column("threshold"), Column("A-OSE of the first", "count")]
    columns += [Column("of the second", "count"), Column("difference", "count")]
    to.save("swaps", columns, rows)


# The same for WI, in which other detectors change places.
IMPACT_SWAPS = {
    "COCO val": ("YOLOX-nano", "YOLOv4-tiny", 0.60, 0.10),
    "digits": ("faster_rcnn", "fcos", 0.80, 0.30),
}


def impact_swaps(to: Recorder) -> None:
    """Whether the better one by WI changes with the threshold, in the same draws of pictures."""
    rows = []
    for world, (first, other, *thresholds) in IMPACT_SWAPS.items():
        folder = world.lower().replace(" ", "-")
        to.ask(f"evaluate {WORLDS[world]} --protocol osod3-voc --no-intervals -o $WORK/{folder}")
        held = Run.load(to.work / folder).evaluations
        for at, pair in zip(thresholds, ((first, other), (other, first)), strict=True):
            counts = [_above_score(held[name].matches, at) for name in pair]
            images = counts[0].shape[1]
            draws = draw(images, seed=0).T.astype(float)
            whole = [_mean_share(np.ones((1, images)), each)[0] for each in counts]
            drawn = [_mean_share(draws, each) for each in counts]
            more = number(whole[0] - whole[1], percentiles(drawn[0] - drawn[1]))
            rows.append([f"{pair[0]} above {pair[1]}", f"from {at:.2f}", *map(float, whole), more])
    to.commands.append(HERE)
    columns = [Column("detectors"), Column("threshold"), Column("WI of the first", "%")]
    columns += [Column("of the second", "%"), Column("difference", "points", 2)]
    note = (
        "Intervals are of resamples of pictures; each class stands where it stands in all of them."
    )
    to.save("impact-swaps", columns, rows, note)


def _above_score(matches: Matches, level: float) -> NDArray[np.float64]:
    """Errors and detections of each class down to a score, by picture: (2, pictures, classes)."""
    counts = ~matches.outcome().ignored
    errors = matches.open_set_errors & counts
    found = np.zeros((2, len(matches.wild), matches.n_known))
    for klass in range(matches.n_known):
        low, high = matches.class_start[klass : klass + 2]
        if low < high:
            there = matches.score[low:high]
            nearest = there[np.abs(there - level).argmin()]
            rows = np.flatnonzero(there > nearest) + low
            rows = np.append(rows, low + np.flatnonzero(there == nearest)[0])
            for at, mask in enumerate((errors, counts)):
                np.add.at(found[at, :, klass], matches.image[rows], mask[rows])
    return found


def _mean_share(weights: NDArray[Any], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over classes of errors per detection, for each row of weights of pictures."""
    wrong, counted = (weights @ each for each in counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nanmean(np.where(counted > 0, wrong / counted, np.nan), axis=1))


def sizes_of_cub(to: Recorder) -> None:
    """Table 7: sizes of the splits, from the boxes of CUB-200-2011."""
    variants = to.ask("build osod3-cub:all --source $DATA/cub200 -o $WORK/cub")["variants"]
    files = sorted((to.data / "cub200").glob("cub200_*_coco.json*"))
    to.inputs = {f"$DATA/cub200/{file.name}": digest(file) for file in files}
    rows = []
    for name, held in variants.items():
        splits = held["bundle"]["splits"]
        unknown = len(load("osod3-cub").lists[name])
        counts = (splits[part]["images"] for part in ("train", "val", "test"))
        rows.append([name, float(unknown), *map(float, counts)])
    columns = [Column("split"), Column("unknown classes", "count")]
    columns += [Column(f"{part} pictures", "count") for part in ("train", "validation", "test")]
    note = "Which 500 pictures validate was not published; here they are drawn by seed."
    to.save("sizes-cub", columns, rows, note)


def classes(to: Recorder) -> None:
    """Tables 9 to 11: the classes of every split."""
    tables = {
        "classes-open-images": ("osod3-animal", "osod3-vehicle"),
        "classes-cub": ("osod3-cub",),
        "classes-mtsd": ("osod3-mtsd",),
    }
    for table, benchmarks in tables.items():
        rows = [
            [name, split, float(len(held)), ", ".join(held)]
            for name in benchmarks
            for split, held in load(name).lists.items()
        ]
        to.commands, to.inputs = [HERE], _definitions(benchmarks)
        columns = [Column("benchmark"), Column("split"), Column("number", "count")]
        to.save(table, [*columns, Column("classes")], rows)


def classes_of_coco(to: Recorder) -> None:
    """Table 2: the four splits of COCO's classes, by super-class."""
    truth = "coco/instances_val2017_4697.json.gz"
    kinds = json.loads(load_text(to.data / truth))["categories"]
    last = Vocabulary.of("owod-t4")
    above = {last.key(each["name"]): each["supercategory"] for each in kinds}
    rows = []
    for at, labels in enumerate(last.tasks, 1):
        held = Counter(above[last.key(label)] for label in labels)
        groups = ", ".join(f"{group} ({n})" for group, n in held.items())
        rows.append([f"Split {at}", float(len(labels)), groups, ", ".join(labels)])
    to.commands, to.inputs = [HERE], {f"$DATA/{truth}": digest(to.data / truth)}
    columns = [Column("split"), Column("number", "count")]
    to.save("classes-coco", [*columns, Column("by super-class"), Column("classes")], rows)


def _definitions(benchmarks: tuple[str, ...]) -> dict[str, str]:
    files = [Path(f"src/openset/benchmarks/catalogue/{name}.toml") for name in benchmarks]
    return {file.as_posix(): digest(file) for file in files}


def gammas(to: Recorder) -> None:
    """What the paper prints about γ: the values used (Section 4.2), and Table 16 for T = 1."""
    used = {  # known classes, and γ of either detector
        "Open Images (Animal)": (24, 4.0, 15.0),
        "Open Images (Vehicle)": (6, 4.0, 15.0),
        "CUB200": (150, 1.5, 3.0),
        "MTSD": (230, 1.5, 3.0),
    }
    unknown = {  # AP of unknown objects for γ = 1.5, 2, 3, 4, 5, 10, 15, 50
        "Open Images (Animal)": (21.6, 24.6, 27.5, 29.1, 30.3, 33.0, 34.2, 35.8),
        "Open Images (Vehicle)": (7.9, 9.6, 11.2, 12.2, 12.8, 14.8, 15.8, 17.9),
        "CUB200": (19.4, 20.2, 20.8, 20.8, 20.9, 20.3, 19.8, 18.4),
        "MTSD": (1.7, 2.2, 3.0, 3.4, 3.7, 4.4, 4.8, 5.3),
    }
    to.commands, to.inputs = [HERE], {}
    columns = [Column("data"), Column("known classes", "count")]
    columns += [Column("FCOS", "score"), Column("Faster R-CNN", "score")]
    to.save("gamma-used", columns, [[name, *map(float, held)] for name, held in used.items()])
    to.commands = [HERE]
    columns = [Column("data"), Column("least AP unknown", "score")]
    columns += [Column("largest AP unknown", "score"), Column("factor", "score")]
    rows = [[name, min(aps), max(aps), max(aps) / min(aps)] for name, aps in unknown.items()]
    to.save("gamma-range", columns, rows, "Faster R-CNN, T = 1, γ from 1.5 to 50, as printed.")


def spreads(to: Recorder) -> None:
    """Which standard deviation stands behind ±: of the splits, or of those one might draw."""
    printed = {  # four splits, and the ± that the tables print
        "Table 3, ORE, AP known (Animal)": ((40.4, 34.8, 40.4, 34.8), 2.8),
        "Table 3, OpenDet, AP known (Animal)": ((42.4, 23.2, 43.0, 39.0), 8.1),
        "Table 4, ORE, AP known": ((51.3, 53.6, 54.4, 53.6), 1.3),
        "Table 4, OpenDet, AP unknown": ((23.1, 30.0, 26.3, 28.6), 3.0),
        "Table 5, OpenDet, AP unknown": ((8.7, 6.7, 14.2), 3.9),
        "Table 12, ORE, WI (Animal)": ((35.9, 30.8, 45.3, 47.0), 6.7),
    }
    rows = [
        [name, spread, deviation(values, 0), deviation(values, 1)]
        for name, (values, spread) in printed.items()
    ]
    to.commands = [HERE]
    columns = [
        Column("row"),
        Column("printed ±", "score"),
        Column("population sd", "score", 2),
        Column("sample sd", "score", 2),
    ]
    to.save("spreads", columns, rows)


BASELINES = ("FCOS", "Faster RCNN")
TABLES = {  # by data: the tables of AP and of errors, and how their rows begin
    "Open Images (Animal)": ("Table 3", "Table 12", "Animal: "),
    "Open Images (Vehicle)": ("Table 3", "Table 12", "Vehicle: "),
    "CUB200": ("Table 4", "Table 13", ""),
    "MTSD": ("Table 5", "Table 14", ""),
}


def _mean(text: str) -> float:
    """The mean of ``mean ± spread``; several stand with slashes."""
    return float(text.partition(" ± ")[0].replace(",", ""))


def _means(table: str, start: str, at: int) -> dict[str, float | None]:
    """The last column of a table by method: the first or second of its two numbers."""
    held = {
        name.removeprefix(start): cells[-1].split(" / ")
        for name, *cells in typed("osod3", table)
        if name.startswith(start)
    }
    return {
        name: None if pair[at] == "–" else _mean(pair[at])
        for name, pair in held.items()
    }  # fmt: skip


def _unknown(data: str) -> dict[str, float]:
    """AP of unknown objects by method."""
    table, _, start = TABLES[data]
    held = _means(table, start, 0 if data == "MTSD" else 1)
    return {name: value for name, value in held.items() if value is not None}


def baselines(to: Recorder) -> None:
    """Tables 3 to 5: the better baseline and the best of the other methods."""
    rows = []
    for data in TABLES:
        aps = _unknown(data)
        ours = max(aps[name] for name in BASELINES)
        best = max((name for name in aps if name not in BASELINES), key=aps.__getitem__)
        rows.append([data, ours, aps[best], ours - aps[best], best])
    to.commands, to.inputs = [HERE], {}
    columns = [Column("data"), Column("best baseline", "score"), Column("best other", "score")]
    columns.append(Column("best baseline less best other", "score"))
    to.save("baselines", [*columns, Column("which is")], rows)


def disagreement(to: Recorder) -> None:
    """Tables 3 to 5 against 12 to 14: pairs that A-OSE and WI order otherwise than AP."""
    rows = []
    for data, (_, table, start) in TABLES.items():
        aps = _unknown(data)
        by = [_means(table, start, at) for at in (0, 1)]
        turned = [
            sum(
                (aps[one] > aps[other]) == (first > second)
                for one, other in combinations(aps, 2)
                for first, second in [(errors[one], errors[other])]
                if first is not None and second is not None and first != second
            )
            for errors in by
        ]
        ours, theirs = (by[0][name] or 0.0 for name in ("OpenDet", "Faster RCNN"))
        rows.append([data, *map(float, turned), ours, theirs, ours / theirs])
    to.commands, to.inputs = [HERE], {}
    columns = [Column("data"), Column("pairs that A-OSE turns round", "count")]
    columns += [Column("pairs that WI turns round", "count"), Column("A-OSE of OpenDet", "count")]
    columns += [Column("A-OSE of Faster RCNN", "count")]
    columns.append(Column("A-OSE of OpenDet, times that of Faster RCNN", "score", 2))
    note = "The mean of WI of ORE on CUB200 and MTSD cannot be read: four pairs less."
    to.save("disagreement", columns, rows, note)


def _sweep(table: str) -> dict[str, list[list[float]]]:
    """AP known, AP unknown and WI by γ, of every row of Table 15 or 16."""
    return {
        name: [[float(each) for each in cell.split(" / ")] for cell in cells]
        for name, *cells in typed("osod3", table)
    }


def gamma_trade(to: Recorder) -> None:
    """Tables 15 and 16: what the largest γ changes against the smallest."""
    plain = {
        name.removesuffix(", T = 1.0"): held
        for name, held in _sweep("Table 16").items()
        if name.endswith("T = 1.0")
    }
    rows = [
        [detector, data, *(held[-1][at] - held[0][at] for at in (0, 1))]
        for detector, several in {"FCOS": _sweep("Table 15"), "Faster R-CNN": plain}.items()
        for data, held in several.items()
    ]
    to.commands, to.inputs = [HERE], {}
    columns = [Column("detector"), Column("data")]
    columns += [Column(f"AP {of}, γ 50 less γ 1.5", "score") for of in ("known", "unknown")]
    to.save("gamma-trade", columns, rows)


USED = {"Open Images (Animal)": 6, "Open Images (Vehicle)": 6, "CUB200": 2, "MTSD": 2}
"""Which column of Table 16 has the γ that the paper uses."""


def temperature(to: Recorder) -> None:
    """Table 16: what a temperature of 2 changes."""
    held = _sweep("Table 16")
    rows = []
    for data, used in USED.items():
        cold, warm = (held[f"{data}, T = {at}"] for at in ("1.0", "2.0"))
        apart = [warm[used][at] - cold[used][at] for at in (0, 1)]
        rows.append([data, "the γ that is used", *apart])
        tops = [max(range(len(each)), key=lambda at, of=each: of[at][1]) for each in (cold, warm)]
        apart = [warm[tops[1]][at] - cold[tops[0]][at] for at in (0, 1)]
        rows.append([data, "the best γ of either", *apart])
    to.commands, to.inputs = [HERE], {}
    columns = [Column("data"), Column("at")]
    columns += [Column(f"AP {of}, T 2 less T 1", "score") for of in ("known", "unknown")]
    to.save("temperature", columns, rows)


def hotter(to: Recorder) -> None:
    """Table 16: how often a temperature of 3 or 5 is worse than 1, over data sets and γ."""
    held = _sweep("Table 16")
    rows: list[list[str | float]] = []
    for at in ("3", "5"):
        pairs = [
            pair
            for data in USED
            for pair in zip(held[f"{data}, T = {at}.0"], held[f"{data}, T = 1.0"], strict=True)
        ]
        lower = [float(sum(hot[of] < cold[of] for hot, cold in pairs)) for of in (0, 1)]
        rows.append([f"T {at}", float(len(pairs)), *lower])
    to.commands, to.inputs = [HERE], {}
    columns = [Column("temperature"), Column("cells", "count")]
    columns += [Column(f"AP {of} lower", "count") for of in ("known", "unknown")]
    to.save("hotter", columns, rows)


def inner_nodes(to: Recorder) -> None:
    """Labels of Open Images below a super-class that are no class of any split."""
    names = dict(line.split(",", 1) for line in load_text(to.data / DESCRIPTIONS).splitlines())
    tree = json.loads(load_text(to.data / HIERARCHY))
    rows: list[list[str | float]] = []
    for above in ("Vehicle", "Animal"):
        top = next(node for node in _below(tree) if names.get(node["LabelName"]) == above)
        nodes = {names[node["LabelName"]]: "Subcategory" in node for node in _below(top)}
        inner = [name for name, has_children in nodes.items() if has_children]
        counts = [float(len(nodes) - len(inner)), float(len(inner))]
        rows.append([above, *counts, ", ".join(inner)])
    to.commands = [HERE]
    to.inputs = {f"$DATA/{file}": digest(to.data / file) for file in (DESCRIPTIONS, HIERARCHY)}
    columns = [Column("super-class"), Column("leaves", "count"), Column("inner nodes", "count")]
    columns.append(Column("which are"))
    to.save("inner-nodes", columns, rows)


def _below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for each in node.get("Subcategory", []):
        yield from _below(each)


def seen_on_photographs(to: Recorder) -> None:
    """The metrics of Tables 3 and 12 where any class may be unknown, on photographs."""
    metrics = {
        "ap_known": Column("AP known", "%"),
        "ap_unknown": Column("AP unknown", "%", 2),
        "a_ose": Column("A-OSE", "count"),
        "wilderness_impact": Column("WI", "%"),
    }
    note = (
        "Faster R-CNN by itself calls nothing unknown. WI stands at recall 0.8, and has no value "
        "where no class reaches it."
    )
    photographs(to, "photographs", METHODS, metrics, HERE, note)


def seen_on_digits(to: Recorder) -> None:
    """Table 3 on digits, where any other class is unknown (OSOD-II), and what the rule gains."""
    made = "python experiments/methods_digits.py --work WORK --results experiments/results"
    held = json.loads(results(DIGITS, made).read_text("utf-8"))["methods"]
    shown = {"ap_known": Column("AP known", "%"), "ap_unknown": Column("AP unknown", "%")}
    shown |= {"a_ose": Column("A-OSE", "count"), "wilderness_impact": Column("WI", "%")}
    values = {row: held[of]["values"] for row, of in ON_DIGITS.items()}
    rows = [
        [row, *(estimate(values[row][metric]) for metric in shown), float(held[of]["runs"])]
        for row, of in ON_DIGITS.items()
    ]
    for name, columns, several in (
        ("digits", [Column("method"), *shown.values(), Column("trainings", "count")], rows),
        ("gamma-digits", [Column("against"), Column("AP unknown, γ rule less it", "points")],
         [[row, difference(unpaired(of, RULE, held)["values"]["ap_unknown"])]
          for row, of in ON_DIGITS.items() if of != RULE]),
    ):  # fmt: skip
        to.commands, to.inputs = [made, HERE], {DIGITS.as_posix(): digest(DIGITS)}
        note = ["Not paired by picture: the intervals of differences are rather too wide."]
        notes = note if name == "gamma-digits" else []
        to.save(name, columns, several, OVER_TRAININGS, *notes, needs=("training",))


def deviation(values: tuple[float, ...], less: int) -> float:
    """The standard deviation, with so many degrees of freedom less than values."""
    mean = sum(values) / len(values)
    return float((sum((each - mean) ** 2 for each in values) / (len(values) - less)) ** 0.5)


if __name__ == "__main__":
    spoken(main)
