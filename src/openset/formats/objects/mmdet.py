"""MMDetection: ``DetDataSample`` of 3.x, and the result lists of 2.x.

A sample holds ``pred_instances`` and ``gt_instances`` (``bboxes`` as corners, ``labels``, for
predictions ``scores``) and says in ``metainfo`` which image it is of. A result of 2.x is a list of
one array per class, with five columns: corners and score; the second of a pair are masks, which are
not read. Class numbers need ``names=``, in the order of the model's ``CLASSES``.

Not ``results.pkl`` (nothing is unpickled): ``--cfg-options test_evaluator.outfile_prefix=out`` has
``out.bbox.json`` written, which is COCO.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import numpy as np

from openset.formats._arrays import array
from openset.formats._spec import Kind
from openset.formats.objects._spec import has, maybe, object_kind, part
from openset.refusals import wrong_kind

NAME = "mmdet"
_COLUMNS = 5  # of an array of 2.x: corners and score


def _is_sample(source: Any) -> bool:
    return has(source, "metainfo") and (
        has(source, "pred_instances") or has(source, "gt_instances")
    )


@object_kind(NAME, fits=_is_sample, summary="DetDataSample (3.x)")
def plain(source: Any, wanted: Kind, field: str | None = None) -> dict[str, Any]:
    """The boxes of one image: what was predicted, or its ground truth."""
    name = "gt_instances" if wanted == "annotations" else "pred_instances"
    if not has(source, name):
        raise wrong_kind(f"the {NAME} sample", wanted)
    held = part(source, name, NAME)
    boxes = part(held, "bboxes", NAME)
    record = {
        "boxes": array(getattr(boxes, "tensor", boxes)).reshape(-1, 4),
        "labels": part(held, "labels", NAME),
        **_image(source.metainfo),
    }
    return record if wanted == "annotations" else record | {"scores": part(held, "scores", NAME)}


def _image(about: Any) -> dict[str, Any]:
    """What a sample says of its image."""
    path, shape = maybe(about, "img_path"), maybe(about, "ori_shape")
    image = maybe(about, "img_id")
    found: dict[str, Any] = {}
    if path is not None:
        found["file_name"] = PurePath(str(path)).name
    if image is not None or path is not None:
        found["image_id"] = found["file_name"] if image is None else image
    if shape is not None:
        found |= {"height": int(shape[0]), "width": int(shape[1])}
    return found


def _is_result(source: Any) -> bool:
    pair = isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], list)
    classes = source[0] if pair else source
    return (
        isinstance(classes, list)
        and bool(classes)
        and all(np.shape(one)[1:] == (_COLUMNS,) for one in classes if hasattr(one, "shape"))
        and all(hasattr(one, "shape") for one in classes)
    )


@object_kind("mmdet-result", fits=_is_result, summary="an array per class (2.x)")
def result(source: Any, wanted: Kind, field: str | None = None) -> dict[str, Any]:
    """The boxes of one image, labels by the place of their array."""
    if wanted == "annotations":
        raise wrong_kind(f"the {NAME} result", wanted)
    arrays = [array(one) for one in (source[0] if isinstance(source, tuple) else source)]
    rows = np.concatenate(arrays)
    label = np.repeat(np.arange(len(arrays)), [len(one) for one in arrays])
    return {"boxes": rows[:, :4], "scores": rows[:, 4], "labels": label}
