"""Tables to COCO documents as Python objects: what `coco` writes to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.formats._columns import cells
from openset.tables import Annotations, Detections
from openset.tables.names import category_ids


def results_document(
    table: Detections, truth: Annotations | None
) -> tuple[list[dict[str, Any]], bool]:
    """The list of results, and whether all its numbers are finite."""
    columns: dict[str, list[Any]] = {
        "image_id": table.image.tolist(),
        "category_id": category_ids(table, truth).tolist(),
        "bbox": table.box.tolist(),
        "score": table.score.tolist(),
    }
    floats = [table.box, table.score]
    for key in ("unknownness", "logits", "embedding"):
        values = getattr(table, key)
        if values is not None:
            columns[key] = values.tolist()
            floats.append(values)
    if table.layout is not None:
        columns["layout"] = [str(table.layout)] * len(table)
    return _records(columns, table.attributes), _finite([*floats, *table.attributes.values()])


def truth_document(table: Annotations) -> tuple[dict[str, Any], bool]:
    """The document, and whether all its numbers are finite."""
    images = table.images
    assert images.width is not None
    assert images.height is not None
    assert table.id is not None
    assert table.area is not None
    assert table.crowd is not None
    assert table.difficult is not None
    info = {key: value for key, value in table.info.items() if key != "coco"}
    rest = dict(table.info.get("coco", {}))
    head: dict[str, list[Any]] = {"id": images.id.tolist()}
    if images.file_name is not None:
        head["file_name"] = [str(name) for name in images.file_name]
    objects: dict[str, list[Any]] = {
        "id": table.id.tolist(),
        "image_id": images.id[table.image].tolist(),
        "category_id": _ids_of_labels(table),
        "bbox": table.box.tolist(),
        "area": table.area.tolist(),
        "iscrowd": table.crowd.astype(int).tolist(),
    }
    if table.difficult.any():
        objects["difficult"] = table.difficult.astype(int).tolist()
    sizes = {"width": images.width, "height": images.height}
    document = {
        "info": info,
        "images": _records(head, {**sizes, **images.attributes}, skip_blank=set(sizes)),
        "annotations": _records(objects, table.attributes),
        "categories": _category_records(table, rest.pop("categories", None)),
        **rest,
    }
    floats = [table.box, table.area, *table.attributes.values(), *images.attributes.values()]
    return document, _finite(floats)


def _ids_of_labels(table: Annotations) -> list[int]:
    assert table.category_id is not None
    return list(table.category_id[table.label].tolist())


def _category_records(table: Annotations, extras: Sequence[Any] | None) -> list[dict[str, Any]]:
    assert table.category_id is not None
    records = []
    for index, (id_, name) in enumerate(zip(table.category_id.tolist(), table.labels, strict=True)):
        record: dict[str, Any] = {"id": id_, "name": name}
        for key, values in (("supercategory", table.supercategory), ("role", table.role)):
            if values[index]:
                record[key] = values[index]
        records.append(record | (extras[index] if extras else {}))
    return records


def _records(
    columns: dict[str, list[Any]],
    attributes: Mapping[str, NDArray[Any]],
    skip_blank: set[str] | frozenset[str] = frozenset(),
) -> list[dict[str, Any]]:
    """One dict per row, without the cells that are None (unless a whole column is)."""
    whole: set[str] = set()
    for key, values in attributes.items():
        columns[key] = _integral(cells(values)) if key in skip_blank else cells(values)
        if key not in skip_blank and all(value is None for value in columns[key]):
            whole.add(key)
    return [
        {
            key: value
            for key, value in zip(columns, row, strict=True)
            if value is not None or key in whole
        }
        for row in zip(*columns.values(), strict=True)
    ]


def _integral(values: list[Any]) -> list[Any]:
    """Image sizes are floats in the tables and integers in files."""
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]


def _finite(columns: Sequence[NDArray[Any]]) -> bool:
    """Whether plain JSON can hold all numbers."""
    return all(np.isfinite(column).all() for column in columns if column.dtype.kind == "f")
