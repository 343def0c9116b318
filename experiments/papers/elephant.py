"""Measure what the page about Dhamija et al. 2020 shows; see `record`.

    python experiments/papers/elephant.py --data DATA

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny on it; the digits example is in the repository.
"""

from __future__ import annotations

from typing import Any

from record import Recorder, difference, estimate, number, photographs, started

from openset.papers import Column

COCO = (
    "$DATA/coco/instances_val2017_4697.json.gz "
    "YOLOX-nano=$DATA/coco/yolox_nano_bbox.json.gz YOLOv4-tiny=$DATA/coco/yolov4tiny_bbox.json.gz "
    "--known voc20 --leaked drop"
)
EXAMPLE = "src/openset/examples/digits"
DIGITS = " ".join(
    [f"{EXAMPLE}/truth.json.gz"]
    + [f"{name}={EXAMPLE}/{name}.parquet" for name in ("faster_rcnn", "retinanet", "fcos")]
)
VAL = 5000
RECALLS = ("0.1", "0.3", "0.5")
OPTIONS = f"--protocol paper --metrics all --recall {','.join(RECALLS)}"
KINDS = ("correct", "localisation", "similar", "other", "unknown-unknown", "mixed-unknown")
LEAKY = (
    "Both detectors of COCO were taught all 80 classes; boxes they call by one of the 60 are left "
    "out. A detector that never saw those classes errs more: read them beside each other, not "
    "beside the paper."
)


def main() -> None:
    """Write all run files of the page."""
    to = started("elephant")
    worlds = {"COCO val": COCO, "digits": DIGITS}
    answers = {}
    for world, files in worlds.items():
        answers[world] = to.ask(f"evaluate {files} {OPTIONS}")
    kept = list(to.commands), dict(to.inputs)
    for make in (average_precision, impact, curve, against_two_stage):
        to.commands, to.inputs = list(kept[0]), dict(kept[1])
        make(to, answers)
    diagnosed(to)
    to.commands, to.inputs = ["python experiments/papers/elephant.py --data DATA"], {}
    f_beta(to)
    to.commands = ["python experiments/papers/elephant.py --data DATA"]
    drops(to)
    without_objects(to)
    seen_on_photographs(to)


def seen_on_photographs(to: Recorder) -> None:
    """Tables 1 and 2 of detectors that learned VOC and saw COCO's other classes at test only."""
    methods = {"Faster R-CNN": "base", "VOS": "vos", "OpenDet": "opendet", "SIREN": "siren"}
    metrics = {
        "ap50_voc": Column("AP50 on VOC alone", "%"),
        "wilderness_impact": Column("WI at recall 0.8", "%", 2),
        "a_ose": Column("A-OSE", "count"),
    }
    here = "python experiments/papers/elephant.py --data DATA"
    note = "SIREN was trained once, the others three times."
    photographs(to, "photographs", methods, metrics, here, note)


def diagnosed(to: Recorder) -> None:
    """Figures 3, 4 and 9 to 11, Tables 3 and 4, of the digits example."""
    to.commands, to.inputs = [], {}
    to.ask(f"evaluate {DIGITS} --protocol paper --no-intervals -o $WORK/run")
    first = list(to.commands)
    errors(to, first)
    matrix(to, first)
    transfer(to, first)
    evidence(to, first)


def errors(to: Recorder, first: list[str]) -> None:
    """Figures 3 and 9 to 11: kinds of errors, closed set and with wild images."""
    to.commands = list(first)
    rows = []
    for name in ("faster_rcnn", "retinanet", "fcos"):
        asked = f"diagnose $WORK/run --model {name} --question errors"
        found = to.ask(f"{asked} --recall 0.1,0.3,0.5 --ratio 0,0.3")["questions"]["errors"]["rows"]
        rows += [
            [name, f"recall {held['recall']}", f"ratio {held['ratio']}"]
            + [float(held[kind]) for kind in KINDS]
            for held in found
            if held["class"] == "all"
        ]
    columns = [Column("detector"), Column("at"), Column("wild")]
    to.save("errors", columns + [Column(kind, "count") for kind in KINDS], rows)


def matrix(to: Recorder, first: list[str]) -> None:
    """Figure 4: which labels go by which known name."""
    to.commands = list(first)
    asked = "diagnose $WORK/run --model faster_rcnn --question confusion_matrix"
    answer = to.ask(f"{asked} --recall 0.5 --ratio 0.3 --touch 0.1")
    found = answer["questions"]["confusion_matrix"]["rows"]
    names = [key for key in found[0] if key.startswith("as ")]
    rows = [
        [held["label"], float(held["objects"]), *(float(held[name]) for name in names)]
        for held in found
        if any(held[name] for name in names)
    ]
    columns = [Column("label"), Column("objects", "count")]
    to.save("matrix", columns + [Column(name, "count") for name in names], rows)


def transfer(to: Recorder, first: list[str]) -> None:
    """Table 4: thresholds chosen on the closed set, judged with wild images."""
    to.commands = list(first)
    rows = []
    for name in ("faster_rcnn", "retinanet", "fcos"):
        asked = f"diagnose $WORK/run --model {name} --question transfer"
        answer = to.ask(f"{asked} --beta 0.5,1,1.5 --chosen-at 0 --ratio 0,0.1,0.2,0.3")
        rows += [
            [name, held["rule"], f"ratio {held['judged_at']}"]
            + [float(held[key]) for key in ("precision", "recall", "f", "best_f", "lost")]
            for held in answer["questions"]["transfer"]["rows"]
            if held["class"] == "all"
        ]
    columns = [Column("detector"), Column("chosen by"), Column("judged at")]
    columns += [Column("precision", "%"), Column("recall", "%"), Column("F", "score", 3)]
    columns += [Column("best F there", "score", 3), Column("lost", "score", 3)]
    to.save("transfer", columns, rows)


def evidence(to: Recorder, first: list[str]) -> None:
    """Table 3 and Figure 8: probability of the class less that of the background."""
    to.commands = list(first)
    answer = to.ask("diagnose $WORK/run --model faster_rcnn --question object_evidence")
    rows = [
        [
            held["class"],
            float(held["detections"]),
            held["mean"],
            held["deviation"],
            held["negative"],
        ]
        for held in answer["questions"]["object_evidence"]["rows"]
    ]
    columns = [Column("class"), Column("detections", "count"), Column("mean", "score", 3)]
    columns += [Column("deviation", "score", 3), Column("below 0", "%")]
    to.save("evidence", columns, rows)


def f_beta(to: Recorder) -> None:
    """Table 4 for β = 0.5: what the printed precision and recall give."""
    printed = {  # wilderness ratio: F, precision and recall in percent, as the paper has them
        "WR 0.0": (0.85, 87.91, 77.46),
        "WR 1.0": (0.65, 70.87, 73.77),
        "WR 2.0": (0.57, 69.43, 65.16),
        "WR 4.25": (0.42, 55.89, 60.25),
    }
    rows = []
    for at, (f, precision, recall) in printed.items():
        top = 1.25 * precision * recall / 1e4
        whole = top / (recall / 100 + 0.25 * precision / 100)
        rows.append([at, f, top, whole])
    columns = [
        Column("at"),
        Column("printed F", "score", 2),
        Column("1.25·P·R", "score", 2),
        Column("F by the formula", "score", 2),
    ]
    to.save("f-beta", columns, rows, "Precision and recall as the paper prints them.")


def drops(to: Recorder) -> None:
    """What Table 1 says about the drops that Section 5.1 speaks of."""
    printed = {"Faster R-CNN": (81.86, 77.09), "RetinaNet": (79.29, 73.81)}
    rows = [[name, (wild - closed) / 100] for name, (closed, wild) in printed.items()]
    to.save("drops", [Column("detector"), Column("drop in Table 1", "points", 2)], rows)


def without_objects(to: Recorder) -> None:
    """How many pictures of COCO val2017 have no object of the 80 classes, or of VOC's 20."""
    found = to.ask("describe $DATA/coco/instances_val2017_4697.json.gz --known voc20")["images"]
    counts = {
        "at hand": found["all"],
        "with an object of the 80 classes": found["all"] - found["empty"],
        "without, at most": VAL - found["all"] + found["empty"],
        "without one of VOC's 20": found["unknown only"],
    }
    rows = [[name, float(count)] for name, count in counts.items()]
    note = f"COCO val2017 has {VAL:,} pictures; boxes of those at hand."
    to.save("without-objects", [Column("pictures"), Column("count", "count")], rows, note)


def average_precision(to: Recorder, answers: dict[str, Any]) -> None:
    """Table 1: mAP without and with wild images."""
    rows = []
    for world, name, values in models(answers):
        curve = values["ap_known_curve"]["parts"]
        (_, closed), (ratio, wild) = min(curve.items()), max(curve.items())
        rows.append([world, name, float(closed), float(wild), float(wild - closed), float(ratio)])
    columns = [
        Column("world"),
        Column("detector"),
        Column("closed set", "%"),
        Column("with wild images", "%"),
        Column("drop", "points", 2),
        Column("wilderness ratio", "score"),
    ]
    to.save("average-precision", columns, rows, LEAKY)


def impact(to: Recorder, answers: dict[str, Any]) -> None:
    """Table 2: average wilderness impact by recall."""
    rows = []
    for world, name, values in models(answers):
        first = values[f"average_wilderness_impact@{RECALLS[0]}"]
        for recall in RECALLS:
            held = values[f"average_wilderness_impact@{recall}"]
            rests = held["rests_on"]
            reached = f"{rests['classes_reached']} of {rests['known_classes']}"
            rows.append([world, name, recall, estimate(held), reached, _apart(held, first)])
    columns = [
        Column("world"),
        Column("detector"),
        Column("recall"),
        Column("AWI", "%", 2),
        Column("classes reached"),
        Column("above recall 0.1", "points", 2),
    ]
    note = (
        "The last column is the difference from recall 0.1, as wide as the two intervals allow: "
        "it leaves out 0 only where they do not meet."
    )
    to.save("impact", columns, rows, LEAKY, note)


def _apart(held: dict[str, Any], first: dict[str, Any]) -> Any:
    if held is first:
        return None
    (low, high), (low_first, high_first) = held["interval"], first["interval"]
    return number(held["value"] - first["value"], (low - high_first, high - low_first))


def curve(to: Recorder, answers: dict[str, Any]) -> None:
    """Figure 5: wilderness impact against the wilderness ratio, digits."""
    rows = []
    for world, name, values in models(answers):
        for recall in RECALLS[1:]:
            parts = values[f"average_wilderness_impact@{recall}"]["parts"]
            for ratio, value in parts.items():
                who = f"{name}, recall {recall}"
                if world == "digits" and value is not None:
                    rows.append([who, f"at {ratio}", float(ratio), float(value)])
    columns = [
        Column("detector"),
        Column("ratio"),
        Column("wilderness ratio", "score"),
        Column("Wilderness Impact", "%"),
    ]
    to.save("curve", columns, rows)


def against_two_stage(to: Recorder, answers: dict[str, Any]) -> None:
    """Whether one-stage detectors suffer more than the two-stage one, paired over images."""
    rows = [
        [name, recall, difference(held[f"average_wilderness_impact@{recall}"])]
        for name, held in answers["digits"]["differences"].items()
        for recall in RECALLS
    ]
    columns = [Column("detector"), Column("recall"), Column("above faster_rcnn", "points", 2)]
    to.save("one-stage", columns, rows)


def models(answers: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """World, name and values of all models."""
    return [
        (world, name, held["values"])
        for world, answer in answers.items()
        for name, held in answer["models"].items()
    ]


if __name__ == "__main__":
    main()
