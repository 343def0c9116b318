"""Open Images: a CSV of normalised boxes, with class descriptions and a hierarchy beside it.

The header has ``ImageID``, ``LabelName``, ``XMin``, ``XMax``, ``YMin``, ``YMax`` (fractions of the
image); a file with ``Score`` or ``Conf`` is detections. ``IsGroupOf`` marks a crowd; the other
columns are kept as attributes. Options:

- ``sizes``: a CSV of ``ImageID,width,height``, or a dict. It also lists the images, those without
  boxes too. Without it every image is 1 x 1: IoU does not depend on the scale, but size
  ranges do not apply.
- ``descriptions``: ``class-descriptions-boxable.csv``; without it a label is its ``/m/...`` code.
- ``groups``: ``crowds`` (by default) or ``objects``, for what ``IsGroupOf`` marks.
- ``hierarchy``: ``bbox_labels_600_hierarchy.json``; a label's parent becomes its super-class.

Not image-level labels, and the expansion of boxes along the hierarchy is left to benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.files import load, load_text
from openset.findings import refuse
from openset.formats import _frames
from openset.formats._spec import EVIDENCE, FileFormat, Format, Kind, file_format
from openset.json_text import decode
from openset.refusals import needs_sizes, undecodable, wrong_type
from openset.tables import Annotations, Detections, Images
from openset.tables.columns import text_column
from openset.tables.names import detection_images, named, sizes_for, sizes_of, stems

if TYPE_CHECKING:
    import polars as pl

_CORNERS = ("XMin", "XMax", "YMin", "YMax")
_SCORES = ("Score", "Conf")
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})
Parents = Mapping[str, tuple[str, ...]]
Sizes = Mapping[str, tuple[float, float]]
Groups = Literal["crowds", "objects"]


@file_format(
    FileFormat(
        name="openimages",
        holds=_BOTH,
        suffixes=(),
        summary="Open Images boxes (CSV, normalised), with descriptions and hierarchy",
        loses=frozenset(
            {
                "order",
                "image ids",
                "file names",
                "sizes",
                "empty images",
                "image attributes",
                "labels",
                "category ids",
                "supercategory",
                "role",
                "ids",
                "area",
                "difficult",
                "info",
            }
        )
        | EVIDENCE,
        precision=1e-9,
    )
)
class OpenImages(Format):
    """Open Images bounding boxes."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """A header with ``ImageID``, ``LabelName`` and the four corners."""
        header = _frames.first_line(head).decode("utf-8", "replace").split(",")
        if not {"ImageID", "LabelName", *_CORNERS} <= set(header):
            return None
        return "detections" if set(_SCORES) & set(header) else "annotations"

    def read_annotations(
        self,
        path: Path,
        *,
        sizes: str | Path | Sizes | None = None,
        descriptions: str | Path | None = None,
        hierarchy: str | Path | None = None,
        groups: Groups = "crowds",
        **_: Any,
    ) -> Annotations:
        """Read boxes; see the module for the options."""
        frame, where = _frames.read_csv(path), str(path)
        listed = _read_sizes(sizes)
        ids = _frames.text(_column(frame, "ImageID", where), where)
        images, size = _images(ids, listed, where)
        codes, label = np.unique(_labels(frame, where), return_inverse=True)
        index = _index(images, ids)
        extra = [name for name in frame.columns if name not in ("ImageID", "LabelName", *_CORNERS)]
        group = frame["IsGroupOf"] if "IsGroupOf" in extra and groups == "crowds" else None
        names = _descriptions(descriptions)
        parents = {} if hierarchy is None else read_hierarchy(hierarchy)
        return Annotations(
            images=Images(text_column(images), None, size[:, 0], size[:, 1]),
            labels=tuple(names.get(code, code) for code in codes.tolist()),
            image=index,
            label=label.astype(np.int32),
            box=_boxes(frame, size[index], where),
            crowd=None if group is None else _frames.numbers(group, where, gaps=True) == 1,
            supercategory=tuple(parent_of(code, parents, names) for code in codes.tolist()),
            attributes={n: _frames.attribute(frame[n]) for n in extra if n != "IsGroupOf"},
        )

    def read_detections(
        self,
        path: Path,
        *,
        sizes: str | Path | Sizes | None = None,
        descriptions: str | Path | None = None,
        **_: Any,
    ) -> Detections:
        """Read detections; see the module for the options."""
        frame, where = _frames.read_csv(path), str(path)
        ids = _frames.text(_column(frame, "ImageID", where), where)
        images, size = _images(ids, _read_sizes(sizes), where)
        codes, label = np.unique(_labels(frame, where), return_inverse=True)
        score = next((name for name in _SCORES if name in frame.columns), _SCORES[0])
        core = ("ImageID", "LabelName", score, *_CORNERS)
        names = _descriptions(descriptions)
        return Detections(
            image=ids,
            label=label,
            box=_boxes(frame, size[_index(images, ids)], where),
            score=_frames.numbers(_column(frame, score, where), where),
            labels=tuple(names.get(code, code) for code in codes.tolist()),
            attributes={n: _frames.attribute(frame[n]) for n in frame.columns if n not in core},
        )

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write boxes as fractions of the image; labels are written by name."""
        corners = _to_corners(table.box, sizes_of(table.images, "Open Images")[table.image])
        names = np.array(stems(table.images), np.str_)[table.image]
        assert table.crowd is not None
        columns: dict[str, Any] = {
            "ImageID": names,
            "LabelName": np.array(table.labels, np.str_)[table.label],
            **corners,
            "IsGroupOf": table.crowd.astype(np.int8),
        }
        _frames.write_csv(columns | dict(table.attributes), path)

    def write_detections(
        self, table: Detections, path: Path, truth: Annotations | None = None
    ) -> None:
        """Write detections; image sizes come from `truth`."""
        corners = _to_corners(table.box, sizes_for(table, truth, "Open Images"))
        labels, label = named(table, truth)
        images, image = detection_images(table, truth)
        columns: dict[str, Any] = {
            "ImageID": np.array(images, np.str_)[image],
            "LabelName": np.array(labels, np.str_)[label],
            "Score": table.score,
            **corners,
        }
        _frames.write_csv(columns | dict(table.attributes), path)


def read_hierarchy(path: str | Path) -> Parents:
    """Parents of every label in a hierarchy file; a label may have several."""
    parents: dict[str, dict[str, None]] = {}
    stack = [decode(load(Path(path)), str(path))]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict) or not isinstance(node.get("LabelName"), str):
            raise undecodable(str(path), "a node has no LabelName", cause="not a hierarchy file")
        children = node.get("Subcategory", [])
        if not isinstance(children, list):
            raise wrong_type(str(path), "Subcategory", "a list", [], children, 1)
        for child in reversed(children):
            if isinstance(child, dict) and isinstance(child.get("LabelName"), str):
                parents.setdefault(child["LabelName"], {})[node["LabelName"]] = None
            stack.append(child)
    return {label: tuple(found) for label, found in parents.items()}


def ancestors(parents: Parents, label: str) -> tuple[str, ...]:
    """All labels above `label`, nearest first, each once.

    >>> ancestors({"cat": ("pet", "animal"), "pet": ("animal",)}, "cat")
    ('pet', 'animal')
    """
    found: dict[str, None] = {}
    queue = list(parents.get(label, ()))
    while queue:
        above = queue.pop(0)
        if above not in found:
            found[above] = None
            queue.extend(parents.get(above, ()))
    return tuple(found)


def read_descriptions(path: str | Path) -> dict[str, str]:
    """Names of labels by code, from a class-descriptions file with or without a header."""
    import csv

    rows = csv.reader(load_text(Path(path)).splitlines())
    names = {row[0]: row[1] for row in rows if len(row) > 1 and row[0].startswith("/")}
    if not names:
        raise undecodable(str(path), "no line is code,name", cause="not a class-descriptions file")
    return names


def _descriptions(path: str | Path | None) -> dict[str, str]:
    return {} if path is None else read_descriptions(path)


def parent_of(code: str, parents: Parents, names: Mapping[str, str]) -> str:
    """The parent's name; the root ("Entity") is no super-class."""
    above = [parent for parent in parents.get(code, ()) if parent in parents]
    return names.get(above[0], above[0]) if above else ""


def _column(frame: pl.DataFrame, name: str, where: str) -> pl.Series:
    if name not in frame.columns:
        columns = ", ".join(frame.columns[:12])
        raise refuse("OS107", f"{where} has no column {name!r}", example=f"columns: {columns}")
    return frame[name]


def _labels(frame: pl.DataFrame, where: str) -> NDArray[Any]:
    return _frames.text(_column(frame, "LabelName", where), where)


def _read_sizes(given: str | Path | Sizes | None) -> Sizes | None:
    if not isinstance(given, (str, Path)):
        return given
    from openset.formats.sizes_file import read_sizes

    return read_sizes(given)


def _images(
    ids: NDArray[Any], sizes: Sizes | None, where: str
) -> tuple[list[str], NDArray[np.float64]]:
    """The images, and width and height of each."""
    seen = list(dict.fromkeys(ids.tolist()))
    if sizes is None:
        return seen, np.ones((len(seen), 2))
    unknown = [image for image in seen if image not in sizes]
    if unknown:
        raise needs_sizes(where, len(unknown), unknown[0])
    return list(sizes), np.array(list(sizes.values()), np.float64).reshape(-1, 2)


def _index(images: list[str], ids: NDArray[Any]) -> NDArray[np.int32]:
    where = {image: index for index, image in enumerate(images)}
    return np.array([where[image] for image in ids.tolist()], np.int32)


def _boxes(frame: pl.DataFrame, sizes: NDArray[np.float64], where: str) -> NDArray[np.float64]:
    left, right, top, bottom = (
        _frames.numbers(_column(frame, name, where), where) for name in _CORNERS
    )
    unit = np.stack([left, top, right - left, bottom - top], axis=1)
    return unit * np.tile(sizes, 2)


def _to_corners(box: NDArray[np.float64], sizes: NDArray[np.float64]) -> dict[str, Any]:
    start, end = box[:, :2] / sizes, (box[:, :2] + box[:, 2:]) / sizes
    return {"XMin": start[:, 0], "XMax": end[:, 0], "YMin": start[:, 1], "YMax": end[:, 1]}
