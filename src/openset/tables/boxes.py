"""Boxes: the conventions in which detectors write them, turned into ours.

Ours is ``x, y, width, height`` in pixels from the top left, 0-based and continuous. Overlaps are
not here: they belong to the matching kernel and its protocol's geometry.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.plugins import lookup
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections

Array = NDArray[np.float64]


def _from_xyxy(box: Array) -> Array:
    return np.column_stack([box[:, :2], box[:, 2:] - box[:, :2]])


def _from_cxcywh(box: Array) -> Array:
    return np.column_stack([box[:, :2] - box[:, 2:] / 2, box[:, 2:]])


_CONVENTIONS = {"xywh": lambda box: box, "xyxy": _from_xyxy, "cxcywh": _from_cxcywh}
CONVENTIONS = tuple(name + norm for norm in ("", "-norm") for name in _CONVENTIONS)


def convert(box: Array, convention: str) -> Array:
    """Boxes of a convention as ``x, y, width, height`` (normalised boxes stay normalised).

    >>> convert(np.array([[10.0, 20.0, 40.0, 60.0]]), "xyxy").tolist()
    [[10.0, 20.0, 30.0, 40.0]]
    """
    name = convention.removesuffix("-norm")
    lookup(dict.fromkeys(CONVENTIONS), convention, "box convention")
    return np.asarray(_CONVENTIONS[name](box))


def in_pixels(
    detections: Detections, image: NDArray[np.int32], truth: Annotations, convention: str
) -> Detections:
    """Detections whose boxes follow `convention`, in ours; `image` is their row in the truth."""
    if convention == "xywh":
        return detections
    box = convert(detections.box, convention)
    if convention.endswith("-norm"):
        assert truth.images.width is not None and truth.images.height is not None
        size = np.column_stack([truth.images.width, truth.images.height])
        known = np.vstack([size, [np.nan, np.nan]])[image]
        if np.isnan(known[image >= 0]).any():
            raise refuse(
                "OS110",
                "normalised boxes need image sizes, and the ground truth does not state them",
                fix="add width and height to the images of the ground truth",
            )
        box = box * np.tile(np.nan_to_num(known, nan=1.0), 2)
    return replace(detections, box=box)
