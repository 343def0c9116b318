"""Tables: any CSV or JSON-lines file with one row per box and a header that says what is what.

Columns are found by name, whatever their case:

- image: ``image_id``, ``image``, ``file_name``, ``filename``
- label: ``label``, ``class``, ``class_name``, ``category``, ``category_name``, ``name``, or
  ``category_id``, ``class_id``
- box: ``x,y,w,h``, or corners ``xmin,ymin,xmax,ymax`` or ``x1,y1,x2,y2``, or ``bbox`` as JSON
  ``[x, y, width, height]``, or as NumPy prints it; always 0-based pixels
- score: ``score``, ``confidence``, ``conf``; with a score the file is detections
- ``unknownness``, ``crowd``, ``iscrowd``, ``difficult``, ``ignore``, ``area``, ``id``,
  ``supercategory``, ``image_width``, ``image_height``

Other columns are kept. A row without label and box is an image without objects, or detections.
Separators are comma, semicolon or tab.

Not a spreadsheet importer: there is one header line, and numbers have a decimal point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.files import BOM, HEAD, load, save
from openset.findings import InputError, UsageError, refuse
from openset.formats import _frames
from openset.formats._columns import matrix
from openset.formats._spec import FileFormat, Format, Kind, file_format
from openset.refusals import shown, undecodable
from openset.tables import Annotations, Detections, Images
from openset.tables.names import file_names

if TYPE_CHECKING:
    import polars as pl

_NAMES: Mapping[str, tuple[str, ...]] = {
    "image": ("image_id", "image", "imageid", "file_name", "filename"),
    "label": ("label", "class", "class_name", "category", "category_name", "name"),
    "category_id": ("category_id", "class_id"),
    "score": ("score", "confidence", "conf"),
    "crowd": ("crowd", "iscrowd"),
    "difficult": ("difficult", "ignore"),
}
_SAME = ("unknownness", "area", "id", "supercategory", "file_name", "image_width", "image_height")
_BOXES = (
    ("x", "y", "w", "h"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("x", "y", "width", "height"),
    ("bbox",),
)
_PRINTED, _APART = re.compile(r"\s*[\[(]\s*(.*?),?\s*[\])]\s*", re.DOTALL), re.compile(r"[,\s]+")
_LINES = (".jsonl", ".ndjson")
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})


@file_format(
    FileFormat(
        name="csv",
        holds=_BOTH,
        suffixes=(".csv", ".csv.gz", *_LINES),
        summary="Any CSV or JSON-lines file with one row per box and a header",
        loses=frozenset(
            {
                "order",
                "image attributes",
                "labels",
                "role",
                "info",
                "logits",
                "embedding",
                "head",
                "provenance",
            }
        ),
    )
)
class TableFile(Format):
    """CSV and JSON lines."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """A first line that names an image and a box."""
        line = _frames.first_line(head)
        names = _keys_of_line(line) if line[:1] == b"{" else _header(line)[0]
        found = _Header(names)
        if "image" not in found.role or not found.box:
            return None
        return "detections" if "score" in found.role else "annotations"

    def read_annotations(self, path: Path, **options: Any) -> Annotations:
        """Read ground truth; there are no options."""
        frame = _frame(path)
        return _annotations(frame, _Header(frame.columns), str(path))

    def read_detections(self, path: Path, **options: Any) -> Detections:
        """Read detections; there are no options. A row may say that its image has none."""
        frame = _frame(path)
        header = _Header(frame.columns)
        return _detections(_with_boxes(frame, header), header, str(path))

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write one row per object, and one per image without objects."""
        _save(_object_columns(table), path)

    def write_detections(
        self, table: Detections, path: Path, truth: Annotations | None = None
    ) -> None:
        """Write one row per detection, with names or category ids as the table has them."""
        columns: dict[str, Any] = {"image_id": table.image}
        if table.labels:
            columns["label"] = np.array(table.labels, np.str_)[table.label]
        else:
            columns["category_id"] = table.label
        columns |= dict(zip("xywh", table.box.T, strict=True))
        columns["score"] = table.score
        if table.unknownness is not None:
            columns["unknownness"] = table.unknownness
        _save(columns | dict(table.attributes), path)


class _Header:
    """Which column plays which role."""

    def __init__(self, columns: Sequence[str]) -> None:
        lower = {name.strip().lower(): name for name in reversed(columns)}
        self.box = next(
            (tuple(lower[n] for n in names) for names in _BOXES if all(n in lower for n in names)),
            (),
        )
        self.corners = "max" in "".join(self.box).lower() or "x2" in map(str.lower, self.box)
        found = {
            role: next((lower[name] for name in names if name in lower), None)
            for role, names in _NAMES.items()
        }
        found |= {name: lower.get(name) for name in _SAME}
        if found["file_name"] == found["image"]:
            found["file_name"] = None
        self.role = {role: name for role, name in found.items() if name is not None}
        used = {*self.role.values(), *self.box}
        self.rest = [name for name in columns if name not in used]

    def column(self, frame: pl.DataFrame, role: str, where: str) -> pl.Series:
        """The column of a role that must be there."""
        if role not in self.role:
            raise _no_column(role, _NAMES.get(role, (role,)), frame.columns, where)
        return frame[self.role[role]]

    def boxes(self, frame: pl.DataFrame, where: str) -> NDArray[np.float64]:
        """Boxes as x, y, width, height."""
        if not self.box:
            raise _no_column("box", [",".join(names) for names in _BOXES], frame.columns, where)
        if len(self.box) == 1:
            return matrix(_json_cells(frame[self.box[0]], where), self.box[0], where, 4)
        box = np.stack([_frames.numbers(frame[name], where) for name in self.box], axis=1)
        if self.corners:
            box[:, 2:] -= box[:, :2]
        return box


def refuse_nearly(path: Path, head: bytes) -> None:
    """Refuse a table that says too little to be one of boxes, by the column that it lacks."""
    names, _ = _header(_frames.first_line(head))
    found = _Header(names)
    parts = {part for box in _BOXES for part in box}
    partly = sum(name.strip().lower() in parts for name in names) > 1
    if partly + sum(role in found.role for role in _NAMES) < 2:
        return
    if "image" not in found.role:
        raise _no_column("image", _NAMES["image"], names, str(path))
    if not found.box:
        raise _no_column("box", [",".join(names) for names in _BOXES], names, str(path))


def _no_column(what: str, names: Sequence[str], columns: Sequence[str], where: str) -> Exception:
    return refuse(
        "OS107",
        f"{where} has no column for the {what}: none of {' or '.join(names)}",
        example=f"columns: {', '.join(columns[:12])}",
        cause="another tool's names of columns, or a merge that renamed them",
        fix="rename a column",
    )


def _json_cells(series: pl.Series, where: str) -> list[Any]:
    from openset.json_text import decode

    values = series.to_list()
    try:
        return [decode(v.encode(), where) if isinstance(v, str) else v for v in values]
    except InputError:  # as Python and NumPy print a tuple or an array
        return [_printed(v, at, where) if isinstance(v, str) else v for at, v in enumerate(values)]


def _printed(text: str, record: int, where: str) -> list[float]:
    """Numbers between brackets, apart by commas or blanks."""
    inner = _PRINTED.fullmatch(text)
    try:
        return [float(one) for one in _APART.split(inner[1])] if inner else [float(text)]
    except ValueError as error:
        message = f"a box of {where} is no list of four numbers"
        example = f"record {record}: {shown(text)}"
        raise refuse(
            "OS108",
            message,
            example=example,
            cause="an array that was printed in part, or another object as text",
            fix="write x, y, width and height in columns of their own",
        ) from error


def _header(line: bytes) -> tuple[list[str], str]:
    import csv

    text = line.decode("utf-8", "replace").strip()
    separator = max(",;\t", key=text.count)
    try:
        return next(csv.reader([text], delimiter=separator), []), separator
    except csv.Error:  # not a line of text
        return [], separator


def _keys_of_line(line: bytes) -> list[str]:
    import msgspec

    try:
        return list(msgspec.json.decode(line, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return []


def _frame(path: Path) -> pl.DataFrame:
    import polars as pl

    data = load(path).removeprefix(BOM)
    start = data[:HEAD].lstrip()
    if start[:1] != b"{":
        return _frames.read_csv(path, _header(_frames.first_line(start))[1])
    try:
        return pl.read_ndjson(data, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise undecodable(*_broken_line(path, data, error)) from error


def _broken_line(path: Path, data: bytes, error: Exception) -> tuple[str, str]:
    """Where lines of JSON are broken, and what stands there."""
    import msgspec

    for number, line in enumerate(data.splitlines(), 1):
        try:
            msgspec.json.decode(line or b"{}", type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, ValueError, RecursionError):
            return f"line {number} of {path}", f"it is no JSON object: {shown(line)}"
    return str(path), str(error).strip().partition("\n")[0]


def _with_boxes(frame: pl.DataFrame, header: _Header) -> pl.DataFrame:
    """The rows that say more than an image: what a join writes for images without detections."""
    import polars as pl

    said = [header.role.get(role) for role in ("label", "category_id", "score")]
    columns = [name for name in (*said, *header.box) if name is not None]
    silent = pl.all_horizontal(pl.col(name).is_null() for name in columns)
    return frame.filter(~silent) if columns else frame


def _detections(frame: pl.DataFrame, header: _Header, where: str) -> Detections:
    labels: tuple[str, ...] = ()
    if "label" in header.role:
        names = _frames.text(header.column(frame, "label", where), where)
        distinct, label = np.unique(names, return_inverse=True)
        labels = tuple(distinct.tolist())
    else:
        label = _frames.integers(header.column(frame, "category_id", where), where)
    unknownness = header.role.get("unknownness")
    kept = [*header.rest, *_unused(header, ("unknownness",), labels != ())]
    return Detections(
        image=_frames.identifiers(header.column(frame, "image", where), where),
        label=label,
        box=header.boxes(frame, where),
        score=_frames.numbers(header.column(frame, "score", where), where),
        labels=labels,
        unknownness=None if unknownness is None else _frames.numbers(frame[unknownness], where),
        attributes={name: _frames.attribute(frame[name]) for name in kept},
    )


def _unused(header: _Header, used: Sequence[str], named: bool) -> list[str]:
    """Columns that have a role in ground truth but none in detections."""
    core = {"image", "label", "score", *used} | (set() if named else {"category_id"})
    return [name for role, name in header.role.items() if role not in core]


def _annotations(frame: pl.DataFrame, header: _Header, where: str) -> Annotations:
    image_ids = header.column(frame, "image", where)
    key = header.role.get("label") or header.role.get("category_id")
    if key is None:
        header.column(frame, "label", where)
    held = frame[str(key)].is_not_null() if len(frame) else frame[str(key)].is_null()
    images, index = _images(frame, header, _frames.identifiers(image_ids, where), where)
    objects = frame.filter(held)
    labels, label, category_id, above = _labels(objects, header, where)
    optional: dict[str, Any] = {
        role: convert(objects[header.role[role]], where)
        for role, convert in (
            ("crowd", _frames.flags),
            ("difficult", _frames.flags),
            ("area", _frames.numbers),
            ("id", _frames.integers),
        )
        if role in header.role
    }
    return Annotations(
        images=images,
        labels=labels,
        image=index[held.to_numpy()],
        label=label,
        box=header.boxes(objects, where),
        category_id=category_id,
        supercategory=above,
        attributes={name: _frames.attribute(objects[name]) for name in header.rest},
        **optional,
    )


def _images(
    frame: pl.DataFrame, header: _Header, ids: NDArray[Any], where: str
) -> tuple[Images, NDArray[np.int32]]:
    """Images in order of appearance, and the index of every row's image."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    rows = first[order]
    sizes: dict[str, Any] = {
        role.removeprefix("image_"): _frames.numbers(frame[header.role[role]], where, gaps=True)[
            rows
        ]
        for role in ("image_width", "image_height")
        if role in header.role
    }
    name = header.role.get("file_name")
    names = None if name is None else _frames.text(frame[name].fill_null(""), where)[rows]
    return Images(distinct[order], names, **sizes), rank[inverse]


def _labels(
    objects: pl.DataFrame, header: _Header, where: str
) -> tuple[tuple[str, ...], NDArray[Any], NDArray[np.int64] | None, tuple[str, ...]]:
    """Names of labels, the label of every row, category ids, super-classes."""
    ids = None
    if "category_id" in header.role:
        ids = _frames.integers(objects[header.role["category_id"]], where)
    if "label" in header.role:
        names = _frames.text(objects[header.role["label"]], where)
    else:
        names = np.asarray(ids).astype(np.str_)
    # Two categories may share a name, so ids tell labels apart where the file has them.
    _, first, label = np.unique(
        names if ids is None else ids, return_index=True, return_inverse=True
    )
    above: tuple[str, ...] = ()
    if "supercategory" in header.role:
        column = objects[header.role["supercategory"]].fill_null("")
        above = tuple(_frames.text(column, where)[first].tolist())
    return tuple(names[first].tolist()), label, None if ids is None else ids[first], above


def _object_columns(table: Annotations) -> dict[str, Any]:
    images = table.images
    empty = np.setdiff1d(np.arange(len(images)), table.image)
    image = np.concatenate([table.image, empty])
    blank = [None] * len(empty)
    assert images.width is not None
    assert images.height is not None
    assert table.category_id is not None
    label = table.label
    columns: dict[str, Any] = {"image_id": images.id[image]}
    if images.file_name is not None:
        columns["file_name"] = np.array(file_names(images), np.str_)[image]
    columns |= {"image_width": images.width[image], "image_height": images.height[image]}
    objects: dict[str, Any] = {
        "label": np.array(table.labels, np.str_)[label],
        "category_id": table.category_id[label],
        "supercategory": np.array(table.supercategory, np.str_)[label],
        **dict(zip("xywh", table.box.T, strict=True)),
        "area": table.area,
        "crowd": table.crowd,
        "difficult": table.difficult,
        "id": table.id,
        **table.attributes,
    }
    if not any(table.supercategory):
        del objects["supercategory"]
    return columns | {name: values.tolist() + blank for name, values in objects.items()}


def _save(columns: dict[str, Any], path: Path) -> None:
    if path.suffix in _LINES:
        from openset.json_text import encode

        lists = {k: v if isinstance(v, list) else v.tolist() for k, v in columns.items()}
        if not lists["image_id"]:
            raise UsageError("JSON lines cannot hold an empty table: write .csv instead")
        rows = (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))
        save(path, b"".join(encode(row) + b"\n" for row in rows))
    else:
        _frames.write_csv(columns, path)
