"""Measure what the page about FindMeIfYouCan shows; see `record`.

    python experiments/papers/fmiyc.py --data DATA --wordnet data.noun

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny; ``data.noun`` is WordNet 3.0's (Debian: wordnet-base). With

    PYTHONPATH=experiments ... --found FOUND --photos PHOTOS

also detectors that learned on photographs (`families`): FOUND is what ``experiments/photographs.py
find`` wrote, PHOTOS the folder that it worked in.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from record import Recorder, estimate, started

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
# Table 4 by tier, in percent: OpenDet CWA; GEN, energy, VOS, SAFE, SIREN (not on farther).
PRINTED = {
    "R_U": (
        (37.85, (26.12, 24.84, 24.62, 16.78, 27.30)),
        (24.59, (10.96, 9.95, 11.26, 6.31, 12.17)),
        (5.39, (2.99, 2.99, 4.72, 2.45)),
    ),
    "P_U": (
        (77.69, (73.80, 75.88, 72.10, 54.85, 60.52)),
        (54.72, (65.17, 66.33, 55.61, 45.78, 53.67)),
        (29.19, (22.89, 22.89, 26.70, 20.87)),
    ),
    "nOSE": (
        (25.19, (14.29, 15.95, 20.49, 35.45, 19.46)),
        (12.57, (8.69, 9.80, 9.65, 18.73, 9.84)),
        (8.30, (2.04, 2.03, 1.76, 3.22)),
    ),
}
LEAKY = (
    "Both detectors were taught all 80 classes, and boxes that they call by one of the 60 count as "
    "unknown: recall and precision of unknown objects are not those of a detector that never saw "
    "them. Unknownness is 1 - score."
)


def main() -> None:
    """Write all run files of the page."""
    to = started("fmiyc", "wordnet", optional=("found", "photos"))
    source = to.work / "source"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(to.options["wordnet"]), source / "data.noun")
    truth = load(to.data / "coco" / "instances_val2017_4697.json.gz")
    (source / "instances_val2017.json").write_bytes(truth)
    counts(to)
    similarity(to)
    classes(to)
    tiers(to)
    printed(to)
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


def silent(to: Recorder, answer: dict[str, Any]) -> None:
    """Table 1: images on which nothing scores as much as t*."""
    rows = []
    for name, held in answer["models"].items():
        values = held["values"]
        sets = [estimate(values[f"images_without_predictions@{of}"]) for of in ("id", "ood")]
        rows.append([name, float(values["best_threshold"]["value"]), *sets])
    columns = [Column("detector"), Column("t*", "score", 3), Column("ID set", "%")]
    to.save("silent", [*columns, Column("OOD set", "%")], rows, LEAKY)


def printed(to: Recorder) -> None:
    """What Table 4 says of OpenDet CWA beside the best of the other methods."""
    best = {"R_U": max, "P_U": max, "nOSE": min}
    rows = [
        [metric, *((ours - best[metric](others)) / 100 for ours, others in tiers)]
        for metric, tiers in PRINTED.items()
    ]
    to.commands, to.inputs = [f"{HERE} --wordnet data.noun"], {}
    columns = [Column("metric"), *(Column(tier, "points", 2) for tier in TIERS)]
    note = "OpenDet CWA less the best of GEN, energy, VOS, SAFE and SIREN, as Table 4 prints them."
    to.save("printed", columns, rows, note)


if __name__ == "__main__":
    main()
