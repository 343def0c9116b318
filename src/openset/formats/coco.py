"""COCO: ground truth as one JSON document, results as a JSON list; plain or gzip.

Boxes are ``[x, y, width, height]`` in pixels, 0-based and continuous, as in the tables. Category
ids may be sparse, image ids are integers or text. Beyond the original format:

- ``difficult`` or ``ignore`` of an annotation, and ``role`` of a category;
- ``unknownness``, ``logits`` with ``layout``, and ``embedding`` of a result;
- any other key is kept as a column (see `_coco`); ``NaN`` and ``Infinity`` are read.

Not COCO panoptic or keypoint evaluation: masks and keypoints are carried, never interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from openset.formats import _coco, _coco_write
from openset.formats._files import HEAD, is_gzip, load, save
from openset.formats._json import decode, encode
from openset.formats._spec import FileFormat, Format, Kind, file_format
from openset.tables import Annotations, Detections

_DOCUMENT = re.compile(rb'"(images|annotations|categories)"\s*:')
_RESULT = re.compile(rb'"(image_id|category_id|bbox|score)"\s*:')
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})


@file_format(
    FileFormat(
        name="coco",
        holds=_BOTH,
        suffixes=(".json", ".json.gz"),
        summary="COCO ground truth and results (JSON, plain or gzip)",
        loses=frozenset({"names", "provenance"}),
    )
)
class Coco(Format):
    """COCO ground truth and results."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """A list of objects is results, an object with the right keys is ground truth."""
        start = head.lstrip()
        if start[:1] == b"[":
            first = start[1:].lstrip()
            if first[:1] == b"]":
                return "detections"
            return "detections" if first[:1] == b"{" and _RESULT.search(first) else None
        if start[:1] == b"{" and (_DOCUMENT.search(start) or _long_header(start, len(head))):
            return "annotations"
        return None

    def read_annotations(self, path: Path, **options: Any) -> Annotations:
        """Read ground truth; there are no options."""
        source = load(path) if is_gzip(path) else path
        columns = _fast_truth(source)
        if columns is not None:
            return _coco.build_annotations(columns, str(path))
        data = load(source) if isinstance(source, Path) else source
        return _coco.annotations_of(decode(data, str(path)), str(path))

    def read_detections(self, path: Path, *, layout: str | None = None, **_: Any) -> Detections:
        """Read results; `layout` says what the columns of logits are, if the file does not."""
        source = load(path) if is_gzip(path) else path
        fast = _fast_results(source, str(path), layout)
        if fast is not None:
            return fast
        data = load(source) if isinstance(source, Path) else source
        return _coco.detections_of(decode(data, str(path)), str(path), layout)

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write ground truth."""
        document, finite = _coco_write.truth_document(table)
        save(path, encode(document, finite=finite))

    def write_detections(
        self, table: Detections, path: Path, truth: Annotations | None = None
    ) -> None:
        """Write results; names of labels become the category ids of `truth`."""
        document, finite = _coco_write.results_document(table, truth)
        save(path, encode(document, finite=finite))


def _long_header(start: bytes, length: int) -> bool:
    """Whether this is one long object whose header (``info``, ``licenses``) fills the head."""
    return length >= HEAD and bool(re.match(rb'\{\s*"(info|licenses|type)"\s*:', start))


def _fast_results(source: Path | bytes, where: str, layout: str | None) -> Detections | None:
    """Results through the compiled reader, or None for the general one (also for its errors)."""
    try:
        from openset.kernels import ReadError, read_results
    except ImportError:
        return None
    try:
        columns = read_results(source)
    except (ReadError, OSError):
        return None
    extras: _coco.Extras = {}
    if columns.extra_keys:
        keys = tuple(columns.extra_keys)
        extras = _extra_lists(_bytes(source), where, {"": keys})[""]
    return _coco.build_detections(
        columns.image_id,
        columns.category_id,
        columns.box,
        columns.score,
        extras,
        where=where,
        layout=layout,
    )


def _fast_truth(source: Path | bytes) -> _coco.Columns | None:
    try:
        from openset.kernels import ReadError, read_truth
    except ImportError:
        return None
    try:
        columns = read_truth(source)
    except (ReadError, OSError):
        return None
    extras: dict[str, _coco.Extras] = {"images": {}, "annotations": {}}
    if columns.image_extra_keys or columns.annotation_extra_keys:
        keys = {"images": columns.image_extra_keys, "annotations": columns.annotation_extra_keys}
        extras = _extra_lists(_bytes(source), "", keys)
    return _coco.Columns(
        image_ids=columns.image_ids,
        file_names=columns.file_names,
        width=columns.width,
        height=columns.height,
        id=columns.id,
        image_id=columns.image_id,
        category_id=columns.category_id,
        box=columns.box,
        area=columns.area,
        crowd=np.asarray(columns.crowd, np.bool_),
        head=columns.head,
        image_extras=extras["images"],
        extras=extras["annotations"],
    )


def _bytes(source: Path | bytes) -> bytes:
    return load(source) if isinstance(source, Path) else source


def _extra_lists(
    data: bytes, where: str, keys: dict[str, Sequence[str]]
) -> dict[str, _coco.Extras]:
    """Values of the given keys only, by the top-level key of their records ("" for a bare list).

    The rest of every record is skipped by the decoder, never built.
    """
    import msgspec

    kinds = {
        part: msgspec.defstruct(
            "Extras",
            [(f"f{i}", Any, None) for i in range(len(names))],
            rename={f"f{i}": name for i, name in enumerate(names)},
            gc=False,
        )
        for part, names in keys.items()
    }
    if "" in kinds:
        parts = {"": decode(data, where, list[kinds[""]])}  # type: ignore[misc]
    else:
        fields = [(part, list[kind]) for part, kind in kinds.items()]  # type: ignore[valid-type]
        top = decode(data, where, msgspec.defstruct("Top", fields))
        parts = {part: getattr(top, part) for part in kinds}
    return {
        part: {
            name: [getattr(record, f"f{i}") for record in parts[part]]
            for i, name in enumerate(names)
        }
        for part, names in keys.items()
    }
