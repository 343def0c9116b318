"""Measure what the page about Hosoya et al. (OSOD-III) shows; see `record`.

    python experiments/papers/osod3.py --data DATA

From the repository's root. ``DATA/coco`` holds COCO val2017 and detections of YOLOX-nano and
YOLOv4-tiny, ``DATA/openimages`` its hierarchy and names of classes; the digits example is in the
repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from record import Recorder, photographs, started

from openset.files import digest, load_text
from openset.papers import Column

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


def main() -> None:
    """Write all run files of the page."""
    to = started("osod3")
    profiles(to)
    spreads(to)
    inner_nodes(to)
    seen_on_photographs(to)


def profiles(to: Recorder) -> None:
    """Figure 3: A-OSE and WI by the confidence from which boxes count, and who is better where."""
    columns = [
        Column("detector"),
        Column("threshold"),
        Column("score from", "score", 2),
        Column("A-OSE", "count"),
        Column("WI", "%"),
    ]
    ranks, asked, read = [], [], {}
    for world, files in WORLDS.items():
        metrics = "a_ose_profile,wilderness_profile"
        answer = to.ask(f"evaluate {files} --protocol osod3 --metrics {metrics} --no-intervals")
        asked, read = asked + to.commands, read | to.inputs
        held = {name: each["values"] for name, each in answer["models"].items()}
        errors = {name: dict(_above(each["a_ose_profile"]["parts"])) for name, each in held.items()}
        impacts = {name: each["wilderness_profile"]["parts"] for name, each in held.items()}
        rows = [
            [name, f"from {at}", float(at), float(count), _or_none(impacts[name].get(at))]
            for name, curve in errors.items()
            for at, count in curve.items()
        ]
        to.save(f"profiles-{world.lower().replace(' ', '-')}", columns, rows)
        ranks.append([world, *(float(len(set(_best(each)))) for each in (errors, impacts))])
    to.commands, to.inputs = asked, read
    names = [Column("world"), Column("detectors ever best by A-OSE", "count")]
    names.append(Column("detectors ever best by WI", "count"))
    to.save("rankings", names, ranks, "Thresholds at which all are equal are left out.")


def _or_none(value: float | None) -> float | None:
    return None if value is None else float(value)


def _above(bins: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Errors with a score above each edge, from those between edges."""
    left = sum(bins.values())
    for at, count in sorted(bins.items()):
        yield at, left
        left -= count


def _best(curves: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The detector with the fewest errors at each threshold that tells them apart."""
    for at in next(iter(curves.values())):
        values = {name: curve.get(at) for name, curve in curves.items()}
        if None not in values.values() and len(set(values.values())) > 1:
            yield min(values, key=lambda name: values[name])


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


def deviation(values: tuple[float, ...], less: int) -> float:
    """The standard deviation, with so many degrees of freedom less than values."""
    mean = sum(values) / len(values)
    return float((sum((each - mean) ** 2 for each in values) / (len(values) - less)) ** 0.5)


if __name__ == "__main__":
    main()
