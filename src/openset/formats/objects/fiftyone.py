"""FiftyOne: a label field of a data set, or of a view, as ground truth or as detections.

The fields are ``ground_truth`` and ``predictions`` unless ``field=`` names another. Boxes are
shares of their image, whose size is in the ``metadata`` of a sample, or else in its file. Images
are called by file name, or by path where two have one name. The way back is
`openset.integrations.fiftyone`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from openset.findings import UsageError
from openset.formats._spec import Kind
from openset.formats.imagesize import image_size
from openset.formats.objects._spec import maybe, object_kind, part
from openset.refusals import missing_key, needs_sizes, wrong_kind

NAME = "fiftyone"
ROW = "fiftyone_id"  # the column with the ids of labels, by which outcomes find their way back
FIELDS: dict[Kind, str] = {"annotations": "ground_truth", "detections": "predictions"}


@object_kind(
    NAME, marks=("iter_samples", "get_field_schema"), summary="a label field of a data set or view"
)
def plain(source: Any, wanted: Kind, field: str | None = None) -> list[dict[str, Any]]:
    """A dictionary per image."""
    name = field or FIELDS[wanted]
    schema = list(source.get_field_schema())
    if name not in schema:
        shown = ", ".join(schema)
        raise UsageError(f"the {NAME} data set has no field {name!r}; field= names one of {shown}")
    samples = list(source.iter_samples())
    records = [_record(sample, _boxes(sample[name], name), wanted) for sample in samples]
    unsized = [str(sample.filepath) for sample in samples if _size(sample) is None]
    if unsized:
        raise needs_sizes(f"{NAME} (call dataset.compute_metadata())", len(unsized), unsized[0])
    for record, called in zip(records, image_names(samples), strict=True):
        record["image_id"] = called
    return records


def image_names(samples: Iterable[Any]) -> list[str]:
    """What the images of samples are called."""
    paths = [str(sample.filepath) for sample in samples]
    names = [PurePath(path.replace("\\", "/")).name for path in paths]
    return names if len(set(names)) == len(names) else paths


def _boxes(value: Any, field: str) -> list[Any]:
    """The detections of a field; a sample without labels has none."""
    if value is None:
        return []
    found = maybe(value, "detections")
    if found is None:
        raise UsageError(f"field {field!r} holds {type(value).__name__}, not Detections")
    return list(found)


def _size(sample: Any) -> tuple[float, float] | None:
    about = maybe(sample, "metadata")
    width, height = maybe(about, "width"), maybe(about, "height")
    if not width or not height:
        return image_size(Path(str(sample.filepath)))
    return float(width), float(height)


def _record(sample: Any, boxes: list[Any], wanted: Kind) -> dict[str, Any]:
    scores = [maybe(one, "confidence") for one in boxes]
    if wanted == "annotations" and any(score is not None for score in scores):
        raise wrong_kind(f"the {NAME} field", wanted)
    absent = [row for row, score in enumerate(scores) if score is None]
    if wanted == "detections" and absent:
        raise missing_key(f"{NAME}, {sample.filepath}", "confidence", absent, len(boxes))
    width, height = _size(sample) or (1.0, 1.0)
    share = np.array([part(one, "bounding_box", NAME) for one in boxes], np.float64).reshape(-1, 4)
    corners = np.hstack([share[:, :2], share[:, :2] + share[:, 2:]])
    record = {
        "boxes": corners * np.array([width, height, width, height]),
        "labels": np.array([str(part(one, "label", NAME)) for one in boxes], np.str_),
        ROW: np.array([str(maybe(one, "id")) for one in boxes], np.str_),
        "file_name": str(sample.filepath),
        "width": width,
        "height": height,
    }
    if wanted == "annotations":
        return record | {"iscrowd": np.array([bool(maybe(one, "iscrowd")) for one in boxes])}
    strange = [maybe(one, "unknownness") for one in boxes]
    if boxes and None not in strange:
        record["unknownness"] = np.array(strange, np.float64)
    return record | {"scores": np.array(scores, np.float64)}
