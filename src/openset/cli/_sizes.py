"""Sizes: whether the pictures of a folder can be those of a ground truth.

Two data sets may call their pictures alike. Boxes drawn on the wrong ones look like mistakes of the
detector, so that `report` and `draw` say what `run` says: pictures of another shape than stated,
and those that are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openset.cli._console import Output
from openset.files import ImageFolder
from openset.findings import Finding, Level
from openset.tables.names import file_names
from openset.tables.picture_sizes import PICTURES, Resized, resized_finding

if TYPE_CHECKING:
    from openset.tables import Detections, Images

MOST = 200  # pictures whose headers are read


def tell_other_shapes(images: Images, folder: Path, output: Output) -> None:
    """Say that pictures have another shape than the ground truth says; small ones are welcome."""
    stated = np.column_stack([np.asarray(images.width), np.asarray(images.height)])
    held, names = ImageFolder(folder), list(map(str, file_names(images)))
    rows = [at for at in spread(range(len(names))) if names[at] and (stated[at] > 0).all()]
    there = ((at, path) for at in rows if (path := held.find(names[at])) is not None)
    looked, resized, damaged = 0, list[Resized](), list[str]()
    for at, path in there:
        size = picture_size(path, stated[at].tolist())
        looked += 1
        if size is None:
            damaged.append(names[at])
            continue
        times = np.divide(size, stated[at])
        resized += [(names[at], float(times[0]), float(times[1]))] if (times != 1).any() else []
        if looked == MOST:
            break
    if resized and (said := resized_finding(resized, looked)).level is not Level.NOTE:
        output.report(said)
    if damaged:
        message = f"{len(damaged)} of {looked} pictures that were looked at cannot be decoded"
        output.report(Finding("OS393", Level.WARNING, message, len(damaged), damaged[0]))


def tell_other_pictures(found: Detections, images: Images, folder: Path, output: Output) -> None:
    """Say that pictures are not those that were detected on, though they have their size.

    Who runs a detector notes hashes of a few. Files of another size were made smaller for a page.
    """
    from openset.nets.pictures import prints

    rows = found.provenance.get(PICTURES)
    if not isinstance(rows, list):
        return
    noted = {str(id_): rest for id_, *rest in rows}
    held, other, looked = ImageFolder(folder), list[str](), 0
    for id_, name in zip(images.id.tolist(), map(str, file_names(images)), strict=True):
        path = held.find(name) if str(id_) in noted and name else None
        if path is None:
            continue
        seen, *size = noted[str(id_)]
        if picture_size(path, size) == tuple(size):
            looked += 1
            other += [name] if prints([path]).tolist() != [seen] else []
    if other:
        message = f"{len(other)} of {looked} pictures that were looked at are other files than "
        output.report(
            Finding("OS394", Level.WARNING, f"{message}were detected on", len(other), other[0])
        )


def spread(places: Sequence[int]) -> list[int]:
    """All places, each few of them from everywhere: a folder may hold some of the images alone."""
    step = max(1, len(places) // MOST)
    return [at for start in range(step) for at in places[start::step]]


def picture_size(path: Path, stated: Sequence[float] = ()) -> tuple[int, int] | None:
    """Width and height by the header of a file, if it is a picture; who draws it says if not."""
    from PIL import Image, UnidentifiedImageError

    from openset.formats.imagesize import as_stated

    try:
        with Image.open(path) as image:
            return as_stated(image, stated).size
    except (OSError, UnidentifiedImageError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
