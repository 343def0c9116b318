"""Detectron2: ``Instances`` of one image, what a model returns, and data-set dictionaries.

A model returns ``{"instances": Instances}``, which does not say which image it is of: a list is in
the order of the images; ``{image_id: output}`` says it, and so do ``image_id`` or ``file_name``
beside ``instances``. Data-set dictionaries (``DatasetCatalog.get(...)``) are ground truth. Class
numbers need ``names=``, the ``thing_classes`` of the metadata.

``coco_instances_results.json`` is COCO, with the ids of the data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openset.formats._arrays import array
from openset.formats._spec import Kind
from openset.formats.objects._spec import has, object_kind, part
from openset.refusals import wrong_kind, wrong_type

NAME = "detectron2"
_OF_IMAGE = ("image_id", "file_name", "height", "width")
_CORNERS = {0: False, 1: True}  # BoxMode.XYXY_ABS, XYWH_ABS: whether the last two are a size
_PARTS = {
    "detections": {"boxes": "pred_boxes", "labels": "pred_classes", "scores": "scores"},
    "annotations": {"boxes": "gt_boxes", "labels": "gt_classes"},
}


def _is_instances(source: Any) -> bool:
    held = source.get("instances") if isinstance(source, Mapping) else source
    return has(held, "image_size") and (has(held, "pred_boxes") or has(held, "gt_boxes"))


@object_kind(NAME, fits=_is_instances, summary="Instances of one image, or a model's output")
def plain(source: Any, wanted: Kind, field: str | None = None) -> dict[str, Any]:
    """The boxes of one image: what was predicted, or its ground truth."""
    outer = source if isinstance(source, Mapping) else {}
    held = outer.get("instances", source)
    names = _PARTS[wanted]
    if not has(held, names["boxes"]):
        raise wrong_kind(f"the {NAME} Instances", wanted)
    found = {key: part(held, name, NAME) for key, name in names.items()}
    found["boxes"] = array(getattr(found["boxes"], "tensor", found["boxes"])).reshape(-1, 4)
    height, width = held.image_size
    about = {key: outer[key] for key in _OF_IMAGE if key in outer}
    if "image_id" not in about and "file_name" in about:
        about["image_id"] = about["file_name"]
    return {"height": int(height), "width": int(width), **found, **about}


@object_kind(
    "detectron2-dataset",
    marks=("file_name", "image_id", "height", "width", "annotations"),
    summary="a data-set dictionary: the ground truth of one image",
)
def record(source: Any, wanted: Kind, field: str | None = None) -> dict[str, Any]:
    """The objects of one image."""
    if wanted == "detections":
        raise wrong_kind(f"the {NAME} data-set dictionary", wanted)
    objects = source["annotations"]
    return {
        **{key: source[key] for key in _OF_IMAGE},
        "boxes": np.array([_corners(one, row) for row, one in enumerate(objects)]).reshape(-1, 4),
        "labels": np.array([part(one, "category_id", NAME) for one in objects], np.int64),
        "iscrowd": np.array([one.get("iscrowd", 0) for one in objects], np.bool_),
    }


def _corners(one: Mapping[str, Any], row: int) -> Any:
    box, mode = part(one, "bbox", NAME), int(one.get("bbox_mode", 0))
    if mode not in _CORNERS:
        expected = "0 or 1 (XYXY_ABS or XYWH_ABS)"
        raise wrong_type(f"a {NAME} dictionary", "bbox_mode", expected, [row], mode)
    x, y, right, below = map(float, box)
    return [x, y, x + right, y + below] if _CORNERS[mode] else [x, y, right, below]
