"""In-memory input: what `read_annotations` and `read_detections` accept besides paths.

- A list of torchvision or torchmetrics dictionaries, one per image: ``boxes`` (corners by default),
  ``labels``, for predictions ``scores``; optional ``image_id``, ``iscrowd``, ``area``, ``logits``,
  ``unknownness``. The image id defaults to the position in the list, so give it in targets and
  predictions, or in neither.
- Such dictionaries by image: ``{image_id: {"boxes": ...}}``.
- A dictionary of columns with the names of the tables: ``image``, ``label``, ``box``, ``score`` ...
  (``x, y, width, height`` by default), one row per box.
- Decoded COCO: a list of results, or a document with ``images`` and ``annotations``.
- Objects of other packages (`openset.formats.objects`), wherever a dictionary may stand.

Tensors are taken by what they can do (``detach``, ``cpu``, ``numpy``): torch is never imported.
Not a file format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.formats import _coco
from openset.formats._arrays import WHERE, array, scalar
from openset.formats._unpacked import refuse_others, unpacked
from openset.formats.objects import near_miss
from openset.plugins import lookup
from openset.refusals import dangling, missing_key, repeated, wrong_kind, wrong_type
from openset.tables import Annotations, Detections, Images, LogitLayout
from openset.tables.columns import ids, positions
from openset.tables.picture_sizes import COLUMNS

BoxFormat = Literal["xyxy", "xywh", "cxcywh"]
Names = Sequence[str] | Mapping[int, str] | None
_LAYOUTS = {str(layout): layout for layout in LogitLayout}
_OBJECT_COLUMNS = ("area", "crowd", "difficult", "id")
_COLUMN_ALIASES = {
    "image_id": "image",
    "labels": "label",
    "category_id": "label",
    "boxes": "box",
    "bbox": "box",
    "scores": "score",
    "iscrowd": "crowd",
}
# What a dictionary of one image says of the image, and what no metric reads.
_OF_IMAGE = {"image_id", "file_name", "width", "height", "size", "orig_size", "path"}
_BULK = {"masks", "keypoints", "keypoints_scores", "segmentation"}


def to_annotations(
    source: Any,
    *,
    box_format: BoxFormat | None = None,
    names: Names = None,
    field: str | None = None,
) -> Annotations:
    """Ground truth from in-memory objects.

    Args:
        source: See the module.
        box_format: How boxes are written, if not as the kind of input says.
        names: Names of the integer labels, by index or by key.
        field: Which label field, of an object that has several (FiftyOne).

    >>> table = to_annotations([{"boxes": [[0, 0, 4, 2]], "labels": [1]}], names=["bird", "cat"])
    >>> table.labels, table.box.tolist()
    (('cat',), [[0.0, 0.0, 4.0, 2.0]])
    """
    source = unpacked(source, "annotations", field)
    if isinstance(source, Mapping) and "annotations" in source:
        return _coco.annotations_of(dict(source), WHERE)
    columns = _columns(source, box_format, "annotations")
    image, images = _indexed(columns, columns.pop("images", None))
    labels, label, category_id = _labelled(columns, names)
    core = {name: columns.pop(name) for name in _OBJECT_COLUMNS if name in columns}
    columns = {k: v for k, v in columns.items() if k not in ("image", "label")}
    return Annotations(
        images=images,
        labels=labels,
        image=image,
        label=label,
        box=columns.pop("box"),
        category_id=category_id,
        attributes=columns,
        **core,
    )


def to_detections(
    source: Any,
    *,
    box_format: BoxFormat | None = None,
    names: Names = None,
    layout: str | None = None,
    field: str | None = None,
) -> Detections:
    """Detections from in-memory objects.

    Args:
        source: See the module.
        box_format: How boxes are written, if not as the kind of input says.
        names: Names of the integer labels. Without them labels are category ids of the truth.
        layout: What the columns of logits are.
        field: Which label field, of an object that has several (FiftyOne).
    """
    source = unpacked(source, "detections", field)
    if isinstance(source, list) and source and isinstance(source[0], dict) and "bbox" in source[0]:
        return _coco.detections_of(source, WHERE, layout)
    if isinstance(source, Mapping) and "annotations" in source:
        return _coco.detections_of(dict(source), WHERE, layout)
    columns = _columns(source, box_format, "detections")
    columns |= _picture_sizes(columns["image"], columns.pop("images", None))
    stated = columns.pop("layout", None) if layout is None else layout
    core = {
        name: columns.pop(name)
        for name in ("image", "box", "score", "unknownness", "logits", "embedding")
        if name in columns
    }
    label = columns.pop("label")
    labels: tuple[str, ...] = ()
    if names is not None or label.dtype.kind in "UT":
        labels, label, _ = _labelled({"label": label}, names)
    return Detections(
        label=label,
        labels=labels,
        layout=None if stated is None else lookup(_LAYOUTS, str(stated), "layout"),
        attributes=columns,
        **core,
    )


def _columns(source: Any, box_format: BoxFormat | None, kind: str) -> dict[str, Any]:
    """Columns under the names of the tables, boxes as x, y, width, height."""
    if isinstance(source, Mapping):
        columns, default = _from_mapping(source), "xywh"
    elif isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        columns, default = _from_images(source, kind), "xyxy"
    else:
        raise refuse(
            "OS104",
            f"cannot make {kind} from {type(source).__name__}",
            cause=near_miss(source),
            fix="pass a path, a table, a list of dictionaries or a dictionary of columns",
        )
    needed = ("image", "label", "box") + (("score",) if kind == "detections" else ())
    for name in needed:
        if name not in columns:
            if name == "score":
                raise wrong_kind(WHERE, kind)
            raise missing_key(WHERE, name, [0], 1)
    if kind == "annotations" and "score" in columns:
        raise wrong_kind(WHERE, kind)
    columns["box"] = _boxes(columns["box"], box_format or default)
    return columns


def _from_mapping(source: Mapping[str, Any]) -> dict[str, Any]:
    columns = {_COLUMN_ALIASES.get(key, key): value for key, value in source.items()}
    kept = {"images": columns.pop("images", None), "layout": columns.pop("layout", None)}
    arrays: dict[str, Any] = {key: array(value) for key, value in columns.items()}
    return arrays | {key: value for key, value in kept.items() if value is not None}


def _from_images(source: Sequence[Any], kind: str) -> dict[str, Any]:
    needed = ("boxes", "labels", "scores") if kind == "detections" else ("boxes", "labels")
    refuse_others(source)
    for key in needed:
        rows = [row for row, item in enumerate(source) if key not in item]
        if rows:
            raise missing_key(WHERE, key, rows, len(source))
    counts = [len(array(item["labels"]).ravel()) for item in source]
    images = _images(source)
    columns: dict[str, Any] = {"images": images, "image": np.repeat(images.id, counts)}
    skipped = _OF_IMAGE | _BULK
    keys = dict.fromkeys((*needed, *(key for item in source for key in item if key not in skipped)))
    for key in keys:
        parts = [array(item[key]) for item in source if key in item]
        columns[_COLUMN_ALIASES.get(key, key)] = _joined(parts, counts, key)
    return columns


def _images(source: Sequence[Mapping[str, Any]]) -> Images:
    """The images that dictionaries are about; without an id they are called by their place."""
    called = [scalar(item.get("image_id", row)) for row, item in enumerate(source)]
    twice = [name for name, count in Counter(called).items() if count > 1]
    if twice:
        raise repeated(WHERE, "image ids", twice, len(twice))
    named = [item.get("file_name") for item in source]
    width, height = (_sides(source, side) for side in ("width", "height"))
    return Images(ids(called), None if None in named else np.array(named, np.str_), width, height)


def _sides(source: Sequence[Mapping[str, Any]], side: str) -> NDArray[np.float64]:
    return np.array([float(scalar(item.get(side, np.nan))) for item in source], np.float64)


def _picture_sizes(image: NDArray[Any], images: Any) -> dict[str, NDArray[np.float64]]:
    """How large the pictures were that a detector saw, by detection, where that is said."""
    if not isinstance(images, Images):
        return {}
    assert images.width is not None and images.height is not None
    if np.isnan(images.width).all():
        return {}
    row = positions(images.id, ids(image))
    return dict(zip(COLUMNS, (images.width[row], images.height[row]), strict=True))


def _joined(parts: list[NDArray[Any]], counts: list[int], key: str) -> NDArray[Any]:
    """The rows of all images; an image without boxes may have an array of any shape."""
    if len(parts) != len(counts):
        raise missing_key(WHERE, key, [len(parts)], len(counts))
    bad = [row for row, part in enumerate(parts) if part.shape[:1] != (counts[row],)]
    bad = [row for row in bad if parts[row].size or counts[row]]
    if bad:
        expected = f"{counts[bad[0]]} rows long"
        raise wrong_type(WHERE, key, expected, bad, parts[bad[0]].shape)
    full = [part for part, count in zip(parts, counts, strict=True) if count]
    if full:
        return np.concatenate(full)
    return np.empty((0, 4)) if key == "boxes" else np.empty(0, np.int64)


def _boxes(values: NDArray[Any], box_format: str) -> NDArray[np.float64]:
    if values.dtype.kind not in "biuf" or (values.size and values.shape[1:] != (4,)):
        raise wrong_type(WHERE, "box", "rows of 4 numbers", [0], values.tolist())
    box: NDArray[np.float64] = np.array(values, np.float64).reshape(-1, 4)
    if box_format == "xyxy":
        box[:, 2:] -= box[:, :2]
    elif box_format == "cxcywh":
        box[:, :2] -= box[:, 2:] / 2
    elif box_format != "xywh":
        raise UsageError(f"box_format must be xyxy, xywh or cxcywh, not {box_format!r}")
    return box


def _indexed(columns: dict[str, Any], listed: Any) -> tuple[NDArray[np.int32], Images]:
    """The index of every row's image, and the images."""
    image = ids(columns["image"])
    if isinstance(listed, Images):
        images = listed
    else:
        images = Images(np.unique(image) if listed is None else ids(listed))
    index = positions(images.id, image)
    rows = np.flatnonzero(index < 0)
    if len(rows):
        raise dangling(WHERE, "image", image[rows[0]].item(), int(rows[0]), len(rows))
    return index, images


def _labelled(
    columns: Mapping[str, Any], names: Names
) -> tuple[tuple[str, ...], NDArray[Any], NDArray[np.int64] | None]:
    """Names of labels, the label of every row, and the category ids."""
    values = columns["label"]
    distinct, label = np.unique(values, return_inverse=True)
    if values.dtype.kind in "UT":
        return tuple(map(str, distinct.tolist())), label, None
    if values.dtype.kind not in "iu" and len(values):
        raise wrong_type(WHERE, "label", "integers or text", [0], values[0])
    keys = distinct.astype(np.int64)
    if names is None:
        return tuple(map(str, keys.tolist())), label, keys
    table = dict(names) if isinstance(names, Mapping) else dict(enumerate(names))
    absent = [key for key in keys.tolist() if key not in table]
    if absent:
        raise dangling(WHERE, "label", absent[0], 0, len(absent))
    return tuple(table[key] for key in keys.tolist()), label, keys
