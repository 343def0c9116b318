"""COCO: ground truth as one JSON document, results as a JSON list; plain or gzip.

Boxes are ``[x, y, width, height]`` in pixels, 0-based and continuous, as in the tables. Category
ids may be sparse, image ids are integers or text. Beyond the original format:

- ``difficult`` or ``ignore`` of an annotation, and ``role`` of a category;
- ``unknownness``, ``logits`` with ``layout``, and ``embedding`` of a result;
- any other key is kept as a column (see `_coco`); ``NaN`` and ``Infinity`` are read.

Masks, keypoints, licences and URLs are skipped, because they are most of the bytes and no metric
reads them; ``everything=True`` keeps them. Not COCO panoptic or keypoint evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from openset.files import HEAD, is_gzip, load, save
from openset.formats import _coco, _coco_write
from openset.formats._coco import annotations_of
from openset.formats._coco_write import truth_document
from openset.formats._spec import FileFormat, Format, Kind, file_format
from openset.formats._two_lists import refuse_two_lists
from openset.json_text import decode, encode, is_text
from openset.tables import Annotations, Detections

__all__ = ["Coco", "annotations_of", "truth_document"]
_DOCUMENT = re.compile(rb'"(images|annotations|categories)"\s*:')
_RESULT = re.compile(rb'"(image_id|category_id|bbox|score)"\s*:')
_NO_NAME = re.compile(r'[\x00-\x1f"\\]')
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})


@file_format(
    FileFormat(
        name="coco",
        holds=_BOTH,
        suffixes=(".json", ".json.gz"),
        summary="COCO ground truth and results (JSON, plain or gzip)",
        loses=frozenset({"names", "head", "provenance"}),
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

    def could_hold(self, path: Path, kind: Kind) -> bool:
        """A data set whose annotations have scores is detections, if these are asked for."""
        return kind == "detections" and b'"score"' in load(path)

    def read_annotations(self, path: Path, *, everything: bool = False, **_: Any) -> Annotations:
        """Read ground truth; `everything` also keeps masks, keypoints, licences and URLs."""
        source = load(path) if is_gzip(path) else path
        refuse_two_lists(source, str(path))
        columns = None if everything else _fast_truth(source, str(path))
        if columns is not None:
            return _coco.build_annotations(columns, str(path))
        data = load(source) if isinstance(source, Path) else source
        return annotations_of(decode(data, str(path)), str(path), everything=everything)

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
        document, finite = truth_document(table)
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
    from openset.kernels import ReadError, read_results

    try:
        columns = read_results(source)
    except (ReadError, OSError):
        return None
    if not _are_names(columns.extra_keys):
        return None
    extras: _coco.Extras = {}
    if columns.extra_keys:
        record = _extra_record(columns.extra_keys)
        records = decode(_bytes(source), where, list[record])  # type: ignore[valid-type]
        extras = _extra_lists(records, columns.extra_keys)
    return _coco.build_detections(
        columns.image_id,
        columns.category_id,
        columns.box,
        columns.score,
        extras,
        where=where,
        layout=layout,
    )


def _fast_truth(source: Path | bytes, where: str) -> _coco.Columns | None:
    """Ground truth through the compiled reader, or None for the general one."""
    from openset.kernels import ReadError, read_truth

    try:
        columns = read_truth(source)
    except (ReadError, OSError):
        return None
    image_keys, object_keys = columns.image_extra_keys, columns.annotation_extra_keys
    names = "".join(columns.file_names or ())
    if not is_text([names, columns.head]) or not _are_names([*image_keys, *object_keys]):
        return None
    image_extras: _coco.Extras = {}
    extras: _coco.Extras = {}
    if image_keys or object_keys:
        document = _extra_document(_bytes(source), where, image_keys, object_keys)
        image_extras = _extra_lists(document.images, image_keys)
        extras = _extra_lists(document.annotations, object_keys)
    return _coco.Columns(
        image_ids=columns.image_ids,
        file_names=columns.file_names,
        width=columns.width,
        height=columns.height,
        id=columns.id,
        image_id=columns.image_id,
        category_id=columns.category_id,
        box=columns.box,
        area=_coco.filled(columns.area, columns.box, np.isnan(columns.area)),
        crowd=columns.crowd,
        head=columns.head,
        image_extras=image_extras,
        extras=extras,
    )


def _are_names(keys: Sequence[str]) -> bool:
    """Whether keys are such as msgspec takes: the general reader takes any."""
    return is_text(keys) and not any(_NO_NAME.search(key) for key in keys)


def _bytes(source: Path | bytes) -> bytes:
    return load(source) if isinstance(source, Path) else source


def _extra_document(
    data: bytes, where: str, image_keys: Sequence[str], object_keys: Sequence[str]
) -> Any:
    """Images and annotations with the given keys only; the decoder skips the rest."""
    import msgspec

    images, objects = _extra_record(image_keys), _extra_record(object_keys)
    fields = [
        ("images", list[images]),  # type: ignore[valid-type]
        ("annotations", list[objects]),  # type: ignore[valid-type]
    ]
    return decode(data, where, msgspec.defstruct("Document", fields))


def _extra_record(keys: Sequence[str]) -> type[Any]:
    import msgspec

    fields = [(f"f{index}", Any, None) for index in range(len(keys))]
    rename = {f"f{index}": key for index, key in enumerate(keys)}
    return msgspec.defstruct("Extras", fields, rename=rename, gc=False)


def _extra_lists(records: Sequence[Any], keys: Sequence[str]) -> _coco.Extras:
    return {
        key: [getattr(record, f"f{index}") for record in records] for index, key in enumerate(keys)
    }
