"""Pictures: sizes and names of images, where annotations have none (Open Images).

The CSV files of Open Images hold boxes as shares of images whose sizes no file of theirs states.
Detectors speak of pixels, so a benchmark that is to be trained or run on needs the pictures: only
their headers are read, of the images that the benchmark uses. Without them images are 1 x 1, which
is enough to count and to audit; that is said (OS916).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from openset.benchmarks.definition import Source
from openset.files import visible
from openset.findings import Finding, Level, refuse
from openset.formats.imagesize import SUFFIXES, image_size
from openset.tables import Annotations


def folder_of(source: Source, folder: Path) -> Path | None:
    """Where the pictures of a source lie, if they are there."""
    return next((folder / name for name in source.pictures if (folder / name).is_dir()), None)


def measured(table: Annotations, pictures: Path, root: Path) -> Annotations:
    """Boxes in pixels, and names of files relative to a folder, for images of 1 x 1."""
    if not unsized(table):
        return table
    there = {path.stem: path for path in visible(pictures) if path.suffix.lower() in SUFFIXES}
    ids = table.images.id.tolist()
    if lost := [name for name in ids if name not in there]:
        message = f"{len(lost)} of {len(ids)} pictures are not in {pictures}"
        raise refuse("OS917", message, count=len(lost), example=f"{lost[0]}.jpg")
    sizes = [image_size(there[name]) for name in ids]
    if bad := [name for name, size in zip(ids, sizes, strict=True) if size is None]:
        message = f"{len(bad)} of {len(ids)} pictures in {pictures} have no header"
        raise refuse("OS917", message, count=len(bad), example=str(there[bad[0]]))
    size = np.array(sizes, np.float64).reshape(-1, 2)
    names = np.array([there[name].relative_to(root).as_posix() for name in ids], np.str_)
    images = replace(table.images, file_name=names, width=size[:, 0], height=size[:, 1])
    box = table.box * np.tile(size, 2)[table.image]
    return replace(table, images=images, box=box, area=box[:, 2] * box[:, 3])


def unsized(table: Annotations) -> bool:
    """Whether boxes are shares of images of 1 x 1."""
    width, height = table.images.width, table.images.height
    return bool(
        len(table.images)
        and width is not None
        and height is not None
        and (width == 1).all()
        and (height == 1).all()
    )


def without_sizes(manifest: dict[str, Any]) -> tuple[Finding, ...]:
    """A warning where images of a benchmark have no size."""
    names = [name for name, held in manifest["sources"].items() if held.get("unsized")]
    if not names:
        return ()
    message = f"images of {', '.join(names)} are 1 x 1: boxes are shares, not pixels"
    return (Finding("OS916", Level.WARNING, message, len(names)),)
