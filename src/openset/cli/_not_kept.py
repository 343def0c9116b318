"""What a conversion does not keep, by name and number: masks, keypoints, columns and flags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from openset.findings import Finding, Level
from openset.wording import listed, spaced

if TYPE_CHECKING:
    from openset.formats import FileFormat
    from openset.tables import Annotations, Detections

# Of COCO's keys that are skipped as they are read: a value that is neither null nor empty.
_SKIPPED = re.compile(rb'"(segmentation|keypoints)"\s*+:\s*+(?!null|\[\s*+\])')
_EVERYTHING = (
    "--everything keeps masks and keypoints, in formats that hold further columns (coco, parquet)"
)


def not_kept(
    table: Annotations | Detections, source: Path, record: FileFormat, *, everything: bool
) -> Finding | None:
    """The finding that the other file lacks what this one has, if it does.

    Args:
        table: What was read.
        source: Where from.
        record: The format that is written.
        everything: Whether masks and keypoints were read.
    """
    skipped = {} if everything else _skipped(source)
    lost = skipped | _columns(table, record)
    if not lost:
        return None
    return Finding(
        "OS122",
        Level.WARNING,
        f"not kept: {listed([f'{name} ({spaced(count)})' for name, count in lost.items()])}",
        count=max(lost.values()),
        example=next(iter(lost)),
        cause="no metric reads masks and keypoints, which are skipped"
        if skipped
        else f"{record.name} has no place for them",
        fix=_EVERYTHING if skipped else "convert to coco or parquet, which keep them",
    )


def _skipped(source: Path) -> dict[str, int]:
    """Keys of a COCO file that hold something and were not read."""
    from openset.files import HEAD, head, load

    if not source.is_file() or head(source)[:HEAD].lstrip()[:1] != b"{":
        return {}
    found = [key.decode() for key in _SKIPPED.findall(load(source))]
    return {key: found.count(key) for key in dict.fromkeys(found)}


def _columns(table: Annotations | Detections, record: FileFormat) -> dict[str, int]:
    """Further columns, and flags that change numbers, which a format has no place for."""
    lost: dict[str, int] = {}
    if "attributes" in record.loses:
        lost |= {name: _filled(column) for name, column in table.attributes.items()}
    for name in ("crowd", "difficult"):
        flags = getattr(table, name, None)
        if name in record.loses and flags is not None:
            lost[name] = int(flags.sum())
    return {name: count for name, count in lost.items() if count}


def _filled(column: object) -> int:
    """How many values are something."""
    import numpy as np

    values = np.asarray(column)
    if values.dtype.kind == "f":
        return int(np.count_nonzero(~np.isnan(values)))
    if values.dtype.kind not in "UT":
        return len(values)
    return int(np.count_nonzero(~np.isin(values, ["", "[]", "null"])))
