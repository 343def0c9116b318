"""Pycocotools: ``COCO``, ground truth or the result of ``loadRes``, also of faster-coco-eval.

Both are decoded COCO under ``dataset``; annotations with scores are detections.
"""

from __future__ import annotations

from typing import Any

from openset.formats._spec import Kind
from openset.formats.objects._spec import object_kind, part
from openset.refusals import wrong_kind

NAME = "pycocotools"
_MADE = {"id", "area", "iscrowd", "segmentation"}  # by loadRes, from the boxes


@object_kind(
    NAME, marks=("dataset", "anns", "imgs", "cats"), summary="COCO, and what loadRes gives"
)
def plain(source: Any, wanted: Kind, field: str | None = None) -> Any:
    """The document of a ground truth, or the list of results."""
    fix = "give COCO the path of its file, or call createIndex() when dataset is set"
    annotations = part(part(source, "dataset", NAME), "annotations", NAME, fix=fix)
    scored = bool(annotations) and "score" in annotations[0]
    if bool(annotations) and scored != (wanted == "detections"):
        raise wrong_kind(f"the {NAME} COCO object", wanted)
    if wanted == "annotations":
        return source.dataset
    return [{k: v for k, v in one.items() if k not in _MADE} for one in annotations]
