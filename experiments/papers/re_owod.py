"""Measure what the page about Zhao et al. 2022 (RE-OWOD) shows; see `record`.

    python experiments/papers/re_owod.py --data DATA

From the repository's root. ``DATA/official_splits`` holds the published image lists of OWOD and
RE-OWOD, ``DATA/coco`` COCO val2017 with detections of YOLOX-nano and YOLOv4-tiny.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tasks
from record import Recorder, estimate, number, spoken, started, typed

from openset import Evaluation, evaluate
from openset.files import digest, load, load_list
from openset.formats import read_detections, write
from openset.papers import Column, Estimate
from openset.resampling.intervals import judged
from openset.scorers import of_split
from openset.tables import Detections, LogitLayout, Vocabulary

HERE = "python experiments/papers/re_owod.py --data DATA"
EXAMPLE = "src/openset/examples/digits"
BENCHMARKS = {"owod": "OWOD (ORE)", "re-owod": "RE-OWOD"}
TESTS = "test-t1,test-t2,test-t3,test-t4"
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
PHI = 0.9
SHARES = (0.0, 0.25, 0.5, 0.75)
NESTED = (
    "Of all unknown objects a random share loses its label, what is hidden at one share also at "
    "the next; known objects keep theirs."
)
TAUGHT = (
    "Both detectors were taught all 80 classes, and boxes that they call by a class of a later "
    "task count as unknown."
)
HIDDEN = {
    "a_ose": Column("A-OSE", "count"),
    "wilderness_impact": Column("WI", "%", 2),
    "unknown_precision": Column("precision unknown", "%"),
    "unknown_recall": Column("unknown recall", "%"),
    "ap_known": Column("AP known", "%"),
}
# Table 2: super-categories of a task as printed, by COCO's names, and its training pictures.
PRINTED_TASKS = {
    "person, vehicle, animal": 91903,
    "outdoor, accessory, appliance": 43684,
    "sports, food": 37677,
    "electronic, furniture, indoor, kitchen": 38446,
}
TWICE = {  # rows that two tables print, of task 1: WI, mAP, UDR, UDP
    "Ours, Table 3": (0.04493, 59.70, 21.20, 42.87),
    "Ours, Table 4": (0.04690, 60.10, 21.20, 36.74),
    "PAD, Table 4": (0.05247, 60.51, 21.20, 22.91),
    "PAD, Table 5": (0.05276, 60.51, 21.20, 22.91),
}
ANNOTATED = 117266  # pictures of train2017 with a box
Told = Mapping[str, Evaluation]
CEC = {
    "ap_known": Column("AP known", "%"),
    "precision_known": Column("precision known", "%"),
    "recall_known": Column("recall known", "%"),
    "unknown_precision": Column("precision unknown", "%"),
    "udp": Column("UDP", "%"),
    "a_ose": Column("A-OSE", "count"),
}


RISKED = {name: CEC[name] for name in ("ap_known", "precision_known", "a_ose")}


def main() -> None:
    """Write all run files of the page."""
    to = started("re-owod")
    audits(to)
    sizes(to)
    repeated_lines(to)
    hidden(to)
    super_categories(to)
    both(to)
    figure_4(to)
    relabelled(to)
    cec(to)
    tasks.tables(to)


def audits(to: Recorder) -> None:
    """Table 1: which principles the two benchmarks keep, by their lists and by annotations."""
    answer = to.ask("audit owod re-owod --lists $DATA/official_splits")
    listed = {each["benchmark"]: each["principles"] for each in answer["audits"]}
    _sources(to)
    built = {}
    for name in BENCHMARKS:
        to.ask(f"build {name} --source $WORK/{name} --splits {TESTS} --partial -o $WORK/b-{name}")
        (held,) = to.ask(f"audit $WORK/b-{name}")["audits"]
        built[name] = held["principles"]
    rows = [
        [listed["owod"][name]["title"], *(_decided(listed[of][name], built[of][name])
                                          for of in BENCHMARKS)]
        for name in PRINCIPLES
    ]  # fmt: skip
    note = (
        "From the published lists; what they cannot tell, from the boxes of their test pictures "
        "that are at hand. UNKNOWN takes the boxes of training pictures."
    )
    again = to.kept()
    to.save("audits", [Column("principle"), *map(Column, BENCHMARKS.values())], rows, note)
    again()
    verdicts = ("PASS", "FAIL", "UNKNOWN")
    kept = [
        [title, *(float(sum(row[at].startswith(each) for row in rows)) for each in verdicts)]
        for at, title in enumerate(BENCHMARKS.values(), 1)
    ]
    to.save("kept", [Column("benchmark"), *(Column(each, "count") for each in verdicts)], kept)


def _decided(by_lists: dict[str, Any], by_boxes: dict[str, Any]) -> str:
    """The verdict of the lists, or where they have none, of boxes."""
    if by_lists["verdict"] == "UNKNOWN" and by_boxes["verdict"] != "UNKNOWN":
        return f"{_because(by_boxes)}, by boxes"
    return _because(by_lists)


def _sources(to: Recorder) -> None:
    """Lay annotations and lists out as the benchmarks want them, each in a folder."""
    for name in BENCHMARKS:
        folder = to.work / name
        lists = folder / ("Main" if name == "re-owod" else "OWOD_imagesets")
        lists.mkdir(parents=True, exist_ok=True)
        of = name.replace("-", "_")
        for path in sorted((to.data / "official_splits" / of).glob("*.txt.gz")):
            held = load(_read(to, f"official_splits/{of}/{path.name}"))
            (lists / path.name.removesuffix(".gz")).write_bytes(held)
        truth = load(_read(to, "coco/instances_val2017_4697.json.gz"))
        (folder / "instances_val2017.json").write_bytes(truth)
    voc = "voc2007_test_coco.json.gz"
    shutil.copy(_read(to, f"voc2007/{voc}"), to.work / "owod" / voc)


def _because(held: dict[str, Any]) -> str:
    """The verdict, and all that decided it: what is wrong with the test set first."""
    said = [each for each in held["checks"] if each["verdict"] == held["verdict"]]
    said.sort(key=lambda each: not any(name.startswith("test") for name in each.get("where", ())))
    texts = [f"{_set_of(each)}{each['said']}" for each in said]
    return (
        held["verdict"] if held["verdict"] == "PASS" else f"{held['verdict']}: {'; '.join(texts)}"
    )


def _set_of(check: dict[str, Any]) -> str:
    """Which of the sets a check looked at, where it is one of them."""
    kinds = {name.partition("-")[0] for name in check.get("where", ())}
    return f"{kinds.pop()}, " if len(kinds) == 1 else ""


def sizes(to: Recorder) -> None:
    """Table 2: lines of the published lists, and how many are different."""
    rows = []
    for of in ("owod", "re_owod"):
        for path in sorted((to.data / "official_splits" / of).glob("*.txt.gz")):
            lines = load_list(_read(to, f"official_splits/{of}/{path.name}"))
            name = path.name.removesuffix(".txt.gz")
            rows.append([of.replace("_", "-"), name, float(len(lines)), float(len(set(lines)))])
    to.commands = [HERE]
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
        "once": to.ask(f"{common} --protocol owod"),
        "listed": to.ask(f"{common} --protocol owod-listed --image-list $WORK/test-list.txt"),
    }
    rows = [
        [name, way, *(estimate(held["values"][metric]) for metric in SHOWN)]
        for name in ("YOLOX-nano", "YOLOv4-tiny")
        for way, answer in ways.items()
        for held in [answer["models"][name]]
    ]
    to.commands.insert(0, f"{HERE} --work WORK")
    read = dict(to.inputs)
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
    to.commands, to.inputs = [f"{HERE} --work WORK"], read
    asked = {"known": "owod-t1", "metrics": list(SHOWN)}
    truth = to.work / "truth.json"
    files = {name: to.work / f"{file}.json" for name, file in DETECTORS.items()}
    lines_of = to.work / "test-list.txt"
    changes(
        to,
        {name: evaluate(truth, file, protocol="owod", **asked) for name, file in files.items()},
        {name: evaluate(truth, file, protocol="owod-listed", image_list=lines_of, **asked)
         for name, file in files.items()},
        "changes",
        SHOWN,
    )  # fmt: skip


def changes(
    to: Recorder, before: Told, after: Told, name: str, wanted: Mapping[str, Column]
) -> None:
    """How much each number of a detector changes, as a share of it, paired over pictures."""
    rows = [
        [title, *(change(before[title], after[title], metric) for metric in wanted)]
        for title in before
    ]
    columns = [Column("detector"), *(Column(each.name, "%") for each in wanted.values())]
    to.save(name, columns, rows, "Paired over resamples of the pictures.", needs=["data"])


def change(before: Evaluation, after: Evaluation, metric: str) -> Estimate | float | None:
    """The change of a number as a share of it, with its interval over the same pictures."""
    old, new = before.values[metric].value, after.values[metric].value
    if old is None or new is None or not old:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = after.replicates[metric] / before.replicates[metric] - 1
    said = judged(drawn, new / old - 1)
    return number(new / old - 1, said[0] if said else None)


def _at_hand(to: Recorder) -> list[str]:
    """Write truth and detections of the listed pictures that are at hand; their lines."""
    truth = json.loads(load(_read(to, "coco/instances_val2017_4697.json.gz")))
    there = {image["id"] for image in truth["images"]}
    listed = load_list(_read(to, "official_splits/owod/all_task_test.txt.gz"))
    kept = [line for line in listed if line.startswith("000000") and int(line) in there]
    wanted = {int(line) for line in kept}
    truth["images"] = [each for each in truth["images"] if each["id"] in wanted]
    truth["annotations"] = [each for each in truth["annotations"] if each["image_id"] in wanted]
    found = {"truth": truth}
    for name in ("yolox_nano", "yolov4tiny"):
        boxes = json.loads(load(_read(to, f"coco/{name}_bbox.json.gz")))
        found[name] = [each for each in boxes if each["image_id"] in wanted]
    for name, value in found.items():
        (to.work / f"{name}.json").write_text(json.dumps(value), "utf-8")
    (to.work / "test-list.txt").write_text("\n".join(kept) + "\n", "utf-8")
    return kept


def both(to: Recorder) -> None:
    """Table 3: the mean that `both` must be, from the printed parts."""
    to.commands = [HERE]
    rows = []
    for name, task, _, previous, current, whole, *_ in typed("re-owod", "Table 3"):
        if previous != "–":
            now = int(task.removeprefix("task "))
            mean = ((now - 1) * float(previous) + float(current)) / now
            apart = (float(whole) - mean) / 100
            rows.append([name, task, float(whole) / 100, mean / 100, round(apart, 6)])
    columns = [Column("row"), Column("task"), Column("printed both", "%", 2)]
    columns += [Column("mean of its parts", "%", 2), Column("apart", "points", 3)]
    to.save("both", columns, rows)
    to.commands = [HERE]
    columns = [Column("row"), Column("WI", "score", 5), Column("mAP", "%", 2)]
    columns += [Column("UDR", "%", 2), Column("UDP", "%", 2)]
    rows = [[name, wi, *(each / 100 for each in rest)] for name, (wi, *rest) in TWICE.items()]
    to.save("twice", columns, rows, "Typed from the paper, all of task 1.")


def figure_4(to: Recorder) -> None:
    """Figure 4: an unknown object that is found as one, one found as known, and one missed."""
    shown = {"unknown_recall": "unknown recall", "unknown_precision": "unknown precision"}
    shown |= {"udr": "UDR", "udp": "UDP"}
    rows: list[list[Any]] = []
    for name, label in {"keyboard": "unknown", "orange": "cat", "mouse": ""}.items():
        images = [{"id": 1, "width": 100, "height": 100, "file_name": "1.png"}]
        kinds = [{"id": 1, "name": "cat"}, {"id": 2, "name": "unknown"}]
        boxes = {1: [50, 50, 30, 30], 2: [10, 10, 30, 30]}  # a known object stands beside it
        truth = {"images": images, "categories": kinds, "annotations": [
            {"id": at, "image_id": 1, "category_id": at, "bbox": box, "area": 900, "iscrowd": 0}
            for at, box in boxes.items()]}  # fmt: skip
        labels = {1: "cat"} | ({2: label} if label else {})
        found = [
            {"image_id": 1, "category_id": 2 if of == "unknown" else 1, "bbox": boxes[at],
             "score": 0.9}
            for at, of in labels.items()
        ]  # fmt: skip
        told = evaluate(truth, found, known=["cat"], protocol="reowod", metrics=list(shown))
        rows.append([name, *(told.values[metric].value for metric in shown)])
    to.commands, to.inputs = [HERE], {}
    columns = [Column("object"), *(Column(each, "score", 0) for each in shown.values())]
    to.save("figure-4", columns, rows)


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
    rows: list[list[Any]] = []
    ways: dict[str, dict[tuple[float, float], str]] = {}  # files by α and φ
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
            if each != "chosen":
                at = float(options["alpha"]), float(options["phi"])
                ways.setdefault(file, {})[at] = each
            text = "by the rule" if each == "chosen" else f"{options['alpha']:g}"
            shown = [values[metric]["value"] for metric in CEC]
            rows.append([f"{name}, φ {options['phi']:g}", text, float(options["alpha"]), *shown])
    rows.sort(key=lambda row: (row[0].partition(",")[0] != next(iter(DETECTORS)), row[0], row[2]))
    read = dict(to.inputs)

    def again() -> None:
        to.commands, to.inputs = [f"{HERE} --work WORK"], dict(read)

    to.commands.insert(0, f"{HERE} --work WORK")
    to.save(
        "cec",
        [Column("detector"), Column("α"), Column("value of α", "score", 2),
         *CEC.values()],
        rows,
        "Every third of the pictures of COCO val2017 that are at hand is for means, validation and "
        "test; both detectors have seen pictures of all 80 classes, and only their scores of the "
        "20 classes of task 1 are read.",
        "The rule for α: the largest of 0, 0.05, ... 1 that leaves 99 % of AP known on validation, "
        "there the mean over IoU .5 to .95; the table has IoU .5.",
        needs=["data"],
    )  # fmt: skip
    again()
    cec_changes(to, ways)
    again()
    cec_phi(to, ways)


Ways = Mapping[str, Mapping[tuple[float, float], str]]


def _of_cec(to: Recorder, files: Mapping[str, str]) -> Told:
    """Some files of CEC, judged; each detector's by its name."""
    return {
        name: evaluate(to.work / "test.json", to.work / file / f"{files[file]}.parquet",
                       metrics=list(RISKED), known="owod-t1", protocol="reowod")
        for name, file in DETECTORS.items()
    }  # fmt: skip


def cec_changes(to: Recorder, ways: Ways) -> None:
    """What CEC with the α of the rule changes."""
    plain = {file: held[0.0, PHI] for file, held in ways.items()}
    chosen = dict.fromkeys(ways, "chosen")
    changes(to, _of_cec(to, plain), _of_cec(to, chosen), "cec-changes", RISKED)


def cec_phi(to: Recorder, ways: Ways) -> None:
    """What a strict φ changes at the paper's α, and that α at the paper's φ."""
    steps = {
        "φ 0.9 for 0.5": ((0.5, 0.5), (0.5, PHI)),
        "α 0.5 for 0": ((0.0, PHI), (0.5, PHI)),
    }
    rows = []
    for what, pair in steps.items():
        old, new = (_of_cec(to, {file: held[at] for file, held in ways.items()}) for at in pair)
        rows += [
            [name, what, *(change(old[name], new[name], metric) for metric in RISKED)]
            for name in DETECTORS
        ]
    columns = [Column("detector"), Column("what")]
    columns += [Column(each.name, "%") for each in RISKED.values()]
    to.save("cec-phi", columns, rows, "Paired over resamples of the pictures.", needs=["data"])


def hidden(to: Recorder) -> None:
    """Figure 2: what is not labelled, of which some share of the unknown objects is made."""
    truth = json.loads(load(_read(to, "coco/instances_val2017_4697.json.gz")))
    task = Vocabulary.of("owod-t1")
    names = {each["id"]: each["name"] for each in truth["categories"]}
    known = {at for at, name in names.items() if task.classes([name])[0] < len(task.known)}
    order = np.random.default_rng(0).permutation(len(truth["annotations"]))
    rank = dict(zip((one["id"] for one in truth["annotations"]), order / len(order), strict=True))
    told: dict[float, Told] = {}
    for share in SHARES:
        kept = [one for one in truth["annotations"]
                if one["category_id"] in known or rank[one["id"]] >= share]  # fmt: skip
        path = to.work / f"hidden-{share:g}.json"
        path.write_text(json.dumps({**truth, "annotations": kept}), "utf-8")
        told[share] = {
            name: evaluate(path, _read(to, f"coco/{file}_bbox.json.gz"), known="owod-t1",
                           protocol="owod", metrics=list(HIDDEN))
            for name, file in DETECTORS.items()
        }  # fmt: skip
    to.commands.append(f"{HERE} --work WORK")
    kept_inputs = dict(to.inputs)
    rows = [
        [name, f"{share:.0%}", *(number(value.value, value.interval) for metric in HIDDEN
                                 for value in [held[name].values[metric]])]
        for name in DETECTORS
        for share, held in told.items()
    ]  # fmt: skip
    columns = [Column("detector"), Column("hidden"), *HIDDEN.values()]
    to.save("hidden", columns, rows, NESTED, TAUGHT, needs=["data"])
    to.commands, to.inputs = [f"{HERE} --work WORK"], kept_inputs
    half = SHARES[2]
    changes(to, told[0.0], told[half], "hidden-changes", HIDDEN)


def super_categories(to: Recorder) -> None:
    """Table 2: classes of the released tasks that are of no super-category that it prints."""
    truth = json.loads(load(_read(to, "coco/instances_val2017_4697.json.gz")))
    of = {each["name"]: each["supercategory"] for each in truth["categories"]}
    names = {each["id"]: each["name"] for each in truth["categories"]}
    in_picture: dict[int, set[str]] = {}
    for one in truth["annotations"]:
        in_picture.setdefault(one["image_id"], set()).add(names[one["category_id"]])
    released, lists = Vocabulary.of("owod-t4"), to.data / "official_splits" / "re_owod"
    task_of = [{released.key(label) for label in labels} for labels in released.tasks]
    val, first = (set(load_list(lists / f"{name}.txt.gz")) for name in ("all_task_val", "t1_train"))
    assert not val & first, "validation pictures are none of training"
    rows = []
    for task, (printed, pictures) in enumerate(PRINTED_TASKS.items()):
        wanted = {name for name, group in of.items() if group in printed.split(", ")}
        wanted = wanted - {"truck"} | ({"truck"} if task == 1 else set())
        there = {name for name in of if released.key(name) in task_of[task]}
        shares = [
            sum(bool(held & some) for held in in_picture.values()) / len(in_picture)
            for some in (there, wanted)
        ]
        counts = float(len(there - wanted)), float(len(wanted - there))
        row = [f"task {task + 1}", printed, *counts, pictures / (ANNOTATED - len(val)), *shares]
        rows.append(row)
    to.commands.append(f"{HERE} --work WORK")
    columns = [Column("task"), Column("printed"), Column("classes of no printed one", "count")]
    columns += [Column("classes of a printed one that miss", "count")]
    columns += [Column("pictures as printed", "%"), Column("with a class of OWOD", "%")]
    columns += [Column("with a printed one", "%")]
    note = (
        f"Pictures as printed: of the {ANNOTATED:,} of train2017 with a box, less those of "
        "validation; the last two: of the pictures of val2017 at hand. Truck is of task 2, as "
        "printed."
    )
    to.save("super-categories", columns, rows, note, needs=["data"])


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
    spoken(main)
