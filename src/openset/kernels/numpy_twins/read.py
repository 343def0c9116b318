"""Reading with msgspec: typed decoding of the common shape.

Results of which all records look alike do not come here: `plain_results` is faster. What msgspec
refuses, or what it might read differently from the rest of us (it keeps the last of
two equal keys), goes to `strict_json`, which is slow and says exactly what is wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from openset.kernels.numpy_twins import plain_results, strict_json
from openset.kernels.numpy_twins.text import WORD, begin_with, find, words_from
from openset.kernels.read import ResultColumns, Text, TruthColumns

MAX_INTEGER = 1 << 53
_ABSENT = -(1 << 62)  # an integer that no file may contain


Box = tuple[float, float, float, float]
_Kind = TypeVar("_Kind")


class _DoubtfulError(Exception):
    """The strict reader shall decide."""


class _Bulk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Keys that are skipped; any other unknown key is doubtful."""

    segmentation: msgspec.Raw = msgspec.Raw()
    keypoints: msgspec.Raw = msgspec.Raw()
    num_keypoints: msgspec.Raw = msgspec.Raw()
    license: msgspec.Raw = msgspec.Raw()
    coco_url: msgspec.Raw = msgspec.Raw()
    flickr_url: msgspec.Raw = msgspec.Raw()
    date_captured: msgspec.Raw = msgspec.Raw()


class _Result(_Bulk, kw_only=True, forbid_unknown_fields=True, gc=False):
    image_id: int
    category_id: int
    bbox: Box
    score: float


class _Image(_Bulk, kw_only=True, forbid_unknown_fields=True, gc=False):
    id: int
    width: float = math.nan
    height: float = math.nan
    file_name: str = ""


class _Annotation(_Bulk, kw_only=True, forbid_unknown_fields=True, gc=False):
    id: int
    image_id: int
    category_id: int
    bbox: Box
    area: float = math.nan
    iscrowd: int = _ABSENT


def read_results(text: Text) -> ResultColumns:
    """See ``openset.kernels.read_results``."""
    plain = plain_results.read_results(text)
    if plain is not None:
        return plain
    try:
        return _typed_results(text)
    except _DoubtfulError:
        return strict_json.read_results(bytes(text))


def read_truth(text: Text) -> TruthColumns:
    """See ``openset.kernels.read_truth``."""
    try:
        return _typed_truth(text)
    except _DoubtfulError:
        return strict_json.read_truth(bytes(text))


def _decode(text: Text, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _DoubtfulError from error


def _check_text(text: Text) -> None:
    """Refuse what is not UTF-8: msgspec does not look at strings that it skips."""
    if (np.frombuffer(text, np.uint8) >= 0x80).any():
        try:
            bytes(text).decode()
        except UnicodeDecodeError as error:
            raise _DoubtfulError from error


def _check_keys(text: Text, counts: dict[str, int]) -> None:
    """Doubt a text in which a key is written more, or fewer, times than records have it."""
    if _count_keys(text, counts) != list(counts.values()):
        raise _DoubtfulError


def _count_keys(text: Text, keys: Iterable[str]) -> list[int]:
    """Count how often each key is written: few characters are quotes, and only these matter."""
    quotes, end = find(text, '"'), len(text) - 2 * WORD  # all of these keys fit in two words
    words = words_from(text, quotes[quotes <= end], 2)
    rest = bytes(text[max(end + 1, 0) :])
    quoted = [b'"%b"' % key.encode() for key in keys]
    return [int(begin_with(words, key).sum()) + rest.count(key) for key in quoted]


def _integers(values: Sequence[int]) -> NDArray[np.int64]:
    try:
        column = np.array(values, np.int64)
    except OverflowError as error:
        raise _DoubtfulError from error
    if (np.abs(column) > MAX_INTEGER).any():
        raise _DoubtfulError
    return column


def _boxes(records: Sequence[_Result] | Sequence[_Annotation]) -> NDArray[np.float64]:
    return np.array([record.bbox for record in records], np.float64).reshape(-1, 4)


def _typed_results(text: Text) -> ResultColumns:
    _check_text(text)
    records = _decode(text, list[_Result])
    keys = ("image_id", "category_id", "bbox", "score")
    _check_keys(text, dict.fromkeys(keys, len(records)))
    return ResultColumns(
        image_id=_integers([record.image_id for record in records]),
        category_id=_integers([record.category_id for record in records]),
        box=_boxes(records),
        score=np.array([record.score for record in records], np.float64),
        extra_keys=(),
    )


def _typed_truth(text: Text) -> TruthColumns:
    _check_text(text)
    parts = _decode(text, dict[str, msgspec.Raw])
    _check_keys(text, {"images": 1, "annotations": 1})
    if not parts.keys() >= {"images", "annotations"}:
        raise _DoubtfulError
    image_text, text = (memoryview(parts.pop(key)) for key in ("images", "annotations"))
    images = _decode(image_text, list[_Image])
    records = _decode(text, list[_Annotation])
    width = np.array([image.width for image in images], np.float64)
    height = np.array([image.height for image in images], np.float64)
    area = np.array([record.area for record in records], np.float64)
    crowd, n_crowd = _crowd(records)
    keys = {"id": len(images), "width": _present(width), "height": _present(height)}
    _check_keys(image_text, keys)
    keys = dict.fromkeys(("id", "image_id", "category_id", "bbox"), len(records))
    _check_keys(text, keys | {"area": _present(area), "iscrowd": n_crowd})
    return TruthColumns(
        image_ids=_integers([image.id for image in images]),
        width=width,
        height=height,
        file_names=_file_names(image_text, images),
        image_extra_keys=(),
        id=_integers([record.id for record in records]),
        image_id=_integers([record.image_id for record in records]),
        category_id=_integers([record.category_id for record in records]),
        box=_boxes(records),
        area=area,
        crowd=crowd,
        annotation_extra_keys=(),
        head={key: json.loads(bytes(value)) for key, value in parts.items()},
    )


def _crowd(records: Sequence[_Annotation]) -> tuple[NDArray[np.bool_], int]:
    """Return the crowd flags and how many annotations have one."""
    flags = [record.iscrowd for record in records]
    present = [flag for flag in flags if flag != _ABSENT]
    if not {*present} <= {0, 1}:
        raise _DoubtfulError
    return np.array([flag == 1 for flag in flags], np.bool_), len(present)


def _present(column: NDArray[np.float64]) -> int:
    """Count the records that have an optional number."""
    return int(np.count_nonzero(~np.isnan(column)))


def _file_names(text: Text, images: Sequence[_Image]) -> list[str] | None:
    """All images have a file name, or none has."""
    (n,) = _count_keys(text, ["file_name"])
    if n not in (0, len(images)):
        raise _DoubtfulError
    return [image.file_name for image in images] if n and images else None
