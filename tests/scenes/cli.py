"""Files for command lines: images with dogs, cats and zebras, two detectors, and pictures.

``base`` finds most objects and calls half of the zebras unknown; ``shy`` is the same detector
without its unknown boxes and without its least confident ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

SIZE = (320, 240)
LABELS = {1: "dog", 2: "cat", 3: "zebra", 9: "unknown"}


def images(n: int = 24) -> list[dict[str, Any]]:
    """The images; every sixth holds zebras only."""
    names = [f"image {i:03d}.png" for i in range(n)]
    return [
        {"id": 10 + i, "file_name": name, "width": SIZE[0], "height": SIZE[1]}
        for i, name in enumerate(names)
    ]


def write_scene(folder: Path) -> None:
    """``gt.json``, ``base.json`` and ``shy.json``."""
    rng = np.random.default_rng(5)
    objects: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for image in images():
        for place in range(3):
            label = 3 if image["id"] % 6 == 0 or place == 2 else 1 + int(rng.integers(2))
            box = [100.0 * place + 10, float(rng.integers(10, 90)), 80.0, 100.0]
            here = {"image_id": image["id"], "category_id": label, "bbox": box}
            objects.append(here | {"id": len(objects) + 1, "area": 8000.0, "iscrowd": 0})
            if rng.random() < 0.85:
                found.append(here | _said(rng, label, box))
        if rng.random() < 0.5:
            box = [200.0, 180.0, 60.0, 50.0]
            found.append({"image_id": image["id"], "bbox": box} | _number(rng, 1, 0.1, 0.5))
    categories = [{"id": key, "name": name} for key, name in LABELS.items()]
    truth = {"images": images(), "annotations": objects, "categories": categories}
    shy = [r for r in found if r["category_id"] != 9 and r["score"] > 0.3]
    for name, document in (("gt", truth), ("base", found), ("shy", shy)):
        (folder / f"{name}.json").write_text(json.dumps(document))
    (folder / "known.txt").write_text("dog\ncat\n")


def write_trainings(folder: Path) -> None:
    """The scene, and three trainings of methods ``a`` and ``b``, which finds fewer objects."""
    write_scene(folder)
    found = json.loads((folder / "base.json").read_text())
    rng = np.random.default_rng(1)
    for name, lost in (("a", 0.1), ("b", 0.4)):
        for seed in range(3):
            kept = [record for record in found if rng.random() > lost]
            (folder / f"{name}{seed}.json").write_text(json.dumps(kept))


def _said(rng: np.random.Generator, label: int, box: list[float]) -> dict[str, Any]:
    """A detection of an object: half of the zebras are called unknown, the others dog or cat."""
    called = label if label != 3 else int(rng.choice([9, 9, 1, 2]))
    moved = [round(x + float(d), 1) for x, d in zip(box, rng.uniform(-6, 6, 4), strict=True)]
    return {"bbox": moved} | _number(rng, called, 0.3, 0.99)


def _number(rng: np.random.Generator, label: int, low: float, high: float) -> dict[str, Any]:
    score = round(float(rng.uniform(low, high)), 3)
    strange = round(float(rng.uniform(0.4, 1) if label == 9 else rng.uniform(0, 0.7)), 3)
    return {"category_id": label, "score": score, "unknownness": strange}


def write_pictures(folder: Path) -> Path:
    """A folder with a grey picture per image."""
    from PIL import Image

    folder.mkdir()
    for image in images():
        Image.new("RGB", SIZE, "#808080").save(folder / image["file_name"])
    return folder
