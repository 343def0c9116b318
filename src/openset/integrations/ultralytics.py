"""Ultralytics: a callback that evaluates what ``model.val(save_json=True)`` has found.

``model.add_callback("on_val_end", on_val_end(known=[...]))``. Ground truth is that of the
validator's data set, detections are its JSON records; the result is ``validator.openset``. AGPL
code is neither imported nor copied: this reads attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openset.findings import UsageError, refuse
from openset.formats.class_names import class_names
from openset.formats.imagesize import image_size
from openset.integrations._spec import integration
from openset.refusals import needs_sizes

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation

NEEDED = ("dataloader", "data", "jdict", "names", "class_map")


@integration(
    "ultralytics",
    requires=("ultralytics",),
    summary="A callback that evaluates what model.val(save_json=True) has found.",
)
def on_val_end(
    then: Callable[[Evaluation], Any] | None = None, **options: Any
) -> Callable[[Any], None]:
    """A function for ``model.add_callback("on_val_end", ...)``.

    Args:
        then: Called with the result, to print or log it; it is also ``validator.openset``.
        **options: What `openset.evaluate` takes, by name: ``known``, ``metrics`` ...
    """

    def evaluated(validator: Any) -> None:
        from openset.evaluation import evaluate

        absent = [name for name in NEEDED if getattr(validator, name, None) is None]
        if absent:
            raise UsageError(f"the validator has no {', '.join(absent)}: is it one of detection?")
        if not getattr(validator.args, "save_json", False):
            raise UsageError("detections are kept by model.val(save_json=True)")
        # Numbers of objects are the data set's, those of detections the model's.
        taught, labelled = class_names(validator.names), class_names(validator.data["names"])
        result = evaluate(_truth(validator, labelled), _found(validator, taught), **options)
        validator.openset = result
        if then is not None:
            then(result)

    return evaluated


def _truth(validator: Any, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """The labels of the validator's data set, boxes in pixels of the original images."""
    return [_image(one, names) for one in validator.dataloader.dataset.labels]


def _image(one: Mapping[str, Any], names: Mapping[int, str]) -> dict[str, Any]:
    width, height = _size(one)
    if not one.get("normalized", True) or one.get("bbox_format", "xywh") != "xywh":
        said = f"boxes of {one['im_file']} are not centres and sizes as shares of the image"
        raise refuse("OS431", said, example=str(one.get("bbox_format")))
    box = np.asarray(one["bboxes"], np.float64).reshape(-1, 4) * [width, height, width, height]
    label = np.asarray(one["cls"], np.int64).reshape(-1).tolist()
    return {
        "image_id": Path(one["im_file"]).name,
        "file_name": Path(one["im_file"]).name,
        "boxes": np.hstack([box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2]),
        "labels": np.array([names[at] for at in label], np.str_),
        "width": float(width),
        "height": float(height),
    }


def _size(one: Mapping[str, Any]) -> tuple[float, float]:
    """Width and height of an image; loaders that pad by shape have dropped it by then."""
    if "shape" in one:
        return float(one["shape"][1]), float(one["shape"][0])
    size = image_size(Path(one["im_file"]))
    if size is None:
        raise needs_sizes("the validator's data set", 1, one["im_file"])
    return size


def _found(validator: Any, names: Mapping[int, str]) -> dict[str, Any]:
    """The JSON records as columns, labels by name: their ids are of `class_map`."""
    called = {int(to): names[at] for at, to in enumerate(validator.class_map) if at in names}
    records = validator.jdict
    return {
        "image": np.array([one["file_name"] for one in records], np.str_),
        "label": np.array([called[one["category_id"]] for one in records], np.str_),
        "box": np.array([one["bbox"] for one in records], np.float64).reshape(-1, 4),
        "score": np.array([one["score"] for one in records], np.float64),
    }
