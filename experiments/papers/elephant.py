"""Measure what the page about Dhamija et al. 2020 shows; see `record`.

    python experiments/papers/elephant.py --data DATA

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny on it; the digits example is in the repository.
"""

from __future__ import annotations

from typing import Any

from record import Recorder, difference, estimate, number, started

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
RECALLS = ("0.1", "0.3", "0.5")
OPTIONS = f"--protocol paper --metrics all --recall {','.join(RECALLS)}"
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
    to.commands, to.inputs = ["python experiments/papers/elephant.py --data DATA"], {}
    f_beta(to)
    to.commands = ["python experiments/papers/elephant.py --data DATA"]
    drops(to)


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
