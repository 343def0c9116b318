"""BDD100K detection labels as published: one JSON list with an entry per image.

An entry has a ``name`` and ``labels``, each with a ``category`` and, if it is an object and no lane
or drivable area, a ``box2d`` of corners. Every image is 1280 x 720.
"""

from __future__ import annotations

from pathlib import Path

from openset.benchmarks.readers import reader, table_of
from openset.files import load
from openset.findings import refuse
from openset.json_text import decode
from openset.tables import Annotations

_SIZE = (1280.0, 720.0)


@reader("bdd", folder=False)
def bdd(path: Path) -> Annotations:
    """Read a label file of BDD100K."""
    records = decode(load(path), str(path))
    objects: list[tuple[int, str, list[float]]] = []
    try:
        for row, record in enumerate(records):
            for item in record.get("labels") or ():
                if "box2d" in item:
                    x1, y1, x2, y2 = (float(item["box2d"][key]) for key in ("x1", "y1", "x2", "y2"))
                    objects.append((row, item["category"], [x1, y1, x2 - x1, y2 - y1]))
        images = [(str(record["name"]), *_SIZE) for record in records]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise refuse("OS903", f"{path} is no label file of BDD100K: {error!r}") from error
    return table_of(images, objects)
