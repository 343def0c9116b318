"""Mapillary Traffic Sign Dataset as published: a JSON file per image, lists of splits beside them.

``annotations/<image>.json`` has ``width``, ``height`` and ``objects``, each with a ``label`` and a
``bbox`` of ``xmin``, ``ymin``, ``xmax``, ``ymax``; ``splits/<split>.txt`` lists images. Panoramas
with boxes across the seam (``cross_boundary``) keep their larger part. ``other-sign`` is whatever
is none of the 400 classes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openset.benchmarks.readers import reader, table_of
from openset.files import load, load_text
from openset.findings import refuse
from openset.json_text import decode
from openset.tables import Annotations


@reader("mtsd", folder=True)
def mtsd(path: Path, *, split: str, without: str = "") -> Annotations:
    """Read one split of MTSD, without the boxes of a label."""
    names = load_text(path / "splits" / f"{split}.txt").split()
    images: list[tuple[str, float, float]] = []
    objects: list[tuple[int, str, list[float]]] = []
    for row, name in enumerate(names):
        file = path / "annotations" / f"{name}.json"
        document = decode(load(file), str(file))
        try:
            images.append((f"{name}.jpg", float(document["width"]), float(document["height"])))
            signs = [item for item in document["objects"] if item["label"] != without]
            objects += [(row, item["label"], _box(item["bbox"])) for item in signs]
        except (KeyError, TypeError, ValueError) as error:
            raise refuse("OS903", f"{file} is no annotation of MTSD: {error!r}") from error
    return table_of(images, objects)


def _box(box: dict[str, Any]) -> list[float]:
    if "cross_boundary" in box:
        sides = box["cross_boundary"]
        box = max((sides["left"], sides["right"]), key=lambda part: part["xmax"] - part["xmin"])
    left, top, right, bottom = (float(box[key]) for key in ("xmin", "ymin", "xmax", "ymax"))
    return [left, top, right - left, bottom - top]
