"""Measure what the page about FindMeIfYouCan shows; see `record`.

    python experiments/papers/fmiyc.py --data DATA --wordnet data.noun

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny; ``data.noun`` is WordNet 3.0's (Debian: wordnet-base).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from record import Recorder, estimate, number, started

from openset.benchmarks.taxonomy import largest, of_wordnet, shipped_synsets
from openset.files import load
from openset.papers import Column

HERE = "python experiments/papers/fmiyc.py --data DATA"
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
LEAKY = (
    "Both detectors were taught all 80 classes, and boxes that they call by one of the 60 count as "
    "unknown: recall and precision of unknown objects are not those of a detector that never saw "
    "them. Unknownness is 1 - score."
)


def main() -> None:
    """Write all run files of the page."""
    to = started("fmiyc", "wordnet")
    source = to.work / "source"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(to.options["wordnet"]), source / "data.noun")
    truth = load(to.data / "coco" / "instances_val2017_4697.json.gz")
    (source / "instances_val2017.json").write_bytes(truth)
    counts(to)
    similarity(to)
    classes(to)
    tiers(to)


def counts(to: Recorder) -> None:
    """Table 2: images and objects of each set."""
    built = to.ask("build fmiyc-coco --source $WORK/source -o $WORK/bench")["bundle"]["splits"]
    rows = [
        [name, *(float(held[key]) for key in ("images", "known", "unknown"))]
        for name, held in built.items()
    ]
    columns = [Column("set"), Column("images", "count")]
    columns += [Column("known objects", "count"), Column("unknown objects", "count")]
    to.save("counts", columns, rows, needs=["data"])


def similarity(to: Recorder) -> None:
    """Table 9: how near the classes of each tier are to the known ones."""
    found = to.ask("similarity $WORK/bench --wordnet $WORK/source/data.noun")["sets"]
    rows = [
        [held["name"].removeprefix("ood: "), float(held["images"]), held["wu_palmer"], held["path"]]
        for held in found
    ]
    columns = [Column("tier"), Column("images", "count")]
    columns += [Column("Wu-Palmer", "score", 3), Column("path", "score", 3)]
    to.save("similarity", columns, rows, needs=["data"])


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
    columns = [Column("class"), Column("in the paper's list"), Column("Wu-Palmer", "score", 2)]
    note = "CATS_TO_NEAR_OOD of the authors' configuration; classes that it removes are left out."
    to.save("classes", columns, rows, note, needs=["data"])


def tiers(to: Recorder) -> None:
    """Tables 1 and 4: two detectors on the three tiers."""
    files = " ".join(
        f"{name}=$DATA/coco/{stem}_bbox.json.gz"
        for name, stem in (("YOLOX-nano", "yolox_nano"), ("YOLOv4-tiny", "yolov4tiny"))
    )
    answer = to.ask(
        f"evaluate --id $WORK/bench/id.json $WORK/bench/ood.json {files} --unknownness confidence "
        "--minimum-score best --by tier"
    )
    kept = list(to.commands), dict(to.inputs)
    found = answer["strata"]["models"]
    rows = [
        [name, tier, *(estimate(held[tier][metric]) for metric in SHOWN)]
        for name, held in found.items()
        for tier in TIERS
    ]
    to.save("tiers", [Column("detector"), Column("tier"), *SHOWN.values()], rows, LEAKY)
    to.commands, to.inputs = list(kept[0]), dict(kept[1])
    silent(to, answer)
    to.commands, to.inputs = list(kept[0]), dict(kept[1])
    apart(to, found)


def silent(to: Recorder, answer: dict[str, Any]) -> None:
    """Table 1: images on which nothing scores as much as t*."""
    rows = []
    for name, held in answer["models"].items():
        values = held["values"]
        sets = [estimate(values[f"images_without_predictions@{of}"]) for of in ("id", "ood")]
        rows.append([name, float(values["best_threshold"]["value"]), *sets])
    columns = [Column("detector"), Column("t*", "score", 3), Column("ID set", "%")]
    to.save("silent", [*columns, Column("OOD set", "%")], rows, LEAKY)


def apart(to: Recorder, found: dict[str, Any]) -> None:
    """How much each number differs between tiers."""
    rows = [
        [name, f"{one} less {other}", *(_apart(held[one], held[other], key) for key in SHOWN)]
        for name, held in found.items()
        for one, other in (("near", "far"), ("far", "farther"))
    ]
    columns = [Column(each.name, "points") for each in SHOWN.values()]
    note = (
        "Tiers share no image of the OOD set, so an interval is as wide as the root of both "
        "squared widths; of AUROC and FPR95 it is too wide, since the ID set is the same."
    )
    to.save("apart", [Column("detector"), Column("tiers"), *columns], rows, note)


def _apart(one: dict[str, Any], other: dict[str, Any], key: str) -> Any:
    a, b = one[key], other[key]
    if None in (a["interval"], b["interval"], a["value"], b["value"]):
        return None
    gap = a["value"] - b["value"]
    low = ((a["value"] - a["interval"][0]) ** 2 + (b["interval"][1] - b["value"]) ** 2) ** 0.5
    high = ((a["interval"][1] - a["value"]) ** 2 + (b["value"] - b["interval"][0]) ** 2) ** 0.5
    return number(gap, (gap - low, gap + high))


if __name__ == "__main__":
    main()
