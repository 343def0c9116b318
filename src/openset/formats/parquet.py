"""Parquet: our own lossless format, one row per object or detection.

Every column keeps its type to the last bit; logits and embeddings are fixed-size lists of float32.
What is not a row (labels, category ids, layout, head, images, info, provenance) is one JSON object
under the key ``openset`` of the file's metadata, with ``schema_version`` and ``kind``. Boxes are
the columns ``x, y, width, height``; attributes are prefixed by ``attribute:``.

Not a reader for any Parquet file: one without that metadata is refused.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import InputError, UsageError, refuse
from openset.formats._columns import integers
from openset.formats._footer import checked, texts_of
from openset.formats._head_text import head_from, head_values, refuse_head
from openset.formats._panics import unheard
from openset.formats._spec import FileFormat, Format, Kind, file_format
from openset.options import is_of
from openset.refusals import missing_key, undecodable, wrong_kind, wrong_type
from openset.tables import Annotations, Detections, Images, LogitLayout

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 1
_KEY = "openset"
_PREFIX = "attribute:"
_BOX = ("x", "y", "width", "height")
_OBJECT = ("image", "label", "area", "crowd", "difficult", "id")
_DETECTION = ("image", "label", "score", "unknownness", "logits", "embedding")
_HELD = {
    **dict.fromkeys(("image",), "iuUT"),
    **dict.fromkeys(("label", "id"), "iu"),
    **dict.fromkeys((*_BOX, "score", "unknownness", "area"), "iuf"),
    **dict.fromkeys(("logits", "embedding"), "f"),
    **dict.fromkeys(("crowd", "difficult"), "b"),
}  # kinds of NumPy's types that a column of ours may have
_HELD_WORDS = {"iuUT": "integers or text", "iu": "integers", "iuf": "numbers", "f": "floats"}
_HELD_WORDS["b"] = "true or false"
_NUMBERS = frozenset(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})


@file_format(
    FileFormat(
        name="parquet",
        holds=_BOTH,
        suffixes=(".parquet",),
        summary="Lossless: logits, embeddings, the head, every column, provenance (Parquet)",
    )
)
class Parquet(Format):
    """Lossless tables."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """The magic number, then the file's own statement."""
        if head[:4] != b"PAR1":
            return None
        kind: Kind = _metadata(path)["kind"]
        return kind

    def read_annotations(self, path: Path, **options: Any) -> Annotations:
        """Read ground truth; there are no options."""
        with _decoding(path):
            meta, columns = _read(path, "annotations")
            images = meta["images"]
            arrays = {name: _array(value) for name, value in images["columns"].items()}
            return Annotations(
                images=Images(
                    **arrays,
                    attributes={name: _array(v) for name, v in images["attributes"].items()},
                ),
                **_classes(meta, path),
                **columns,
            )

    def read_detections(self, path: Path, **options: Any) -> Detections:
        """Read detections; there are no options."""
        with _decoding(path):
            meta, columns = _read(path, "detections")
            table = Detections(
                labels=_texts(meta, "labels"),
                layout=None if meta["layout"] is None else LogitLayout(meta["layout"]),
                provenance=_object(meta, "provenance"),
                **columns,
            )
        head = head_from(meta.get("head"), str(path))
        misfit = head.misfit(table) if head is not None else ""
        if misfit:
            raise refuse_head(str(path), misfit)
        return replace(table, head=head)

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write ground truth."""
        images, category_id = table.images, table.category_id
        assert category_id is not None
        held = {name: getattr(images, name) for name in ("id", "file_name", "width", "height")}
        meta = {
            "labels": table.labels,
            "category_id": category_id.tolist(),
            "numbered": table.numbered,
            "supercategory": table.supercategory,
            "role": table.role,
            "info": table.info,
            "images": {
                "columns": {k: _listed(v) for k, v in held.items() if v is not None},
                "attributes": {k: _listed(v) for k, v in images.attributes.items()},
            },
        }
        _write(path, "annotations", {name: getattr(table, name) for name in _OBJECT}, table, meta)

    def write_detections(
        self, table: Detections, path: Path, truth: Annotations | None = None
    ) -> None:
        """Write detections."""
        meta = {
            "labels": table.labels,
            "layout": table.layout,
            "provenance": table.provenance,
            **head_values(table.head),
        }
        columns = {name: getattr(table, name) for name in _DETECTION}
        _write(path, "detections", columns, table, meta)


def classes_in(path: Path) -> Annotations:
    """A ground truth without images and objects: its classes, and what they are stated to be.

    They are in the footer, for which nobody need import the decoder: that takes as long as to read
    and match some thousand images.
    """
    meta = _metadata(path)
    if meta["kind"] != "annotations":
        raise wrong_kind(str(path), "annotations")
    with _decoding(path):
        images, none, box = Images(np.empty(0, np.int64)), np.empty(0, np.int32), np.empty((0, 4))
        return Annotations(images, image=none, label=none, box=box, **_classes(meta, path))


def _classes(meta: Mapping[str, Any], path: Path) -> dict[str, Any]:
    return {
        "labels": _texts(meta, "labels"),
        "category_id": integers(meta["category_id"], "category_id", str(path)),
        "numbered": meta.get("numbered") is not False,
        "supercategory": _texts(meta, "supercategory"),
        "role": _texts(meta, "role"),
        "info": _object(meta, "info"),
    }


@contextmanager
def _decoding(path: Path) -> Iterator[None]:
    """Refuse whatever a file is damaged in: nothing that it states is trusted."""
    shape = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
    try:
        yield
    except InputError:
        raise
    except BaseException as error:  # panics of the decoder are no `Exception`
        if not isinstance(error, (OSError, UsageError, *shape, *_of_decoder())):
            raise
        why = f"{type(error).__name__}: {error!s:.200}"
        raise undecodable(str(path), why, cause="a damaged or truncated file") from error


def _of_decoder() -> tuple[type[BaseException], ...]:
    """What the decoder may raise: nothing if nobody has imported it."""
    if "polars" not in sys.modules:
        return ()
    from polars.exceptions import PanicException, PolarsError

    return PolarsError, PanicException


def _metadata(path: Path) -> dict[str, Any]:
    """The file's statement about itself, refused if it is not ours."""
    with _decoding(path):
        meta: dict[str, Any] = json.loads(texts_of(path).get(_KEY, "null"))
    if not isinstance(meta, dict) or meta.get("kind") not in (*_BOTH,):
        raise refuse(
            "OS104",
            f"{path} is Parquet, but not a table written by openset",
            cause=f"its metadata has no key {_KEY!r}",
            fix="write the table as CSV with a header, or with openset.write",
        )
    if meta.get("schema_version") != SCHEMA_VERSION:
        version = meta.get("schema_version")
        raise refuse("OS102", f"{path} has schema version {version}, not {SCHEMA_VERSION}")
    return meta


def _read(path: Path, kind: Kind) -> tuple[dict[str, Any], dict[str, Any]]:
    import polars as pl

    meta = _metadata(path)
    if meta["kind"] != kind:
        raise wrong_kind(str(path), kind)
    _refuse_claims(path)
    with unheard():
        frame = pl.read_parquet(path, glob=False)
    return meta, _columns(frame, meta["dtypes"], str(path))


def _refuse_claims(path: Path) -> None:
    """Refuse what polars would panic at, or die of, while it decodes."""
    import polars as pl

    footer, schema = checked(path), pl.read_parquet_schema(path)
    for name, kind in schema.items():
        inner: Any = kind
        while isinstance(inner, pl.Array):
            inner = inner.inner
        if not (inner.is_numeric() or inner in (pl.Boolean, pl.String)):
            raise TypeError(f"column {name!r} holds {kind}")
        if footer.lists.get(name) != (_entries(kind, footer.rows) if inner != kind else None):
            raise ValueError(f"column {name!r} holds not as many values as {kind} needs")


def _entries(kind: Any, rows: int) -> int:
    """How many values Parquet counts: a list of nothing has one entry, which says so."""
    return rows * math.prod(takewhile(bool, kind.shape))


def _texts(meta: Mapping[str, Any], name: str) -> tuple[str, ...]:
    if not is_of(meta[name], Sequence[str]):
        raise TypeError(f"{name} are not a list of texts")
    return tuple(meta[name])


def _object(meta: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(meta[name], dict):
        raise TypeError(f"{name} is no object")
    return {**meta[name]}


def _columns(frame: pl.DataFrame, dtypes: Mapping[str, str], where: str) -> dict[str, Any]:
    for name in frame.columns:
        if frame[name].null_count():
            rows = frame[name].is_null().arg_true().to_list()
            raise missing_key(where, name, rows, len(frame))
    arrays = {name: _numpy(frame[name], dtypes[name]) for name in frame.columns}
    for name, values in arrays.items():
        if values.dtype.kind not in _HELD.get(name, values.dtype.kind):
            kind = _HELD_WORDS[_HELD[name]]
            raise wrong_type(where, name, kind, [], str(values.dtype), len(values))
        _refuse_large(values, name, where)
    box = np.stack([arrays.pop(name) for name in _BOX], axis=1)
    attributes = {n.removeprefix(_PREFIX): v for n, v in arrays.items() if n.startswith(_PREFIX)}
    core = {name: values for name, values in arrays.items() if not name.startswith(_PREFIX)}
    return {**core, "box": box, "attributes": attributes}


def _refuse_large(values: NDArray[Any], name: str, where: str) -> None:
    """Refuse what the tables would wrap around: they hold integers of 64 bits with a sign."""
    if values.dtype.kind != "u" or name not in _HELD:
        return
    rows = np.flatnonzero(values > np.iinfo(np.int64).max).tolist()
    if rows:
        raise wrong_type(where, name, "integers of 64 bits", rows, int(values[rows[0]]))


def _numpy(series: pl.Series, dtype: str) -> NDArray[Any]:
    if dtype[0] in "UT":
        return _text(series.to_list(), dtype)
    stated, values = _number_type(dtype), np.asarray(series.to_numpy())
    halves = stated == np.float16 and values.dtype == np.float32  # which Parquet has no room for
    if values.dtype != stated and not halves:
        raise TypeError(f"column {series.name!r} holds {values.dtype}, not {stated}")
    return values.astype(stated, copy=False)


def _text(values: list[str], dtype: str) -> NDArray[Any]:
    """As wide as the texts are: a stated width could cut them, or take any memory."""
    if not is_of(values, Sequence[str]):
        raise TypeError("a column of text holds something else")
    return np.array(values, np.dtypes.StringDType() if dtype == "T" else np.str_)


def _number_type(dtype: str) -> np.dtype[Any]:
    if dtype not in _NUMBERS:  # NumPy would run any text through a parser of Python
        raise TypeError(f"{dtype!r} is no type of numbers")
    return np.dtype(dtype)


def _name_of(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in "biufUT":
        raise UsageError(f"a column of type {dtype} cannot be written to Parquet")
    return "T" if dtype.kind == "T" else dtype.str.lstrip("<>=|")


def _listed(column: NDArray[Any]) -> dict[str, Any]:
    values = np.asarray(column)
    return {"dtype": _name_of(values.dtype), "values": values.tolist()}


def _array(held: Mapping[str, Any]) -> NDArray[Any]:
    if held["dtype"][0] in "UT":
        return _text(held["values"], held["dtype"])
    stated = _number_type(held["dtype"])
    values = np.array(held["values"])
    if len(values) and not np.can_cast(values.dtype, stated, "same_kind"):
        raise TypeError(f"a column of {stated} holds {values.dtype}")
    return values.astype(stated)


def _write(
    path: Path,
    kind: Kind,
    columns: Mapping[str, NDArray[Any] | None],
    table: Annotations | Detections,
    meta: Mapping[str, Any],
) -> None:
    held = {name: values for name, values in columns.items() if values is not None}
    held |= dict(zip(_BOX, table.box.T, strict=True))
    held |= {f"{_PREFIX}{name}": values for name, values in table.attributes.items()}
    statement = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "dtypes": {name: _name_of(values.dtype) for name, values in held.items()},
        **meta,
    }
    try:
        text = json.dumps(statement, ensure_ascii=False)
        text.encode()  # polars would fail in another way
    except TypeError as error:
        raise UsageError(f"info and provenance must hold JSON values: {error}") from error
    import polars as pl

    frame = pl.DataFrame([_series(name, values) for name, values in held.items()])
    try:
        frame.write_parquet(path, metadata={_KEY: text})
    except pl.exceptions.PolarsError as error:  # how polars says that a disk is full
        raise OSError(str(error).partition("\n")[0]) from error


def _series(name: str, values: NDArray[Any]) -> pl.Series:
    import polars as pl

    if values.dtype.kind in "UT":
        return pl.Series(name, values.tolist(), pl.String)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    if values.ndim == 2:
        inner = pl.Series(values[:0, 0] if values.shape[1] else values.ravel()[:0]).dtype
        return pl.Series(name, np.ascontiguousarray(values), pl.Array(inner, values.shape[1]))
    return pl.Series(name, np.ascontiguousarray(values))
