"""Pictures of another size than the ground truth says: boxes are scaled to what it says.

Objects of other packages say how large a picture was that a detector saw; their readers keep it in
two columns, and here boxes become those of the image as it was annotated. Not a guess: a file that
does not say a size is left as it is, and `check` says what would fit better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from openset.findings import Finding, Level
from openset.options import is_of
from openset.tables.annotations import Annotations
from openset.tables.boxes import sizes
from openset.tables.detections import Detections
from openset.tables.image_ids import with_image_ids
from openset.tables.join import join_images

COLUMNS = ("picture_width", "picture_height")
PICTURES = "pictures"  # of a provenance: what `some_pictures` were run on
_NOTED = 16  # pictures of another data set differ in the first
_SHAPE = 0.02  # of its shape, what rounding may change when a picture is resized
_LYING = (
    "width and height are exchanged in the ground truth; or pictures were turned, and their EXIF "
    "tags lost, after they were annotated",
    "exchange width and height of these images, or turn the pictures back",
)
Resized = tuple[str, float, float]  # a picture, how many times it is as wide, and as high


def at_stated_size(
    detections: Detections, truth: Annotations, image_ids: str = "id"
) -> tuple[Detections, list[Finding]]:
    """Boxes in pixels of images of the size that the ground truth says, and what was scaled.

    >>> from openset.tables import Images
    >>> truth = Annotations(Images(["a"], None, [640], [480]), ("dog",), [0], [0], [[0, 0, 9, 9]])
    >>> seen = dict(zip(COLUMNS, ([320.0], [240.0])))
    >>> found = Detections(["a"], [0], [[10, 20, 30, 40]], [0.9], ("dog",), attributes=seen)
    >>> scaled, said = at_stated_size(found, truth)
    >>> scaled.box.tolist(), said[0].code
    ([[20.0, 40.0, 60.0, 80.0]], 'OS342')
    """
    if not set(COLUMNS) <= detections.attributes.keys() or not len(detections):
        return detections, _of_other_shapes(detections)
    rows = join_images(truth, with_image_ids(detections, truth, image_ids).image)
    stated = sizes(truth, rows)
    seen = np.column_stack([detections.attributes[name] for name in COLUMNS]).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        times = np.where((stated > 0) & (seen > 0), seen / stated, 1.0)
    other = np.flatnonzero((times != 1).any(axis=1))
    if not len(other):
        return detections, []
    first = other[np.unique(rows[other], return_index=True)[1]].tolist()
    resized = [(f"image {detections.image[row]}", *times[row].tolist()) for row in first]
    images = len(np.unique(rows[rows >= 0]))
    scaled = replace(detections, box=detections.box / np.tile(times, 2))
    return scaled, [resized_finding(resized, images)]


def resized_finding(resized: Sequence[Resized], images: int) -> Finding:
    """That boxes were scaled; a warning where that cannot have been enough."""
    # A turned or cropped picture has another shape, and its boxes lie elsewhere.
    bent = [one for one in resized if abs(one[1] / one[2] - 1) > _SHAPE]
    name, wide, high = (bent or resized)[0]
    said = f"{len(resized)} of {images} pictures are of another size than the "
    said += "ground truth says, and boxes were scaled from the one to the other"
    said += f"; {len(bent)} also have another shape" if bent else ""
    example = f"{name} is {wide:.3g} times as wide and {high:.3g} times as high"
    level = Level.WARNING if bent else Level.NOTE
    lie = bool(bent) and all(abs(one[1] * one[2] - 1) <= _SHAPE for one in bent)
    cause, fix = _LYING if lie else ("", "")
    return Finding("OS342", level, said, len(resized), example, cause, fix)


def _of_other_shapes(detections: Detections) -> list[Finding]:
    """What `openset run` noted of pictures that it saw, if boxes on them may lie elsewhere."""
    noted, images = (detections.provenance.get(key) for key in ("resized_images", "images"))
    if not isinstance(noted, list | tuple) or not noted or not isinstance(images, int):
        return []
    if not all(map(_is_resized, noted)):  # a file may state anything
        return []
    found = resized_finding(noted, images)
    return [] if found.level is Level.NOTE else [found]


def _is_resized(one: Any) -> bool:
    named = isinstance(one, list | tuple) and len(one) == 3 and isinstance(one[0], str)
    return named and is_of(one[1:], Sequence[float]) and min(one[1:]) > 0


def some_pictures(noted: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """A few of the pictures that were noted, by their ids: the same however many share the work.

    Args:
        noted: Id as text, hash of the file, width and height of each.
    """
    chosen = {row[0]: [*row] for row in noted}
    places = sorted(chosen, key=lambda id_: (crc32(id_.encode(errors="replace")), id_))
    return [chosen[id_] for id_ in places[:_NOTED]]
