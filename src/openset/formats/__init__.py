"""Formats: files and in-memory objects to tables, and tables to files.

A format is recognised by content, not by name. `read` imports only the COCO reader when the first
byte is that of JSON, and looks at every other format only if COCO does not claim the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.files import HEAD, head, replacing
from openset.findings import InputError, UsageError, refuse
from openset.formats._others import by_columns, kind_of, of_folder
from openset.formats._spec import FileFormat, Format, Kind, file_format
from openset.refusals import shown, wrong_kind, wrong_type

if TYPE_CHECKING:
    from openset.tables import Annotations, Detections

__all__ = [
    "FileFormat",
    "Format",
    "file_format",
    "formats",
    "read",
    "read_annotations",
    "read_detections",
    "write",
]
_KINDS = ("annotations", "detections")


def formats() -> Mapping[str, type[Format]]:
    """All formats by name, those of installed plug-ins included."""
    from openset.plugins import discover

    return discover("openset.formats", "format")


def read(
    path: str | os.PathLike[str],
    *,
    as_: Kind | None = None,
    format: str | None = None,
    **options: Any,
) -> Annotations | Detections:
    """Read a file or folder.

    Args:
        path: The file or folder.
        as_: ``"annotations"`` or ``"detections"``, if only that will do.
        format: Name of the format; by default the content tells.
        **options: What the format's reader takes, such as ``sizes`` or ``layout``.
    """
    where = Path(path)
    if as_ is not None and as_ not in _KINDS:
        raise UsageError(f"as_ must be 'annotations' or 'detections', not {as_!r}")
    method, kind = _method(where, format, as_)
    if as_ is not None and kind != as_:
        raise wrong_kind(str(path), as_)
    if options:
        _check_options(method, options)
    import numpy as np

    # Numbers that are beyond a float become infinite or NaN, which the checks count.
    with np.errstate(over="ignore", invalid="ignore"):
        table: Annotations | Detections = method(where, **options)
    return table


def reading(
    path: str | os.PathLike[str], *, format: str | None = None
) -> tuple[Kind, Mapping[str, None]]:
    """What a file holds, and the options that its reader takes."""
    method, kind = _method(Path(path), format, None)
    return kind, _options(method)


def _method(where: Path, format: str | None, as_: Kind | None) -> tuple[Any, Kind]:
    start = head(where)
    reader, kind = _chosen(where, start, format, as_) if format else _recognised(where, start)
    if as_ is not None and kind != as_ and reader.could_hold(where, as_):
        kind = as_
    return (reader.read_annotations if kind == "annotations" else reader.read_detections), kind


def _check_options(method: Any, options: Mapping[str, Any]) -> None:
    from openset.plugins import lookup

    for name in options:
        lookup(_options(method), name, "option")


def _options(method: Any) -> Mapping[str, None]:
    from inspect import Parameter, signature

    parameters = signature(method).parameters.values()
    return {p.name: None for p in parameters if p.kind is Parameter.KEYWORD_ONLY}


def _chosen(path: Path, start: bytes, name: str, as_: Kind | None) -> tuple[Format, Kind]:
    from openset.plugins import lookup, record_of

    cls = lookup(formats(), name, "format")
    if path.is_dir() and not record_of(cls).folder:
        raise refuse("OS103", f"{path} is a folder, but format {name!r} is a file")
    reader = cls()
    # A reader that is told what to read gives better errors than a sniffer that sees nothing.
    kind = reader.sniff(path, start) or as_
    if kind is None:
        raise _unrecognised(path, start, [name])
    return reader, kind


def _recognised(path: Path, start: bytes) -> tuple[Format, Kind]:
    folder = path.is_dir()
    if not folder and start.lstrip()[:1] in (b"[", b"{"):
        from openset.formats.coco import Coco

        kind = Coco().sniff(path, start)
        if kind is not None:
            return Coco(), kind
        if by_columns(start):  # a line of JSON, but not a record
            raise _unrecognised(path, start, ["coco"])
    from openset.plugins import record_of

    for cls in formats().values():
        kind = cls().sniff(path, start) if record_of(cls).folder or not folder else None
        if kind is not None:
            return cls(), kind
    raise _unrecognised(path, start, list(formats()))


def _unrecognised(path: Path, start: bytes, tried: list[str]) -> InputError:
    if start.lstrip()[:1] in (b"[", b"{") and not path.is_dir():
        _refuse_bad_json(path, start)
    names = start.decode("utf-8", "replace").split("\n") if path.is_dir() else []
    other = of_folder(path, names) if names else kind_of(start)
    if other is not None:
        return refuse("OS104", f"{path} is {other.what}", cause=other.cause, fix=other.fix)
    what = "a folder with" if path.is_dir() else "starts with"
    if not names:
        _refuse_nearly(path, start)
    seen = shown(names[:5] if names else start[:60])
    return refuse(
        "OS104",
        f"{path} is in no known format: {what} {seen}",
        cause=f"tried {', '.join(tried)}",
        fix="name the format if you know it: format=..., and see docs/formats.md",
    )


def _refuse_nearly(path: Path, start: bytes) -> None:
    """Say which column a table lacks that has others of ours."""
    from openset.formats.table import refuse_nearly

    refuse_nearly(path, start)


def _refuse_bad_json(path: Path, start: bytes) -> None:
    """Say where JSON is broken, if the head is enough to see it."""
    from openset.json_text import decode

    try:
        decode(start, str(path))
    except InputError as error:
        if len(start) < HEAD - 3 or "nested" in str(error):
            raise


def read_annotations(source: Any, **options: Any) -> Annotations:
    """Ground truth from a path, a table, or in-memory objects (see `openset.formats.memory`)."""
    from openset.tables import Annotations, Detections

    if isinstance(source, Annotations):
        return source
    if isinstance(source, Detections):
        raise wrong_kind("the table", "annotations")
    if isinstance(source, (str, os.PathLike)):
        table = read(source, as_="annotations", **options)
        assert isinstance(table, Annotations)
        return table
    from openset.formats import memory

    return memory.to_annotations(source, **options)


def read_detections(source: Any, **options: Any) -> Detections:
    """Detections from a path, a table, or in-memory objects (see `openset.formats.memory`)."""
    from openset.tables import Annotations, Detections

    if isinstance(source, Detections):
        return source
    if isinstance(source, Annotations):
        raise wrong_kind("the table", "detections")
    if isinstance(source, (str, os.PathLike)):
        table = read(source, as_="detections", **options)
        assert isinstance(table, Detections)
        return table
    from openset.formats import memory

    return memory.to_detections(source, **options)


def write(
    table: Annotations | Detections,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    truth: Annotations | None = None,
    **options: Any,
) -> None:
    """Write a table so that an error leaves nothing half written.

    Args:
        table: Annotations or detections.
        path: A file, or a folder that is absent or empty for formats that are folders.
        format: Name of the format; by default the suffix tells.
        truth: For detections, the ground truth they belong to: some formats need its names, ids or
            image sizes.
        **options: What the format's writer takes, such as ``per_part``.
    """
    from openset.plugins import lookup, record_of
    from openset.tables import Annotations, Detections
    from openset.tables.left_open import LeftOpen

    where = Path(path)
    cls = lookup(formats(), format or _by_suffix(where), "format")
    if isinstance(table, Detections) and "provenance" in record_of(cls).loses:
        table = LeftOpen.of(table).finished(table, truth)
    kind, more = ("annotations", ()) if isinstance(table, Annotations) else ("detections", (truth,))
    method = getattr(cls(), f"write_{kind}")
    if options:
        _check_options(method, options)
    try:
        with replacing(where, folder=record_of(cls).folder) as target:
            method(table, target, *more, **options)
    except UnicodeEncodeError as error:
        near = error.object[max(0, error.start - 20) : error.end + 20]
        raise wrong_type(str(where), "text", "Unicode", [], near, 1) from error


def _by_suffix(path: Path) -> str:
    from openset.plugins import record_of

    records = [record_of(cls) for cls in formats().values()]
    for record in records:
        if path.name.lower().endswith(record.suffixes or ("\0",)):
            return str(record.name)
    known = ", ".join(suffix for record in records for suffix in record.suffixes)
    raise UsageError(f"cannot tell a format from {path.name!r} (known: {known}); pass format=")
