"""Measure what the page about Dhamija et al. 2020 shows; see `record`.

    python experiments/papers/elephant.py --data DATA

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny on it, ``DATA/voc2007`` VOC 2007 test and detections of YOLOv2 and YOLOv3; the digits
example is in the repository.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from record import Recorder, difference, estimate, paired, photographs, spoken, started, typed

from openset.diagnosis.evidence import BINS, evidence_of
from openset.evaluation.run import Run
from openset.papers import Column

COCO = (
    "$DATA/coco/instances_val2017_4697.json.gz "
    "YOLOX-nano=$DATA/coco/yolox_nano_bbox.json.gz YOLOv4-tiny=$DATA/coco/yolov4tiny_bbox.json.gz "
    "--known voc20 --leaked drop"
)
VOC = (
    "$DATA/voc2007/voc2007_test_coco_difficult.json.gz "
    "YOLOv2=$DATA/voc2007/yolov2_bbox.json.gz YOLOv3=$DATA/voc2007/yolov3_bbox.json.gz "
    "--known voc20 --drop-invalid"
)
EXAMPLE = "src/openset/examples/digits"
DIGITS = " ".join(
    [f"{EXAMPLE}/truth.json.gz"]
    + [f"{name}={EXAMPLE}/{name}.parquet" for name in ("faster_rcnn", "retinanet", "fcos")]
)
VAL = 5000
RECALLS = ("0.1", "0.3", "0.5")
SURE = (0.5, 0.9)  # scores from which a mistake counts as confident
HERE = "python experiments/papers/elephant.py --data DATA"
OPTIONS = f"--protocol paper --metrics all --recall {','.join(RECALLS)}"
BOTH = ("0", "0.3")  # closed, and as wild as the digits example allows
STEPS = ("0.1", "0.2", "0.3", "0.4", "0.5")  # recalls of Figures 9 to 11
KINDS = ("correct", "localisation", "similar", "other", "unknown-unknown", "mixed-unknown")
LEAKY = (
    "Both detectors of COCO were taught all 80 classes; boxes they call by one of the 60 are left "
    "out. A detector that never saw those classes errs more: read them beside each other, not "
    "beside the paper."
)


def main() -> None:
    """Write all run files of the page."""
    to = started("elephant")
    worlds = {"VOC 2007 test": VOC, "COCO val": COCO, "digits": DIGITS}
    answers = {}
    for world, files in worlds.items():
        answers[world] = to.ask(f"evaluate {files} {OPTIONS} -o $WORK/{folder(world)}")
    again = to.kept()
    for make in (average_precision, impact, curve, against_two_stage):
        again()
        make(to, answers)
    diagnosed(to)
    confident(to)
    for make_printed in (f_beta, f_betas, printed_impact, drops, hidden_by_map):
        to.commands, to.inputs = [HERE], {}
        make_printed(to)
    without_objects(to)
    seen_on_photographs(to)


def folder(world: str) -> str:
    """Where the run of a world is kept."""
    return world.lower().replace(" ", "-")


def seen_on_photographs(to: Recorder) -> None:
    """Tables 1 and 2 of detectors that learned VOC and saw COCO's other classes at test only."""
    methods = {"Faster R-CNN": "base", "VOS": "vos", "OpenDet": "opendet", "SIREN": "siren"}
    metrics = {
        "ap50_voc": Column("AP50 on VOC alone", "%"),
        "wilderness_impact": Column("WI at recall 0.8", "%", 2),
        "a_ose": Column("A-OSE", "count"),
    }
    note = "WI has no value where no class reaches the recall in one of the trainings."
    photographs(to, "photographs", methods, metrics, HERE, note)


def diagnosed(to: Recorder) -> None:
    """Figures 3, 4 and 8 to 11, Tables 3 and 4."""
    for world, files, make in (
        ("digits", DIGITS, of_digits),
        ("COCO val", COCO, of_coco),
        ("VOC 2007 test", VOC, of_voc),
    ):
        to.commands, to.inputs = [], {}
        to.ask(f"evaluate {files} --protocol paper --no-intervals -o $WORK/{folder(world)}-run")
        make(to, to.kept())


def of_digits(to: Recorder, again: Callable[[], None]) -> None:
    """What the digits example shows."""
    for name in ("figure-3", "figure-9", "figure-10"):
        again()
        errors(to, name, "digits")
    again()
    matrix(to, "matrix", "digits", "faster_rcnn", "0.3")
    again()
    transfer(to)
    again()
    evidence(to)
    again()
    histogram(to)


def of_coco(to: Recorder, again: Callable[[], None]) -> None:
    """What COCO val2017 shows: pictures of 80 classes, 20 of them known."""
    again()
    matrix(to, "matrix-coco", "COCO val", "YOLOX-nano", "0.2", above=True)
    for make in (matrix_classes, within_families):
        again()
        make(to, confused(to, "COCO val", "YOLOX-nano", "0.2"))


def of_voc(to: Recorder, again: Callable[[], None]) -> None:
    """What VOC 2007 test shows: the closed set, of detectors that learned VOC."""
    again()
    errors(to, "figure-11", "VOC 2007 test")


ERRORS = {  # what bars are called, detectors, recalls and wilderness ratios of a figure
    "figure-3": ("detector, pictures", ("faster_rcnn", "retinanet", "fcos"), ("0.3",), BOTH),
    "figure-9": ("recall, pictures", ("faster_rcnn",), STEPS, BOTH),
    "figure-10": ("recall, pictures", ("retinanet",), STEPS, BOTH),
    "figure-11": ("detector, recall", ("YOLOv2", "YOLOv3"), STEPS, ("0",)),
}


def errors(to: Recorder, figure: str, world: str) -> None:
    """Figures 3 and 9 to 11: kinds of errors, closed set and with wild images."""
    kept = to.kept()
    title, names, recalls, ratios = ERRORS[figure]
    rows = []
    for name in names:
        asked = f"diagnose $WORK/{folder(world)}-run --model {name} --question errors"
        answer = to.ask(f"{asked} --recall {','.join(recalls)} --ratio {','.join(ratios)}")
        for held in answer["questions"]["errors"]["rows"]:
            if held["class"] == "all":
                count = sum(held[kind] for kind in KINDS)
                wild = f"ratio {held['ratio']:g}" if held["ratio"] else "closed"
                parts = {"detector": name, "recall": f"{held['recall']}", "pictures": wild}
                at = ", ".join(parts[part] for part in title.split(", "))
                rows.append([at, float(count), *(held[kind] / count for kind in KINDS)])
    columns = [Column(title), Column("detections", "count")]
    to.save(figure, columns + [Column(kind, "%") for kind in KINDS], rows)
    if figure == "figure-3":
        kept()
        to.commands.append(HERE)
        right = {row[0]: row[2] for row in rows}
        wild = f"ratio {BOTH[1]}"
        shares = [[name, *(1 - right[f"{name}, {at}"] for at in ("closed", wild))]
                  for name in names]  # fmt: skip
        columns = [Column("detector"), Column("closed", "%"), Column("with wild pictures", "%")]
        to.save("more-errors", columns, shares, "At the recall and the ratios of Figure 3.")


def confused(to: Recorder, world: str, model: str, ratio: str) -> dict[str, Any]:
    """Which labels go by which known name, at the recall of Figure 3."""
    asked = f"diagnose $WORK/{folder(world)}-run --model {model} --question confusion_matrix"
    answer = to.ask(f"{asked} --recall 0.3 --ratio {ratio} --touch 0.1")
    return dict(answer["questions"]["confusion_matrix"])


def names_of(found: dict[str, Any]) -> list[str]:
    """The columns of known names."""
    return [key for key in found["rows"][0] if key.startswith("as ") and key != "as unknown"]


def matrix(
    to: Recorder, name: str, world: str, model: str, ratio: str, *, above: bool = False
) -> None:
    """Figure 4: which labels, or super-classes of labels, go by which known name."""
    found = confused(to, world, model, ratio)
    names = names_of(found)
    sums: dict[str, list[float]] = {}
    for held in found["rows"]:
        role = "known" if f"as {held['label']}" in names else "unknown"
        label = f"{held['super-class']}, {role}" if above else held["label"]
        added = sums.setdefault(label, [0.0] * (1 + len(names)))
        for at, key in enumerate(("objects", *names)):
            added[at] += held[key]
    rows = [[label, *counts] for label, counts in sums.items() if any(counts[1:])]
    columns = [Column("label"), Column("objects", "count")]
    columns += [Column(name, "count") for name in names]
    to.save(name, columns, rows, *(note[0].upper() + note[1:] + "." for note in found["notes"]))


def matrix_classes(to: Recorder, found: dict[str, Any]) -> None:
    """Figure 4 by class: how many boxes on objects of an unknown class have a known name."""
    names = names_of(found)
    rows = []
    for held in found["rows"]:
        counts = {key.removeprefix("as "): held[key] for key in names}
        if held["label"] not in counts and held["objects"]:
            called, most = sum(counts.values()), max(counts, key=counts.__getitem__)
            each = [held["label"], held["super-class"], float(held["objects"]), float(called)]
            rows.append([*each, called / held["objects"], most if called else "–"])
    rows.sort(key=lambda row: -row[4])
    columns = [Column("class"), Column("super-class"), Column("objects", "count")]
    columns += [Column("called by a known name", "count"), Column("for each object", "score", 3)]
    to.save("matrix-classes", [*columns, Column("most often")], rows)


def within_families(to: Recorder, found: dict[str, Any]) -> None:
    """Figure 4: of boxes on unknown objects of a super-class, how many stay within it."""
    names = names_of(found)
    above = {held["label"]: held["super-class"] for held in found["rows"]}
    unknown = [held for held in found["rows"] if f"as {held['label']}" not in names]
    whole = sum(held[name] for held in unknown for name in names)
    rows: list[list[Any]] = []
    stay = 0.0
    for family in dict.fromkeys(above[name.removeprefix("as ")] for name in names):
        own = [name for name in names if above[name.removeprefix("as ")] == family]
        members = [held for held in unknown if held["super-class"] == family]
        called = sum(held[name] for held in members for name in names)
        if called:
            inside = sum(held[name] for held in members for name in own) / called
            anyway = sum(held[name] for held in unknown for name in own) / whole
            rows.append([family, float(called), inside, anyway])
            stay += inside * called
    rows.append(["all", float(whole), stay / whole, None])
    columns = [Column("super-class"), Column("boxes on its unknown objects", "count")]
    columns += [Column("by names of the family", "%"), Column("on all unknown objects", "%")]
    to.save("within-families", columns, rows)


def histogram(to: Recorder) -> None:
    """Figure 8: how probability of the class less that of the background is distributed."""
    to.commands.append(HERE)
    run = Run.load(to.work / "digits-run")
    held = next(each for name, each in evidence_of(run) if name == "faster_rcnn")
    groups = {"correct": held.correct, "on unknown objects": held.on_unknown}
    rows = [
        [name, f"from {-1 + 2 * at / BINS:.1f}", -1 + (2 * at + 1) / BINS, count / spread.count]
        for name, spread in groups.items()
        for at, count in enumerate(spread.histogram)
        if spread.count
    ]
    columns = [Column("detections"), Column("bin"), Column("class less background", "score", 2)]
    to.save("histogram", [*columns, Column("share of detections", "%")], rows)


def transfer(to: Recorder) -> None:
    """Table 4: thresholds chosen on the closed set, judged with wild images."""
    rows = []
    for name in ("faster_rcnn", "retinanet", "fcos"):
        asked = f"diagnose $WORK/digits-run --model {name} --question transfer"
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


def evidence(to: Recorder) -> None:
    """Table 3 and Figure 8: probability of the class less that of the background."""
    answer = to.ask("diagnose $WORK/digits-run --model faster_rcnn --question object_evidence")
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


def table_4() -> dict[str, dict[str, list[float]]]:
    """Table 4 as the page types it: F, precision, recall and threshold, by β and ratio."""
    held = typed("elephant", "Table 4")
    betas = ("β = 0.5", "β = 1", "β = 1.5")
    return {
        beta: {ratio: [float(each) for each in cells[at].split(" / ")] for ratio, *cells in held}
        for at, beta in enumerate(betas)
    }


def f_of(beta: float, precision: float, recall: float) -> float:
    """Fβ of a precision and a recall in percent."""
    square = beta * beta
    return (1 + square) * precision * recall / (100 * (square * precision + recall))


def f_beta(to: Recorder) -> None:
    """Table 4 for β = 0.5: what the printed precision and recall give, and a better threshold.

    A threshold that a row of more wild pictures prints has the same recall with fewer of them, and
    no less precision if the levels are nested: its F there is the least it has here.
    """
    printed = table_4()["β = 0.5"]
    whole = [f_of(0.5, p, r) for _, p, r, _ in printed.values()]
    rows = []
    for at, (ratio, (f, precision, recall, threshold)) in enumerate(printed.items()):
        top = 1.25 * precision * recall / 1e4
        better = max(range(at, len(whole)), key=whole.__getitem__)
        other = [*printed.values()][better][3]
        given = [precision / 100, recall / 100]
        rows.append([ratio, *given, f, top, whole[at], threshold, whole[better], other])
    columns = [
        Column("at"),
        Column("precision", "%", 2),
        Column("recall", "%", 2),
        Column("printed F", "score", 2),
        Column("1.25·P·R", "score", 2),
        Column("F by the formula", "score", 3),
        Column("printed threshold", "score", 2),
        Column("F that is reached at least", "score", 3),
        Column("by the threshold", "score", 2),
    ]
    note = (
        "Precision and recall as the paper prints them. Reached at least: by a threshold that a "
        "row of more wild pictures prints, whose precision is no lower with fewer of them."
    )
    to.save("f-beta", columns, rows, note)


def f_betas(to: Recorder) -> None:
    """Table 4 for every β: how far a printed F is from that of its precision and recall."""
    rows = [
        [beta, max(abs(f - f_of(float(beta.split()[-1]), p, r)) for f, p, r, _ in held.values())]
        for beta, held in table_4().items()
    ]
    columns = [Column("β"), Column("farthest from the formula", "score", 3)]
    to.save("f-betas", columns, rows)


def table_2() -> dict[str, list[float]]:
    """Table 2 as the page types it, in percent."""
    return {
        name: [100 * float(each) for each in cells] for name, *cells in typed("elephant", "Table 2")
    }


def printed_impact(to: Recorder) -> None:
    """Table 2 of the paper: whether it rises with the recall, and above Faster R-CNN."""
    printed = table_2()
    first = printed["Faster R-CNN"]
    rows = [
        [name, *awi, awi[1] - awi[0], awi[2] - awi[1],
         *(None if awi is first else a - b for a, b in zip(awi, first, strict=True))]
        for name, awi in printed.items()
    ]  # fmt: skip
    columns = [Column("detector"), *(Column(f"recall {at}", "score", 2) for at in RECALLS)]
    columns += [Column("from 0.1 to 0.3", "score", 2), Column("from 0.3 to 0.5", "score", 2)]
    columns += [Column(f"recall {at} above Faster R-CNN", "score", 2) for at in RECALLS]
    to.save("printed-impact", columns, rows, "Printed as fractions; here in percent.")


def hidden_by_map(to: Recorder) -> None:
    """Tables 1 and 2 of the paper: how many times Faster R-CNN's loss a detector has by either."""
    drop = {name: float(a) - float(b) for name, a, b in typed("elephant", "Table 1")}
    impact, first = table_2(), "Faster R-CNN"
    rows = []
    for name, awi in impact.items():
        if name != first:
            by_map = drop[name] / drop[first]
            times = [one / other for one, other in zip(awi, impact[first], strict=True)]
            rows.append([name, by_map, *times, *(each - by_map for each in times)])
    columns = [Column("detector"), Column("of the drop of mAP", "score", 2)]
    columns += [Column(f"of the impact, recall {at}", "score", 2) for at in RECALLS]
    columns += [
        Column(f"of the impact less of the drop, recall {at}", "score", 2) for at in RECALLS
    ]
    to.save("hidden-by-map", columns, rows, "Multiples of Faster R-CNN's, from what is printed.")


def confident(to: Recorder) -> None:
    """How sure a detector is of the unknown objects that it calls by a known name."""
    rows = []
    for world, files in {"COCO val": COCO, "digits": DIGITS}.items():
        asked = f"evaluate {files} --protocol paper --metrics a_ose_profile --no-intervals"
        for name, held in to.ask(asked)["models"].items():
            bins = held["values"]["a_ose_profile"]["parts"]
            whole = sum(bins.values())
            sure = [sum(n for at, n in bins.items() if float(at) >= least) for least in SURE]
            rows.append([world, name, float(whole), *(each / whole for each in sure)])
    columns = [Column("world"), Column("detector"), Column("errors", "count")]
    columns += [Column(f"of at least {least}", "%") for least in SURE]
    to.save("confident", columns, rows, LEAKY)


def drops(to: Recorder) -> None:
    """What Table 1 says about the drops that Section 5.1 speaks of."""
    rows = [
        [name, (float(wild) - float(closed)) / 100]
        for name, closed, wild in typed("elephant", "Table 1")
    ]
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
        if not curve:  # no wild pictures
            rows.append([world, name, estimate(values["ap_known"]), None, None, None])
            continue
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
    for world, name, values in models({world: answers[world] for world in ("COCO val", "digits")}):
        for recall in RECALLS:
            metric = f"average_wilderness_impact@{recall}"
            rests = values[metric]["rests_on"]
            reached = f"{rests['classes_reached']} of {rests['known_classes']}"
            apart = None
            if recall != RECALLS[0]:
                first = f"average_wilderness_impact@{RECALLS[0]}"
                apart = paired(to.work / folder(world), name, metric, first)
            rows.append([world, name, recall, estimate(values[metric]), reached, apart])
    columns = [
        Column("world"),
        Column("detector"),
        Column("recall"),
        Column("AWI", "%", 2),
        Column("classes reached"),
        Column("above recall 0.1", "points", 2),
    ]
    note = "The last column is the difference from recall 0.1 in the same resamples of pictures."
    to.save("impact", columns, rows, LEAKY, note)


def curve(to: Recorder, answers: dict[str, Any]) -> None:
    """Figure 5: wilderness impact against the wilderness ratio, digits."""
    rows = []
    for world, name, values in models(answers):
        for recall in RECALLS:
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
    spoken(main)
