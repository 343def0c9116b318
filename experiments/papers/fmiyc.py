"""Measure what the page about FindMeIfYouCan shows; see `record`.

    python experiments/papers/fmiyc.py --data DATA --wordnet data.noun

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny; ``data.noun`` is WordNet 3.0's (Debian: wordnet-base). With ``--embeddings FILE.npz``,
which ``openset similarity`` keeps, also how alike pictures are. With

    PYTHONPATH=experiments ... --found FOUND --photos PHOTOS

also detectors that learned on photographs (`families`): FOUND is what ``experiments/photographs.py
find`` wrote, PHOTOS the folder that it worked in.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from record import (
    JUDGED,
    PHOTOGRAPHS,
    Recorder,
    difference,
    estimate,
    number,
    results,
    spoken,
    started,
)

from openset.benchmarks.pool import image_names
from openset.benchmarks.rules.embeddings import largest_cosine, read_embeddings, rows_of
from openset.benchmarks.taxonomy import largest, of_wordnet, shipped_synsets
from openset.files import digest, load
from openset.formats import read_annotations
from openset.papers import Column, Estimate
from openset.resampling.draws import RESAMPLES, draw
from openset.resampling.intervals import percentiles

HERE = "python experiments/papers/fmiyc.py --data DATA"
MIXED = (
    "On VOC 2007 test and COCO val2017 together, under `default`, without tiers; a difference of "
    "one training has an interval over pictures alone."
)
EMBEDDED = (
    "openset similarity $WORK/bench --images PICTURES --weights resnet50.safetensors "
    "--option stride=1x1 --embeddings embeddings.npz"
)
Printed = dict[str, dict[str, list[float | None]]]
VOC = (
    "person", "bird", "cat", "cow", "dog", "horse", "sheep", "airplane", "bicycle", "boat", "bus",
    "car", "motorcycle", "train", "bottle", "chair", "dining table", "potted plant", "couch", "tv",
)  # fmt: skip
NEAR = (
    "laptop", "zebra", "broccoli", "bed", "spoon", "fork", "bench", "carrot", "orange", "bowl",
    "apple", "cup", "bear", "vase",
)  # fmt: skip
REMOVED = ("spoon", "fork", "pizza", "sandwich", "cake", "hot dog", "wine glass", "knife")
TIERS = ("near", "far", "farther")
SHOWN = {
    "auroc": Column("AUROC", "%"),
    "fpr_at_95_tpr": Column("FPR95", "%"),
    "ap_unknown": Column("AP_U", "%"),
    "unknown_recall": Column("R_U", "%"),
    "unknown_precision": Column("P_U", "%"),
    "nose": Column("nOSE", "%"),
}
BETTER = {"R_U": max, "P_U": max, "nOSE": min}
OURS, VLM, TRAINED = "OpenDet CWA", "OWLv2", ("VOS", "SAFE", "SIREN")
"""Rows of Tables 4 and 5: the method of the open set, those on OWLv2, those trained for it."""
COMPARED = ("base", "opendet"), ("base", "opendet_cwa"), ("opendet", "opendet_cwa")
NAMES = {"base": "Faster R-CNN", "opendet": "OpenDet", "opendet_cwa": OURS}
PROTOCOLS = ("fmiyc", "default")
"""The protocol of the authors' evaluator, and ours, which the trained photographs are shown by."""
LEAKY = (
    "Both detectors were taught all 80 classes, and boxes that they call by one of the 60 count as "
    "unknown: recall and precision of unknown objects are not those of a detector that never saw "
    "them. Unknownness is 1 - score."
)


def main() -> None:
    """Write all run files of the page."""
    to = started("fmiyc", "wordnet", optional=("found", "photos", "embeddings"))
    source = to.work / "source"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(to.options["wordnet"]), source / "data.noun")
    truth = load(to.data / "coco" / "instances_val2017_4697.json.gz")
    (source / "instances_val2017.json").write_bytes(truth)
    counts(to)
    similarity(to)
    classes(to)
    tiers(to)
    cwa(to)
    printed(to)
    if "embeddings" in to.options:
        cosines(to, Path(to.options["embeddings"]))
    if "found" in to.options:
        from families import photographs  # it reads what another experiment made

        photographs(to, SHOWN)


def counts(to: Recorder) -> None:
    """Table 2: images and objects of each set."""
    built = to.ask("build fmiyc-coco --source $WORK/source -o $WORK/bench")["bundle"]["splits"]
    rows = [
        [name, *(float(held[key]) for key in ("images", "known", "unknown"))]
        for name, held in built.items()
    ]
    columns = [Column("set"), Column("images", "count")]
    columns += [Column("known objects", "count"), Column("unknown objects", "count")]
    to.inputs = _sources(to)
    to.save("counts", columns, rows, needs=["data"])


def _sources(to: Recorder) -> dict[str, str]:
    """Checksums of what the sets were made from."""
    truth = "coco/instances_val2017_4697.json.gz"
    return {
        f"$DATA/{truth}": digest(to.data / truth),
        "$WORDNET/data.noun": digest(Path(to.options["wordnet"])),
    }


def similarity(to: Recorder) -> None:
    """Table 9: how near the classes of each tier are to the known ones."""
    found = to.ask("similarity $WORK/bench --wordnet $WORK/source/data.noun")["sets"]
    rows = [
        [held["name"].removeprefix("ood: "), float(held["images"]), held["wu_palmer"], held["path"]]
        for held in found
    ]
    columns = [Column("tier"), Column("images", "count")]
    columns += [Column("Wu-Palmer", "score", 3), Column("path", "score", 3)]
    to.inputs = _sources(to)
    to.save("similarity", columns, rows, needs=["data"])


def cosines(to: Recorder, file: Path) -> None:
    """Figure 3: how alike the pictures of each tier are to those of the ID set."""
    names, unit = read_embeddings(file)
    known, ood = (read_annotations(to.work / "bench" / f"{name}.json") for name in ("id", "ood"))
    there = unit[rows_of(names, image_names(known), file.name)]
    best = largest_cosine(unit[rows_of(names, image_names(ood), file.name)], there)
    tier = ood.images.attributes["tier"]
    rows: list[list[Any]] = []
    means = {}
    for at, name in enumerate(TIERS):
        held = best[tier == name].astype(float)
        means[name] = held.mean(), held @ draw(len(held), at, RESAMPLES) / len(held)
        rows.append([name, float(len(held)), _within(*means[name])])
    for one, other in (TIERS[:2], TIERS[1:], TIERS[::2]):
        apart = [a - b for a, b in zip(means[one], means[other], strict=True)]
        rows.append([f"{one} less {other}", None, _within(*apart)])
    to.commands = [EMBEDDED, f"{HERE} --wordnet data.noun --embeddings embeddings.npz"]
    to.inputs = {"$WORK/embeddings.npz": digest(file)}
    columns = [Column("tier"), Column("images", "count"), Column("cosine", "score", 3)]
    note = "Intervals over the pictures of a tier."
    to.save("cosines", columns, rows, note, needs=["data"])


def _within(value: float, drawn: Any) -> Estimate | float | None:
    ends = percentiles(drawn)
    return number(round(float(value), 5), None if ends is None else [round(e, 5) for e in ends])


def classes(to: Recorder) -> None:
    """How like a known class each class is that the authors' list calls near, or leaves far."""
    names = list(shipped_synsets())
    known = [name for name in names if name in VOC]
    others = [name for name in names if name not in VOC and name not in REMOVED]
    taxonomy = of_wordnet(to.work / "source" / "data.noun", shipped_synsets())
    found = largest(taxonomy.similarity, others, known)
    rows = [
        [name, "near" if name in NEAR else "far", found[name]]
        for name in sorted(others, key=lambda name: -found[name])
    ]
    to.commands = [f"{HERE} --wordnet data.noun"]
    to.inputs = {"$WORDNET/data.noun": _sources(to)["$WORDNET/data.noun"]}
    columns = [Column("class"), Column("in the paper's list"), Column("Wu-Palmer", "score", 2)]
    note = "CATS_TO_NEAR_OOD of the authors' configuration; classes that it removes are left out."
    again = to.kept()
    to.save("classes", columns, rows, note, needs=["data"])
    again()
    means = [columns[1], Column("classes", "count"), columns[2]]
    to.save("class-means", means, list(_means(rows)), note, needs=["data"])


def _means(rows: list[list[Any]]) -> Iterator[list[Any]]:
    """How alike the classes are that the list calls near, and those that it leaves far."""
    for tier in ("near", "far"):
        held = [like for _, called, like in rows if called == tier]
        yield [tier, float(len(held)), fmean(held)]


def tiers(to: Recorder) -> None:
    """Tables 1 and 4: two detectors on the three tiers, by the authors' evaluator and by ours."""
    files = " ".join(
        f"{name}=$DATA/coco/{stem}_bbox.json.gz"
        for name, stem in (("YOLOX-nano", "yolox_nano"), ("YOLOv4-tiny", "yolov4tiny"))
    )
    answers = {
        protocol: to.ask(
            f"evaluate --id $WORK/bench/id.json $WORK/bench/ood.json {files} "
            f"--protocol {protocol} --unknownness confidence --minimum-score best --by tier"
        )
        for protocol in PROTOCOLS
    }
    kept = to.commands[:1], dict(to.inputs)
    rows = [
        [name, protocol, tier, *(estimate(held[tier][metric]) for metric in SHOWN)]
        for name in answers[PROTOCOLS[0]]["models"]
        for protocol, answer in answers.items()
        for held in [answer["strata"]["models"][name]]
        for tier in TIERS
    ]
    columns = [Column("detector"), Column("protocol"), Column("tier"), *SHOWN.values()]
    to.save("tiers", columns, rows, LEAKY)
    to.commands, to.inputs = kept
    silent(to, answers[PROTOCOLS[0]])


def silent(to: Recorder, answer: dict[str, Any]) -> None:
    """Table 1: images on which nothing scores as much as t*."""
    rows = []
    for name, held in answer["models"].items():
        values, least = held["values"], held["provenance"]["minimum_score"]
        sets = [estimate(values[f"images_without_predictions@{of}"]) for of in ("id", "ood")]
        rows.append([name, float(least), *sets])
    columns = [Column("detector"), Column("t*", "score", 3), Column("ID set", "%")]
    to.save("silent", [*columns, Column("OOD set", "%")], rows, LEAKY)


def cwa(to: Recorder) -> None:
    """OpenDet with and without CWA, of all photographs at once, as `photographs.json` has them."""
    held = json.loads(results(PHOTOGRAPHS, JUDGED).read_text("utf-8"))
    shown = {name: SHOWN[name] for name in ("ap_unknown", "unknown_recall")}
    shown["a_ose"] = Column("A-OSE", "count")
    points = [Column(one.name, "points" if one.unit == "%" else "count") for one in shown.values()]
    of = {(one["first"], one["second"]): one["values"] for one in held["differences"]}
    rows = [
        [
            f"{NAMES[second]} less {NAMES[first]}",
            *(float(len(held["methods"][name]["ap50_voc"])) for name in (second, first)),
            *(difference(of[first, second][metric]) for metric in shown),
        ]
        for first, second in COMPARED
        if (first, second) in of
    ]
    to.commands = [JUDGED, f"{HERE} --wordnet data.noun"]
    to.inputs = {PHOTOGRAPHS.as_posix(): digest(PHOTOGRAPHS)}
    columns = [
        Column("methods"),
        Column("trainings of the first", "count"),
        Column("of the other", "count"),
        *points,
    ]
    to.save("cwa", columns, rows, MIXED, needs=("data", "training", "gpu"))


def of_paper(element: str) -> dict[str, dict[str, list[float | None]]]:
    """A table that the page types from the paper: its numbers, by row and column."""
    page = tomllib.loads((Path(__file__).parent / "fmiyc" / "page.toml").read_text("utf-8"))
    table = next(one["published"] for one in page["element"] if one["name"] == element)
    return {
        name: {
            column.partition(" ")[0]: [None if each == "–" else float(each) / 100
                                       for each in cell.split(" / ")]
            for column, cell in zip(table["header"][1:], cells, strict=True)
        }
        for name, *cells in table["rows"]
    }  # fmt: skip


def printed(to: Recorder) -> None:
    """What Tables 4 and 5 say of the claims: from their own numbers."""
    tables = {"COCO": of_paper("Table 4"), "Open Images": of_paper("Table 5")}
    rows = [
        [data, f"{OURS} less the best other", metric, *_less_best(table, metric, (OURS,))]
        for data, table in tables.items()
        for metric in BETTER
    ]
    for data, table in tables.items():
        vos = {name: table[name] for name in TRAINED}
        rows.append([data, "VOS less the best of SAFE and SIREN", "AUROC",
                     *_less_best(vos, "AUROC", ("VOS",))])  # fmt: skip
        most = _most(table, "R_U", VLM)
        rows.append([data, f"{VLM}, the most of its methods", "R_U", *most])
        rest = {name: held for name, held in table.items() if not name.startswith(VLM)}
        least = [min(column) for column in _columns(rest, "nOSE")]
        apart = [a - b for a, b in zip(_most(table, "nOSE", VLM), least, strict=True)]
        rows.append([data, f"{VLM}, the most, less the least of Faster R-CNN", "nOSE", *apart])
        rest = {name: table[name] for name in TRAINED[:2]}  # SIREN has no farther set
        for metric in BETTER:
            apart = _less_best(rest, metric, ("VOS",))
            rows.append([data, "VOS less the best of SAFE and SIREN", metric, None, None, apart[2]])
    near_and_far(to, tables)
    winners(to, tables)
    to.commands, to.inputs = [f"{HERE} --wordnet data.noun"], {}
    columns = [Column("set"), Column("what"), Column("metric")]
    columns += [Column(tier, "points", 2) for tier in TIERS]
    to.save("printed", columns, rows, "From the numbers that Tables 4 and 5 print.")


def near_and_far(to: Recorder, tables: dict[str, Printed]) -> None:
    """Tables 4 and 5: how far near is from far, by AUROC and by open-set metrics."""
    rows = []
    for data, table in tables.items():
        for name, held in table.items():
            if len(held["AUROC"]) > 1 and held["AUROC"][0] is not None and VLM not in name:
                gaps = {
                    metric: round(held[metric][0] - held[metric][1], 6)
                    for metric in ("AUROC", "R_U", "P_U")
                }
                size = {metric: abs(gap) for metric, gap in gaps.items()}
                less = [round(size["AUROC"] - size[other], 6) for other in ("R_U", "P_U")]
                rows.append([data, name, *gaps.values(), *less])
    to.commands, to.inputs = [f"{HERE} --wordnet data.noun"], {}
    columns = [Column("set"), Column("method")]
    columns += [Column(name, "points", 2) for name in ("AUROC", "R_U", "P_U")]
    columns += [Column(f"AUROC less {name}", "points", 2) for name in ("R_U", "P_U")]
    to.save("near-and-far", columns, rows, "From the numbers that Tables 4 and 5 print.")


def winners(to: Recorder, tables: dict[str, Printed]) -> None:
    """Tables 4 and 5: which methods are best in something."""
    rows = []
    for data, table in tables.items():
        there = {name: held for name, held in table.items() if VLM not in name}
        best: dict[str, None] = {}
        for metric, better in {"AUROC": max, **BETTER}.items():
            for at in range(len(TIERS)):
                held = {n: of[metric][at] for n, of in there.items() if len(of[metric]) > at}
                printed = {name: value for name, value in held.items() if value is not None}
                best[better(printed, key=printed.__getitem__)] = None
        rows.append([data, float(len(best)), ", ".join(best)])
    to.commands, to.inputs = [f"{HERE} --wordnet data.noun"], {}
    columns = [Column("set"), Column("methods that are best in something", "count")]
    to.save("winners", [*columns, Column("which are")], rows)


def _columns(table: Printed, metric: str) -> list[list[float]]:
    """The numbers of each tier, of the rows that have one."""
    tiers = zip(*(held[metric] for held in table.values() if len(held[metric]) > 1), strict=True)
    return [[each for each in tier if each is not None] for tier in tiers]


def _less_best(table: Printed, metric: str, of: tuple[str, ...]) -> list[float]:
    best = BETTER.get(metric, max)
    ours = _columns({name: table[name] for name in of}, metric)
    others = _columns(
        {k: held for k, held in table.items() if k not in of and not k.startswith(VLM)}, metric
    )
    return [round(a[0] - best(b), 6) for a, b in zip(ours, others, strict=True)]


def _most(table: Printed, metric: str, of: str) -> list[float]:
    held = {name: row for name, row in table.items() if name.startswith(of)}
    return [max(column) for column in _columns(held, metric)]


if __name__ == "__main__":
    spoken(main)
