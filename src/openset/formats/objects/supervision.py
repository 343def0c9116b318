"""Supervision: ``Detections`` of one image, and ``DetectionDataset``, the ground truth of many.

``Detections`` do not say which image they are of: a list of them is in the order of the images, and
``{image_id: Detections}`` says it. Labels are ``data["class_name"]`` where it is there, and else
``class_id``. What ``data`` holds under ``unknownness``, ``logits`` or ``embedding`` is kept.
"""

from __future__ import annotations

from typing import Any

from openset.formats._arrays import array
from openset.formats._spec import Kind
from openset.formats.objects._spec import object_kind, part
from openset.refusals import wrong_kind

NAME = "supervision"
_KEPT = ("unknownness", "logits", "embedding")
_FIX = "keep the confidence and the class of every box"


@object_kind(NAME, marks=("xyxy", "confidence", "class_id"), summary="Detections of one image")
def plain(source: Any, wanted: Kind, field: str | None = None) -> dict[str, Any]:
    """The boxes of one image, with their confidence if detections are wanted."""
    data = dict(getattr(source, "data", None) or {})
    boxes = array(source.xyxy).reshape(-1, 4)
    if not len(boxes):
        empty: dict[str, Any] = {"boxes": boxes, "labels": []}
        return {**empty, "scores": []} if wanted == "detections" else empty
    names = data.get("class_name")
    labels = part(source, "class_id", NAME, fix=_FIX) if names is None else names
    found = {"boxes": boxes, "labels": array(labels)}
    if wanted == "annotations":
        return found
    scores = array(part(source, "confidence", NAME, fix=_FIX))
    return {**found, "scores": scores, **{key: data[key] for key in _KEPT if key in data}}


@object_kind(
    "supervision-dataset",
    marks=("classes", "annotations", "image_paths"),
    summary="DetectionDataset: the ground truth of many images",
)
def dataset(source: Any, wanted: Kind, field: str | None = None) -> list[dict[str, Any]]:
    """A dictionary per image, which is called by its file name."""
    if wanted == "detections":
        raise wrong_kind("the supervision DetectionDataset", wanted)
    held, names = source.annotations, list(source.classes)
    return [
        {**_named(plain(held[path], wanted), names), "image_id": path, "file_name": path}
        for path in source.image_paths
    ]


def _named(record: dict[str, Any], names: list[str]) -> dict[str, Any]:
    labels = array(record["labels"])
    if labels.dtype.kind not in "iu":
        return record
    return {**record, "labels": [names[at] for at in labels.tolist()]}
