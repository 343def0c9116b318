"""Measure what the page about Zhao et al. 2022 (RE-OWOD) shows; see `record`.

    python experiments/papers/re_owod.py --data DATA

From the repository's root. ``DATA/official_splits`` holds the published image lists of OWOD and
RE-OWOD, ``DATA/coco`` COCO val2017 with detections of YOLOX-nano and YOLOv4-tiny.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from record import Recorder, estimate, started

from openset.files import digest, load, load_list
from openset.formats import read_detections, write
from openset.papers import Column
from openset.scorers import of_split
from openset.tables import Detections, LogitLayout, Vocabulary

HERE = "python experiments/papers/re_owod.py --data DATA"
EXAMPLE = "src/openset/examples/digits"
PRINCIPLES = (
    "class_openness",
    "task_increment",
    "annotation_specificity",
    "label_integrity",
    "data_specificity",
)
SHOWN = {
    "ap_known": Column("AP known", "%"),
    "unknown_recall": Column("unknown recall", "%"),
    "a_ose": Column("A-OSE", "count"),
    "wilderness_impact": Column("WI", "%", 2),
    "udr": Column("UDR", "%"),
    "udp": Column("UDP", "%"),
}

DETECTORS = {"YOLOX-nano": "yolox_nano", "YOLOv4-tiny": "yolov4tiny"}
ALPHAS, PHIS, LEAST = "0,0.1,0.3,0.5,0.7,0.9", "0.5,0.7,0.9", 0.01
CEC = {
    "ap_known": Column("AP known", "%"),
    "precision_known": Column("precision known", "%"),
    "recall_known": Column("recall known", "%"),
    "unknown_precision": Column("precision unknown", "%"),
    "udp": Column("UDP", "%"),
    "a_ose": Column("A-OSE", "count"),
}


def main() -> None:
    """Write all run files of the page."""
    to = started("re-owod")
    audits(to)
    sizes(to)
    repeated_lines(to)
    both(to)
    relabelled(to)
    cec(to)


def audits(to: Recorder) -> None:
    """Table 1: which principles the two benchmarks keep, from their published lists."""
    answer = to.ask("audit owod re-owod --lists $DATA/official_splits")
    found = {each["benchmark"]: each["principles"] for each in answer["audits"]}
    rows = [
        [found["owod"][name]["title"], *(_because(found[of][name]) for of in ("owod", "re-owod"))]
        for name in PRINCIPLES
    ]
    to.save("audits", [Column("principle"), Column("OWOD (ORE)"), Column("RE-OWOD")], rows)


def _because(held: dict[str, Any]) -> str:
    """The verdict, and what decided it."""
    said = [each["said"] for each in held["checks"] if each["verdict"] == held["verdict"]]
    return held["verdict"] if held["verdict"] == "PASS" else f"{held['verdict']}: {said[0]}"


def sizes(to: Recorder) -> None:
    """Table 2: lines of the published lists, and how many are different."""
    rows = []
    for of in ("owod", "re_owod"):
        for path in sorted((to.data / "official_splits" / of).glob("*.txt.gz")):
            lines = load_list(path)
            name = path.name.removesuffix(".txt.gz")
            rows.append([of.replace("_", "-"), name, float(len(lines)), float(len(set(lines)))])
    to.commands, to.inputs = [HERE], {"$DATA/official_splits": "a folder"}
    columns = [
        Column("benchmark"),
        Column("list"),
        Column("lines", "count"),
        Column("different", "count"),
    ]
    to.save("sizes", columns, rows)


def repeated_lines(to: Recorder) -> None:
    """Figure 3: what the repeated lines of OWOD's test list do to its numbers."""
    kept = _at_hand(to)
    once, lines = len(set(kept)), len(kept)
    files = "$WORK/truth.json YOLOX-nano=$WORK/yolox_nano.json YOLOv4-tiny=$WORK/yolov4tiny.json"
    common = f"evaluate {files} --known owod-t1"
    ways = {
        "every picture once": to.ask(f"{common} --protocol owod"),
        "lines as published": to.ask(
            f"{common} --protocol owod-listed --image-list $WORK/test-list.txt"
        ),
    }
    rows = [
        [name, way, *(estimate(held["values"][metric]) for metric in SHOWN)]
        for name in ("YOLOX-nano", "YOLOv4-tiny")
        for way, answer in ways.items()
        for held in [answer["models"][name]]
    ]
    to.commands.insert(0, f"{HERE} --work WORK")
    to.save(
        "repeated-lines",
        [Column("detector"), Column("test list"), *SHOWN.values()],
        rows,
        f"$WORK has the pictures of OWOD's all_task_test.txt that are at hand: {lines:,} lines, "
        f"{once:,} of them different; pictures of VOC are left out.",
        "Both detectors were taught all 80 classes, and boxes that they call by a class of a later "
        "task count as unknown: this shows what the lines do, not how good the detectors are.",
        needs=["data"],
    )
    changes(to, rows)


def changes(to: Recorder, rows: list[list[Any]]) -> None:
    """How much the repeated lines change each number, as a share of it."""
    to.commands, to.inputs = [f"{HERE} --work WORK"], {}
    shown = []
    for once, twice in zip(rows[::2], rows[1::2], strict=True):
        pairs = zip(once[2:], twice[2:], strict=True)
        shown.append([once[0], *(new.value / old.value - 1 for old, new in pairs)])
    columns = [Column("detector"), *(Column(each.name, "%") for each in SHOWN.values())]
    to.save("changes", columns, shown, needs=["data"])


def _at_hand(to: Recorder) -> list[str]:
    """Write truth and detections of the listed pictures that are at hand; their lines."""
    coco = to.data / "coco"
    truth = json.loads(load(coco / "instances_val2017_4697.json.gz"))
    there = {image["id"] for image in truth["images"]}
    listed = load_list(to.data / "official_splits" / "owod" / "all_task_test.txt.gz")
    kept = [line for line in listed if line.startswith("000000") and int(line) in there]
    wanted = {int(line) for line in kept}
    truth["images"] = [each for each in truth["images"] if each["id"] in wanted]
    truth["annotations"] = [each for each in truth["annotations"] if each["image_id"] in wanted]
    found = {"truth": truth}
    for name in ("yolox_nano", "yolov4tiny"):
        boxes = json.loads(load(coco / f"{name}_bbox.json.gz"))
        found[name] = [each for each in boxes if each["image_id"] in wanted]
    for name, value in found.items():
        (to.work / f"{name}.json").write_text(json.dumps(value), "utf-8")
    (to.work / "test-list.txt").write_text("\n".join(kept) + "\n", "utf-8")
    return kept


def both(to: Recorder) -> None:
    """Table 3, task 3: the mean that `both` must be, from the printed parts."""
    to.commands = [HERE]
    printed = {"Faster-RCNN": (1.90, 30.53, 11.44), "Ours": (43.06, 24.64, 37.59)}
    rows = [
        [name, whole / 100, (2 * previous + current) / 300]
        for name, (previous, current, whole) in printed.items()
    ]
    columns = [Column("row"), Column("printed both", "%", 2), Column("mean of its parts", "%", 2)]
    note = "At task 3, 40 classes are previous ones and 20 are new."
    to.save("both", columns, rows, note)


def relabelled(to: Recorder) -> None:
    """What UDR and UDP say where unsure boxes are called unknown, and no box moves."""
    found = read_detections(f"{EXAMPLE}/faster_rcnn.parquet")
    found = replace(found, unknownness=None, logits=None, layout=None, embedding=None)
    ways = {"as the scorer says": 0.0, "below a score of 0.5": 0.5, "below a score of 0.9": 0.9}
    for at, least in enumerate(ways.values()):
        label = np.where(found.score < least, found.labels.index("unknown"), found.label)
        write(replace(found, label=label), to.work / f"way-{at}.parquet")
    files = " ".join(f"$WORK/way-{at}.parquet" for at in range(len(ways)))
    shown = {name: SHOWN[name] for name in ("udr", "udp", "unknown_recall")}
    shown["unknown_precision"] = Column("precision unknown", "%")
    asked = f"--protocol reowod --metrics {','.join(shown)}"
    told = to.ask(f"evaluate {EXAMPLE}/truth.json.gz {files} {asked}")["models"]
    rows = [
        [way, *(estimate(told[f"way-{at}"]["values"][metric]) for metric in shown)]
        for at, way in enumerate(ways)
    ]
    to.commands.insert(0, f"{HERE} --work WORK")
    note = "Faster R-CNN on the digits example; boxes of a score below are called unknown, too."
    to.save("relabelled", [Column("unknown are"), *shown.values()], rows, note)


def cec(to: Recorder) -> None:
    """Figure 8: CEC over alpha and phi, and the alpha that the paper's rule chooses."""
    truths = _thirds(to)
    rows = []
    for name, file in DETECTORS.items():
        _with_scores(to, file, truths)
        rule = f"score $WORK/{file}-test.parquet --rule cec"
        rule += f" --fit $WORK/{file}-train.parquet --fit-truth $WORK/train.json"
        held = f"--calibrate $WORK/{file}-val.parquet --calibrate-truth $WORK/val.json"
        curve = to.ask(f"{rule} --option alpha={ALPHAS} --option phi={PHIS} -o $WORK/{file}")
        chosen = to.ask(f"{rule} {held} -o $WORK/{file}/chosen.parquet")
        made = {**curve["rules"], "chosen": chosen["rules"]["cec"]}
        files = " ".join(f"$WORK/{file}/{each}.parquet" for each in made)
        asked = f"--known owod-t1 --protocol reowod --metrics {','.join(CEC)} --no-intervals"
        told = to.ask(f"evaluate $WORK/test.json {files} {asked}")["models"]
        for each, facts in made.items():
            options, values = facts["options"], told[each]["values"]
            text = "by the rule" if each == "chosen" else f"{options['alpha']:g}"
            shown = [values[metric]["value"] for metric in CEC]
            rows.append([name, f"{options['phi']:g}", text, float(options["alpha"]), *shown])
    to.commands.insert(0, f"{HERE} --work WORK")
    to.save(
        "cec",
        [Column("detector"), Column("φ"), Column("α"), Column("value of α", "score", 2),
         *CEC.values()],
        rows,
        "Every third of the pictures of COCO val2017 that are at hand is for means, validation and "
        "test; both detectors have seen pictures of all 80 classes, and only their scores of the "
        "20 classes of task 1 are read.",
        "The rule for α: the largest of 0, 0.05, ... 1 that leaves 99 % of AP known on validation, "
        "there the mean over IoU .5 to .95; the table has IoU .5.",
        needs=["data"],
    )  # fmt: skip
    cec_changes(to, rows)


def cec_changes(to: Recorder, rows: list[list[Any]]) -> None:
    """What CEC changes with the alpha of the paper's rule, as a share of each number."""
    to.commands, to.inputs = [f"{HERE} --work WORK"], {}
    at = {tuple(row[:3]): row[4:] for row in rows}
    wanted = {name: list(CEC).index(name) for name in ("ap_known", "a_ose")}
    shown = [
        [name, *(at[name, "0.9", "by the rule"][i] / at[name, "0.9", "0"][i] - 1
                 for i in wanted.values())]
        for name in DETECTORS
    ]  # fmt: skip
    columns = [Column("detector"), *(Column(CEC[name].name, "%") for name in wanted)]
    to.save("cec-changes", columns, shown, needs=["data"])


def _read(to: Recorder, file: str) -> Path:
    """A file of the data sets, whose checksum the run file will hold."""
    path = to.data / file
    to.inputs[f"$DATA/{file}"] = digest(path)
    return path


def _thirds(to: Recorder) -> dict[str, set[int]]:
    """Write the truth of each third of the pictures; the ids of each."""
    truth = json.loads(load(_read(to, "coco/instances_val2017_4697.json.gz")))
    ids, there = sorted(image["id"] for image in truth["images"]), {}
    for at, name in enumerate(("train", "val", "test")):
        there[name] = set(ids[at::3])
        part = {
            **truth,
            "images": [each for each in truth["images"] if each["id"] in there[name]],
            "annotations": [e for e in truth["annotations"] if e["image_id"] in there[name]],
        }
        (to.work / f"{name}.json").write_text(json.dumps(part), "utf-8")
    return there


def _with_scores(to: Recorder, file: str, thirds: dict[str, set[int]]) -> None:
    """Write the boxes of a detector with its scores of the classes of task 1, for each third."""
    held = np.load(_read(to, f"coco/{file}_scores.npz"))
    kinds = json.loads((to.work / "test.json").read_text("utf-8"))["categories"]
    names = {each["id"]: each["name"] for each in kinds}
    labels = [names[each] for each in held["category_ids"].tolist()]
    task = Vocabulary.of("owod-t1")
    columns = np.flatnonzero(task.classes(labels) < len(task.known))
    scores = held["class_scores"][:, columns].astype(np.float64)
    inside = np.clip(scores, 1e-7, 1 - 1e-7)  # half precision: some are 0 or 1
    corner, other = np.split(held["boxes_xyxy"].astype(np.float64), 2, axis=1)
    found = Detections(
        held["image_id"],
        scores.argmax(axis=1),
        np.hstack([corner, other - corner]),
        scores.max(axis=1),
        tuple(labels[at] for at in columns),
        logits=np.log(inside / (1 - inside)),
        layout=LogitLayout.SIGMOID,
    )
    for name, ids in thirds.items():
        rows = np.isin(found.image, list(ids)) & (found.score > LEAST)
        write(of_split(found.select(rows), f"coco {name}"), to.work / f"{file}-{name}.parquet")


if __name__ == "__main__":
    main()
