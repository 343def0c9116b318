"""Toy scenes: random COCO documents that are easy to cut, repeat, write and read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from openset.formats import read_annotations, read_detections
from openset.tables import Annotations, Detections, Vocabulary

CATEGORIES = [
    {"id": 3, "name": "dog"},
    {"id": 7, "name": "cat"},
    {"id": 8, "name": "cow"},
    {"id": 12, "name": "zebra"},
    {"id": 20, "name": "unknown"},
]
KNOWN = Vocabulary(tasks=(("dog",), ("cat", "cow")), similar=(("dog", "cat"),))
UNKNOWN_IDS = (12, 20)


@dataclass(frozen=True)
class Scene:
    """A ground truth and detections on it, as COCO documents."""

    truth: dict[str, Any]
    found: list[dict[str, Any]]

    @property
    def images(self) -> list[Any]:
        """Image ids, in the order of the file."""
        return [image["id"] for image in self.truth["images"]]

    def tables(self) -> tuple[Annotations, Detections]:
        """Both tables."""
        return read_annotations(self.truth), read_detections(self.found)

    def files(self, folder: Path) -> tuple[Path, Path]:
        """Both files."""
        return dump(folder / "gt.json", self.truth), dump(folder / "dt.json", self.found)

    def part(self, images: list[Any]) -> Scene:
        """Only these images, in this order."""
        by_id = {image["id"]: image for image in self.truth["images"]}
        return Scene(
            self.truth
            | {
                "images": [by_id[i] for i in images],
                "annotations": [a for a in self.truth["annotations"] if a["image_id"] in images],
            },
            [d for d in self.found if d["image_id"] in images],
        )

    def repeated(self, times: dict[Any, int]) -> Scene:
        """Every image as often as `times` says, copies beside each other, under new ids."""
        copies = {i: [10 * i + copy for copy in range(n)] for i, n in times.items()}

        def spread(records: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
            return [record | {key: new} for record in records for new in copies[record[key]]]

        objects = spread(self.truth["annotations"], "image_id")
        return Scene(
            self.truth
            | {
                "images": spread(self.truth["images"], "id"),
                "annotations": [a | {"id": row} for row, a in enumerate(objects, 1)],
            },
            spread(self.found, "image_id"),
        )


def scene(
    seed: int = 0,
    *,
    images: int = 8,
    ids: str = "int",
    ties: bool = True,
    unknownness: bool = True,
    flags: bool = True,
) -> Scene:
    """A random scene: images with known, unknown, both or no objects, and detections near them.

    Args:
        seed: Decides everything.
        images: How many.
        ids: ``int`` or ``str``, never in the order of the file.
        ties: Scores repeat, also within an image; else only between images.
        unknownness: Whether detections have one (with ties).
        flags: Whether some objects are crowds or difficult.
    """
    rng = np.random.default_rng(seed)
    names = [int(i) for i in rng.permutation(5 * images)[:images] + 1]
    keys: list[Any] = names if ids == "int" else [f"img-{i}" for i in names]
    objects: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for at, key in enumerate(keys):
        allowed = [3, 7, 8] if at % 4 == 0 else UNKNOWN_IDS if at % 4 == 1 else [3, 7, 8, 12, 20]
        here = []
        for _ in range(0 if at % 8 == 7 else int(rng.integers(1, 6))):
            box, label = _box(rng), int(rng.choice(allowed))
            if here and rng.random() < 0.15:
                box = here[0][0]  # two objects in one place
            here.append((box, label))
            objects.append(
                {
                    "id": len(objects) + 1,
                    "image_id": key,
                    "category_id": label,
                    "bbox": box,
                    "area": box[2] * box[3],
                    "iscrowd": int(flags and rng.random() < 0.15),
                    "difficult": int(flags and rng.random() < 0.15),
                }
            )
        scores = rng.permutation(31)
        for row in range(int(rng.integers(0, 12))):
            pick = int(rng.integers(len(here))) if here and rng.random() < 0.8 else -1
            box, label = here[pick] if pick >= 0 else (_box(rng), 20)
            label = label if rng.random() < 0.7 else int(rng.choice([3, 7, 8, 20]))
            step = int(rng.choice([2, 9, 15, 22, 30])) if ties else int(scores[row])
            record = {
                "image_id": key,
                "category_id": 20 if label in UNKNOWN_IDS else label,
                "bbox": [float(x) for x in np.add(box, rng.choice([0, 0, 1, 3, 9], 4))],
                "score": (step + 1) / 32,
            }
            value = int(rng.integers(0, 8)) / 8
            if unknownness:
                record["unknownness"] = value
            found.append(record)
    listed = [
        {"id": key, "width": 200, "height": 160, "file_name": f"file {key}.jpg"} for key in keys
    ]
    return Scene({"images": listed, "annotations": objects, "categories": CATEGORIES}, found)


def _box(rng: np.random.Generator) -> list[float]:
    x, y, w, h = rng.integers([0, 0, 20, 20], [100, 80, 90, 70])
    return [float(x), float(y), float(w), float(h)]


def dump(path: Path, document: object) -> Path:
    """Write a document as JSON."""
    path.write_text(json.dumps(document), "utf-8")
    return path


def torchvision(scene: Scene) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same scene as lists of torchvision dictionaries, one per image."""
    targets, predictions = [], []
    for key in scene.images:
        truth = [a for a in scene.truth["annotations"] if a["image_id"] == key]
        found = [d for d in scene.found if d["image_id"] == key]
        targets.append(
            _dictionary(key, truth)
            | {
                "iscrowd": np.array([a["iscrowd"] for a in truth], bool),
                "difficult": np.array([a["difficult"] for a in truth], bool),
            }
        )
        predictions.append(
            _dictionary(key, found)
            | {
                "scores": np.array([d["score"] for d in found]),
                "unknownness": np.array([d["unknownness"] for d in found]),
            }
        )
    return targets, predictions


def _dictionary(key: Any, records: list[dict[str, Any]]) -> dict[str, Any]:
    box = np.array([r["bbox"] for r in records], float).reshape(-1, 4)
    corners = np.hstack([box[:, :2], box[:, :2] + box[:, 2:]])
    labels = np.array([r["category_id"] for r in records], np.int64)
    return {"image_id": key, "boxes": corners, "labels": labels}
