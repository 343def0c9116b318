"""COCO documents as Python objects, to tables: what `coco` reads from files.

Every key survives. Keys that the tables know become their columns, other keys of annotations,
images and results become attributes, and other top-level keys and keys of categories travel in
``info["coco"]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.formats._columns import (
    attribute,
    flags,
    identifiers,
    integers,
    matrix,
    numbers,
    required,
    texts,
)
from openset.kernels.read import BULK_KEYS
from openset.refusals import dangling, missing_key, repeated, wrong_kind, wrong_type
from openset.tables import Annotations, Detections, Images, LogitLayout
from openset.tables.columns import positions

RESULT_KEYS = ("image_id", "category_id", "bbox", "score")
IMAGE_KEYS = ("id", "file_name", "width", "height")
OBJECT_KEYS = ("id", "image_id", "category_id", "bbox", "area", "iscrowd")
_CATEGORY_KEYS = {"id", "name", "supercategory", "role"}
Extras = Mapping[str, Sequence[Any]]


@dataclass(slots=True)
class Columns:
    """What every COCO ground truth has, as columns; the rest is `extras`, None where absent."""

    image_ids: NDArray[Any]
    file_names: list[str] | None
    width: NDArray[np.float64]
    height: NDArray[np.float64]
    id: NDArray[np.int64] | None
    image_id: NDArray[Any]
    category_id: NDArray[np.int64]
    box: NDArray[np.float64]
    area: NDArray[np.float64]
    crowd: NDArray[np.bool_]
    head: Mapping[str, Any]
    image_extras: Extras = field(default_factory=dict)
    extras: Extras = field(default_factory=dict)


def detections_of(records: Any, where: str, layout: str | None = None) -> Detections:
    """Detections from a decoded list of results, or a data set whose annotations have scores."""
    if _scored(records):
        return _of_data_set(records, where, layout)
    if not isinstance(records, list):
        held = isinstance(records, dict) and {"images", "annotations"} & records.keys()
        raise wrong_kind(where, "detections") if held else _not_coco(where, records)
    image_id, category_id, bbox, score = (required(records, key, where) for key in RESULT_KEYS)
    return build_detections(
        identifiers(image_id, "image_id", where),
        integers(category_id, "category_id", where),
        matrix(bbox, "bbox", where, 4),
        numbers(score, "score", where),
        extra_values(records, {*RESULT_KEYS, *BULK_KEYS}),
        where=where,
        layout=layout,
    )


def _scored(document: Any) -> bool:
    """Whether this is a data set that was made of detections: any annotation has a score."""
    held = document.get("annotations") if isinstance(document, dict) else None
    return isinstance(held, list) and any(isinstance(one, dict) and "score" in one for one in held)


def _of_data_set(document: Mapping[str, Any], where: str, layout: str | None) -> Detections:
    """Detections under the names of their images and classes: the ids are of this file alone."""
    found = detections_of(document["annotations"], where, layout)
    images, classes = (
        dict(zip(ids, names, strict=True))
        for ids, names in (
            _listed(document, "images", "file_name", where),
            _listed(document, "categories", "name", where),
        )
    )
    if all(images.values()) and images:
        absent = [row for row, id_ in enumerate(found.image.tolist()) if id_ not in images]
        if absent:
            raise dangling(where, "image", found.image[absent[0]], absent[0], len(absent))
        found = replace(found, image=np.array([images[i] for i in found.image.tolist()], np.str_))
    if not classes:
        return found
    lost = [row for row, id_ in enumerate(found.label.tolist()) if id_ not in classes]
    if lost:
        raise dangling(where, "category", int(found.label[lost[0]]), lost[0], len(lost))
    labels = tuple(dict.fromkeys(classes.values()))
    place = {id_: labels.index(name) for id_, name in classes.items()}
    return replace(found, labels=labels, label=np.array([place[i] for i in found.label.tolist()]))


def _listed(document: Mapping[str, Any], key: str, name: str, where: str) -> Any:
    """Ids and names of images or categories; a name is empty where there is none."""
    records = document.get(key) or []
    ids = required(records, "id", where) if isinstance(records, list) else []
    return ids, [str(one.get(name) or "") for one in records[: len(ids)]]


def extra_values(records: Sequence[Mapping[str, Any]], known: Set[str]) -> Extras:
    """Values of all other keys, None where absent."""
    keys = dict.fromkeys(chain.from_iterable(records))
    return {key: [record.get(key) for record in records] for key in keys if key not in known}


def build_detections(
    image: NDArray[Any],
    label: NDArray[np.int64],
    box: NDArray[np.float64],
    score: NDArray[np.float64],
    extras: Extras,
    *,
    where: str,
    layout: str | None,
) -> Detections:
    """Detections from columns and the values of further keys."""
    rest = dict(extras)
    unknownness = _all_or_none(rest, "unknownness", where)
    vectors = {key: _vectors(rest, key, where) for key in ("logits", "embedding")}
    stated = _layout(rest.pop("layout", ()), layout, where)
    if vectors["logits"] is not None and stated is None:
        raise missing_key(where, "layout", range(len(image)), len(image), "pass layout='softmax'")
    return Detections(
        image=image,
        label=label,
        box=box,
        score=score,
        unknownness=None if unknownness is None else numbers(unknownness, "unknownness", where),
        layout=stated,
        attributes={key: attribute(values) for key, values in rest.items()},
        logits=vectors["logits"],
        embedding=vectors["embedding"],
    )


def _all_or_none(rest: dict[str, Sequence[Any]], key: str, where: str) -> Sequence[Any] | None:
    values = rest.pop(key, None)
    if values is None or all(value is None for value in values):
        return None
    rows = [row for row, value in enumerate(values) if value is None]
    if rows:
        raise missing_key(where, key, rows, len(values))
    return values


def _vectors(rest: dict[str, Sequence[Any]], key: str, where: str) -> NDArray[Any] | None:
    values = _all_or_none(rest, key, where)
    return None if values is None else matrix(values, key, where)


def _layout(values: Sequence[Any], given: str | None, where: str) -> LogitLayout | None:
    stated = {str(value) for value in (*values, given) if value is not None}
    if not stated:
        return None
    if len(stated) == 1 and stated <= set(LogitLayout):
        return LogitLayout(stated.pop())
    expected = "one of " + ", ".join(LogitLayout)
    raise wrong_type(where, "layout", expected, [], sorted(map(str, stated)), len(values))


def annotations_of(document: Any, where: str, *, everything: bool = True) -> Annotations:
    """Annotations from a decoded document."""
    skipped = frozenset() if everything else BULK_KEYS
    if isinstance(document, list):
        results = document and isinstance(document[0], dict) and "score" in document[0]
        raise wrong_kind(where, "annotations") if results else _not_coco(where, document)
    if not isinstance(document, dict):
        raise _not_coco(where, document)
    images = _list(document, "images", where)
    objects = _list(document, "annotations", where)
    there, here = f"{where} (images)", f"{where} (annotations)"
    image_id, category_id, bbox = (
        required(objects, key, here) for key in ("image_id", "category_id", "bbox")
    )
    identity, extra_id = _object_ids([record.get("id") for record in objects])
    box = matrix(bbox, "bbox", here, 4)
    areas = [record.get("area") for record in objects]
    columns = Columns(
        image_ids=identifiers(required(images, "id", there), "id", there),
        file_names=_file_names(images, there),
        width=_or_nan([record.get("width") for record in images], "width", there),
        height=_or_nan([record.get("height") for record in images], "height", there),
        id=identity,
        image_id=identifiers(image_id, "image_id", here),
        category_id=integers(category_id, "category_id", here),
        box=box,
        area=filled(_or_nan(areas, "area", here), box, [area is None for area in areas]),
        crowd=flags([record.get("iscrowd") for record in objects], "iscrowd", here),
        head={k: v for k, v in document.items() if k not in ("images", "annotations")},
        image_extras=extra_values(images, {*IMAGE_KEYS, *skipped}),
        extras={**extra_values(objects, {*OBJECT_KEYS, *skipped}), **extra_id},
    )
    return build_annotations(columns, where)


def _not_coco(where: str, value: Any) -> Exception:
    kind = "a list" if isinstance(value, list) else "a value"
    return refuse(
        "OS104",
        f"{where} is JSON, but {kind} that is neither COCO ground truth nor COCO results",
        fix="ground truth is {images, annotations, categories}, results are [{image_id, ...}]",
    )


def _list(document: Mapping[str, Any], key: str, where: str) -> list[Any]:
    if key not in document:
        raise missing_key(where, key, range(1), 1)
    if not isinstance(document[key], list):
        raise wrong_type(where, key, "a list", [], document[key], 1)
    return list(document[key])


def _object_ids(values: list[Any]) -> tuple[NDArray[np.int64] | None, Extras]:
    """Integer ids, or none and the ids as an attribute if they are of another type."""
    if set(map(type, values)) <= {int}:
        try:
            return np.array(values, np.int64), {}
        except OverflowError:
            pass
    return None, {} if all(value is None for value in values) else {"id": values}


def _file_names(images: list[Any], where: str) -> list[str] | None:
    names = [record.get("file_name") for record in images]
    if all(name is None for name in names):
        return None
    return texts(["" if name is None else name for name in names], "file_name", where)


def _or_nan(values: list[Any], key: str, where: str) -> NDArray[np.float64]:
    return numbers([np.nan if value is None else value for value in values], key, where)


def filled(area: NDArray[np.float64], box: NDArray[np.float64], absent: Any) -> NDArray[np.float64]:
    """Areas, width x height where absent; an area that is there is kept, even NaN."""
    return np.where(absent, box[:, 2] * box[:, 3], area)


def build_annotations(columns: Columns, where: str) -> Annotations:
    """Annotations from columns: resolves ids, reads the categories."""
    here = f"{where} (annotations)"
    extras = dict(columns.extras)
    categories = _Categories.of(columns.head, where)
    _refuse_repeated(columns.image_ids, f"{where} (images)", "image ids")
    names = columns.file_names
    return Annotations(
        images=Images(
            id=columns.image_ids,
            file_name=None if names is None else np.array(names, np.str_),
            width=columns.width,
            height=columns.height,
            attributes={key: attribute(v) for key, v in columns.image_extras.items()},
        ),
        labels=tuple(categories.name),
        image=_resolved(columns.image_ids, columns.image_id, here, "image"),
        label=_resolved(categories.id, columns.category_id, here, "category"),
        box=columns.box,
        area=columns.area,
        crowd=columns.crowd,
        difficult=_difficult(extras, here),
        id=columns.id,
        category_id=categories.id,
        supercategory=tuple(categories.supercategory),
        role=tuple(categories.role),
        attributes={key: attribute(values) for key, values in extras.items()},
        info=_info(columns.head, categories),
    )


def _resolved(
    table: NDArray[Any], values: NDArray[Any], where: str, what: str
) -> NDArray[np.int32]:
    index = positions(table, values)
    rows = np.flatnonzero(index < 0)
    if len(rows):
        said = _counted(table, values) if what == "category" else ("", "")
        raise dangling(where, what, values[rows[0]].item(), int(rows[0]), len(rows), *said)
    return index


def _counted(table: NDArray[Any], values: NDArray[Any]) -> tuple[str, str]:
    """Cause and fix where records count the categories of a list that numbers them otherwise.

    Those that happen to be listed would be objects of other classes, so removing the rest is wrong.
    """
    first = next((n for n in (1, 0) if n <= values.min() and values.max() < len(table) + n), None)
    if first is None:
        return "", ""
    return (
        f"the records count the {len(table)} categories from {first}, and the list has other ids",
        f"write the id of the category at that place in the list, so {table[-1]} in place of "
        f"{len(table) - 1 + first}; do not remove the records: the others would be other classes",
    )


def _refuse_repeated(values: NDArray[Any], where: str, what: str) -> None:
    distinct, counts = np.unique(values, return_counts=True)
    again = distinct[counts > 1]
    if len(again):
        raise repeated(where, what, again.tolist(), len(again))


def _difficult(extras: dict[str, Sequence[Any]], where: str) -> NDArray[np.bool_] | None:
    stated = [
        flags(extras.pop(key), key, where) for key in ("difficult", "ignore") if key in extras
    ]
    return np.logical_or.reduce(stated) if stated else None


@dataclass(slots=True)
class _Categories:
    id: NDArray[np.int64]
    name: list[str]
    supercategory: list[str]
    role: list[str]
    extras: list[dict[str, Any]]

    @classmethod
    def of(cls, head: Mapping[str, Any], where: str) -> _Categories:
        records = _list(head, "categories", where)
        here = f"{where} (categories)"
        id_ = integers(required(records, "id", here), "id", here)
        _refuse_repeated(id_, here, "category ids")
        return cls(
            id=id_,
            name=texts(required(records, "name", here), "name", here),
            supercategory=_optional_texts(records, "supercategory", here),
            role=_optional_texts(records, "role", here),
            extras=[
                {key: value for key, value in record.items() if key not in _CATEGORY_KEYS}
                for record in records
            ],
        )


def _optional_texts(records: list[Any], key: str, where: str) -> list[str]:
    return texts([record.get(key) or "" for record in records], key, where)


def _info(head: Mapping[str, Any], categories: _Categories) -> dict[str, Any]:
    info = head.get("info") or {}
    info = dict(info) if isinstance(info, dict) else {"description": info}
    rest = {key: value for key, value in head.items() if key not in ("info", "categories")}
    if any(categories.extras):
        rest["categories"] = categories.extras
    return {**info, "coco": rest} if rest else info
