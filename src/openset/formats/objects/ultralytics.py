"""Ultralytics: ``Results``, one per image, as ``model(...)`` and ``model.predict(...)`` give them.

Boxes are corners in pixels of the original image, labels become names, and the image is called by
its file: results of arrays in memory are all called ``image0.jpg``, so give those by image id, as
``{image_id: results}``. Not ``probs`` or ``obb``: without boxes there is nothing to evaluate.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import numpy as np

from openset.formats._arrays import array
from openset.formats._spec import Kind
from openset.formats.objects._spec import object_kind, part
from openset.refusals import dangling, wrong_kind

NAME = "ultralytics"
_FIX = "run a detection model: classification and oriented boxes are not read"


@object_kind(
    NAME, marks=("boxes", "orig_shape", "names", "path"), summary="Results of a detection model"
)
def plain(source: Any, wanted: Kind, field: str | None = None) -> dict[str, Any]:
    """The detections on one image, labels by name."""
    if wanted == "annotations":
        raise wrong_kind(f"the {NAME} Results", wanted)
    boxes = part(source, "boxes", NAME, fix=_FIX)
    height, width = (int(side) for side in source.orig_shape)
    return {
        "image_id": PurePath(str(source.path).replace("\\", "/")).name,
        "boxes": array(part(boxes, "xyxy", NAME)).reshape(-1, 4),
        "scores": array(part(boxes, "conf", NAME)).reshape(-1),
        "labels": labels(array(part(boxes, "cls", NAME)).reshape(-1), source.names),
        "width": width,
        "height": height,
    }


def labels(index: Any, names: Any) -> Any:
    """Names of classes by number, from a list or from a dictionary."""
    table = dict(names) if hasattr(names, "keys") else dict(enumerate(names))
    numbers = index.astype(np.int64).tolist()
    absent = [row for row, number in enumerate(numbers) if number not in table]
    if absent:
        raise dangling(f"the {NAME} object", "class", numbers[absent[0]], absent[0], len(absent))
    return np.array([str(table[number]) for number in numbers], np.str_)
