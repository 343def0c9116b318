"""Writing: a large ground truth as COCO JSON, some thousand images at a time.

The same document that `openset.formats.coco` writes, but never whole in memory: the records of
fourteen million boxes would be twenty times the size of their columns.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from openset.files import replacing
from openset.formats.coco import truth_document
from openset.json_text import encode
from openset.tables import Annotations
from openset.tables.columns import take
from openset.tables.union import chosen

_IMAGES = 4_000  # at a time


def write_truth(table: Annotations, path: Path) -> None:
    """Write ground truth whose objects are ordered by image."""
    with replacing(path, folder=False) as target:
        boxes = target.with_suffix(".boxes")
        with target.open("wb") as head, boxes.open("wb") as tail:
            document, _ = truth_document(_chunk(table, 0, 0))
            info, categories = encode(document["info"]), encode(document["categories"])
            head.write(b'{"info":' + info + b',"categories":' + categories + b',"images":[')
            comma = (b"", b"")
            for chunk in _chunks(table):
                document, finite = truth_document(chunk)
                parts = [encode(document[key], finite=finite) for key in ("images", "annotations")]
                head.write(comma[0] + parts[0][1:-1])
                tail.write(comma[1] * (len(parts[1]) > 2) + parts[1][1:-1])
                comma = (b",", b"," if tail.tell() else b"")
            head.write(b'],"annotations":[')
        with target.open("ab") as head, boxes.open("rb") as tail_:
            shutil.copyfileobj(tail_, head)
            head.write(b"]}")


def _chunks(table: Annotations) -> Iterator[Annotations]:
    for start in range(0, len(table.images), _IMAGES):
        yield _chunk(table, start, min(start + _IMAGES, len(table.images)))


def _chunk(table: Annotations, start: int, stop: int) -> Annotations:
    """The images from `start` to `stop` and their objects."""
    first, last = np.searchsorted(table.image, [start, stop])
    rows = np.arange(first, last)
    names = ("label", "box", "area", "crowd", "difficult", "id")
    return replace(
        table,
        images=chosen(table.images, np.arange(start, stop)),
        image=table.image[rows] - start,
        attributes=take(table.attributes, rows),
        **{name: getattr(table, name)[rows] for name in names},
    )
