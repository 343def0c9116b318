"""Good files, as trees."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

RESULTS = [
    {"image_id": 1, "category_id": 2, "bbox": [1.5, 2, 30, 4], "score": 0.25, "unknownness": 0.5},
    {"image_id": 2, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.5, "unknownness": 0.1},
]  # fmt: skip
EVIDENCE = [
    {**record, "logits": [0.1, 0.2, 0.3], "layout": "softmax", "embedding": [1, 2], "note": [1]}
    for record in RESULTS
]  # fmt: skip
TRUTH = {
    "info": {"description": "x", "openset": {"known": [2]}},
    "images": [
        {"id": 1, "file_name": "a.jpg", "width": 640, "height": 480, "site": "x"},
        {"id": 2, "file_name": "b.jpg", "width": 320, "height": 200},
    ],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0},
        {"id": 2, "image_id": 2, "category_id": 3, "bbox": [5, 5, 10.5, 10], "difficult": 1,
         "segmentation": [[1.5, 2]], "note": "x"},
    ],
    "categories": [
        {"id": 2, "name": "dog", "supercategory": "animal", "role": "known"},
        {"id": 3, "name": "zebra", "role": "unknown"},
    ],
}  # fmt: skip
ROWS = [
    ["image_id", "label", "x", "y", "w", "h", "score", "unknownness", "note"],
    ["1", "dog", "1.5", "2", "30", "40", "0.5", "0.1", "a"],
    ["2", "cat", "1", "2", "3", "4", "0.25", "0.2", ""],
]
OBJECTS = [
    ["image", "class", "bbox", "crowd", "area", "id", "category_id", "image_width", "image_height"],
    ["a", "dog", "[1, 2, 3, 4]", "0", "12", "1", "3", "64", "48"],
    ["b", "cat", "[1, 2, 3, 4]", "1", "12", "2", "4", "32", "32"],
    ["c", "", "", "", "", "", "", "32", "32"],
]
OPEN_IMAGES = [
    ["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax", "IsGroupOf", "Source"],
    ["a", "/m/1", "0.1", "0.2", "0.3", "0.4", "0", "x"],
    ["b", "/m/2", "0.1", "0.9", "0.3", "0.9", "1", "x"],
]
XML = {
    "filename": "a.jpg",
    "size": {"width": 64, "height": 48, "depth": 3},
    "object": [
        {"name": "dog", "difficult": 0, "bndbox": {"xmin": 1, "ymin": 2, "xmax": 30, "ymax": 40}},
        {"name": "cat", "truncated": 1, "bndbox": {"xmin": 1, "ymin": 2, "xmax": 9.5, "ymax": 9}},
    ],
}
YAML = {
    "path": ".",
    "val": "images",
    "nc": 2,
    "names": {0: "dog", 1: "cat"},
    "holds": "annotations",
}
YOLO = {
    "data.yaml": YAML,
    "labels/a.txt": [[0, 0.5, 0.5, 0.25, 0.25], [1, 0.5, 0.5, 0.1, 0.1]],
    "labels/b.txt": [],
    "sizes.csv": [["image", "width", "height"], ["a", 64, 48], ["b", 32, 32]],
}
COLUMNS = {
    "image": {"dtype": "i8", "values": [1, 2]},
    "label": {"dtype": "i8", "values": [0, 1]},
    "x": {"dtype": "f8", "values": [1.0, 2.0]},
    "y": {"dtype": "f8", "values": [1.0, 2.0]},
    "width": {"dtype": "f8", "values": [10.0, 20.0]},
    "height": {"dtype": "f8", "values": [10.0, 20.0]},
}
FOUND_COLUMNS = {
    **COLUMNS,
    "score": {"dtype": "f8", "values": [0.5, 0.25]},
    "unknownness": {"dtype": "f8", "values": [0.5, 0.25]},
    "logits": {"dtype": "f4*3", "values": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]},
    "embedding": {"dtype": "f4*2", "values": [[1.0, 2.0], [3.0, 4.0]]},
    "attribute:note": {"dtype": "U1", "values": ["a", "b"]},
}
TRUTH_COLUMNS = {
    **{name: COLUMNS[name] for name in ("x", "y", "width", "height")},
    "image": {"dtype": "i4", "values": [0, 1]},
    "label": {"dtype": "i4", "values": [0, 1]},
    "area": {"dtype": "f8", "values": [100.0, 400.0]},
    "crowd": {"dtype": "b1", "values": [True, False]},
    "difficult": {"dtype": "b1", "values": [True, False]},
    "id": {"dtype": "i8", "values": [1, 2]},
}


def _statement(kind: str, columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A Parquet file of ours: its columns and what it says of itself."""
    dtypes = {name: held["dtype"].partition("*")[0] for name, held in columns.items()}
    meta = {"schema_version": 1, "kind": kind, "dtypes": dtypes, "labels": ["dog", "cat"], **more}
    return {"columns": columns, "meta": meta}


def _head() -> dict[str, Any]:
    """A last layer, as JSON holds it."""
    weight, bias = np.ones((3, 2), "<f4").tobytes(), np.ones(3, "<f4").tobytes()
    coded = {"weight": base64.b64encode(weight).decode(), "bias": base64.b64encode(bias).decode()}
    return {"layout": "softmax-background-last", "shape": [3, 2], **coded}


IMAGES = {
    "columns": {
        "id": {"dtype": "i8", "values": [1, 2]},
        "file_name": {"dtype": "U5", "values": ["a.jpg", "b.jpg"]},
        "width": {"dtype": "f8", "values": [64.0, 32.0]},
    },
    "attributes": {"site": {"dtype": "U1", "values": ["x", "y"]}},
}
PARQUET_TRUTH = _statement(
    "annotations",
    TRUTH_COLUMNS,
    images=IMAGES,
    category_id=[3, 4],
    info={},
    supercategory=["", ""],
    role=["known", ""],
)
PARQUET_FOUND = _statement(
    "detections",
    FOUND_COLUMNS,
    layout="softmax-background-last",
    provenance={"model": "x"},
    head=_head(),
)
HIERARCHY = {
    "LabelName": "/m/0",
    "Subcategory": [{"LabelName": "/m/1", "Subcategory": [{"LabelName": "/m/2"}]}],
}
YOLO_FOUND = {**YOLO, "labels/a.txt": [[*row, 0.5] for row in YOLO["labels/a.txt"]]}
SCORES = {
    "logits_k": np.eye(4).tolist(),
    "labels_k": [0, 1, 2, 3],
    "logits_u": np.eye(4).tolist(),
    "classes": list("abcd"),
}
OPENNESS = {
    "openness_k": [0.1, 0.2, 0.3, 0.4],
    "predicted_k": [0, 1, 2, 0],
    "labels_k": [0, 1, 2, 1],
    "openness_u": [0.5, 0.6, 0.7, 0.9],
}
SCORE_ROWS = [
    ["label", "predicted", "openness"],
    ["a", "a", "0.1"],
    ["b", "a", "0.2"],
    ["", "b", "0.9"],
]
LOGIT_ROWS = [["label", "logit:a", "logit:b"], ["a", "1", "0.1"], ["unknown", "0.5", "0.2"]]
ARCHIVE = {
    "openset": json.dumps({"schema_version": 1, "kind": "head", "fields": {"layout": "softmax"}}),
    "weight": [[1.0, 2.0], [3.0, 4.0]],
    "bias": [1.0, 2.0],
}
ROLES = {
    "known": ["dog", "cat"],
    "ignored": ["tractor"],
    "rest": "unknown",
    "synonyms": [["dog", "hound"]],
}
RECIPE = {"detector": "x", "steps": 5, "lr": 0.1, "options": {"a": 1}}
BENCHMARK = {
    "name": "x",
    "summary": "x",
    "classes": {"known": ["dog"]},
    "sources": {"all": {"path": ["a.json"]}},
    "splits": {"test": {"source": "all", "kind": "test", "task": 1}},
}
