"""Advice: boxes that may be objects, of any class or none, on the images of a training.

What the proposal advisor of RE-OWOD is (Zhao et al., 2022): Selective Search there, but any table
of boxes will do: what `openset run` wrote of a detector, someone's segments, a ground truth (an
oracle, which the ledger then says). Like those of objects, boxes are in pixels of images of the
sizes that the ground truth says. They are flipped, cut and scaled with their image; in the release
they are not flipped.

Not taught objects: what becomes of them a method decides (`openset.methods`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.formats import read
from openset.tables import Annotations
from openset.training.data import CornerBoxes, TrainingData, _by_image, _corners

ORACLE = "advised by a ground truth"
_SLACK = 2.0  # pixels by which a box may leave its image: rounding, and other conventions


class Advisor(NamedTuple):
    """A table of boxes, and what is taken of it.

    Attributes:
        file: Detections, or a ground truth.
        most: Boxes of an image: those with the largest objectness, or score; of a ground truth, or
            of equal scores, the first.
        area: Boxes that cover this share of their image, or more, are left out.
        without: Whether images that the table does not know are refused, or have no advice.
    """

    file: str
    most: int = 50
    area: float = 0.8
    without: Literal["refuse", "accept"] = "refuse"


def advised(data: TrainingData, advisor: Advisor) -> TrainingData:
    """Training data with the boxes of an advisor.

    Raises:
        InputError: The file cannot be read, does not know images, or has boxes beyond them.
    """
    table = read(Path(advisor.file))
    if isinstance(table, Annotations):
        ids, known = table.images.id[table.image], table.images.id
        rank = np.zeros(len(table.box))
    else:
        ids = known = table.image
        rank = -np.asarray(table.attributes.get("objectness", table.score), np.float64)
    _refuse_unknown_images(data, known, advisor)
    rows = np.flatnonzero(np.isfinite(table.box).all(axis=1) & (table.box[:, 2:] > 0).all(axis=1))
    rows = rows[np.argsort(rank[rows], kind="stable")]
    place = {one: at for at, one in enumerate(data.files.id.tolist())}
    owner = np.array([place.get(one, -1) for one in ids.tolist()], np.int64)
    parts = _by_image(owner, rows, np.arange(len(data)))
    boxes = [_corners(table.box[part[: advisor.most]]) for part in parts]
    kept = _checked(data, boxes, advisor)
    leaks = (ORACLE,) if isinstance(table, Annotations) else ()
    return replace(data, advised=tuple(kept), leaks=(*data.leaks, *leaks))


def _refuse_unknown_images(data: TrainingData, known: NDArray[np.generic], by: Advisor) -> None:
    there = set(known.tolist())
    lacking = [one for one in data.files.id.tolist() if one not in there]
    if lacking and (by.without == "refuse" or len(lacking) == len(data)):
        message = f"{by.file} has no boxes for {len(lacking)} of {len(data)} training images"
        raise refuse("OS672", message, count=len(lacking), example=f"image {lacking[0]}")


def _checked(data: TrainingData, boxes: list[CornerBoxes], advisor: Advisor) -> list[CornerBoxes]:
    """Boxes that lie on their images and do not fill them; refused where they lie elsewhere."""
    kept, beyond, first = [], 0, ""
    for at, (box, id_) in enumerate(zip(boxes, data.files.id.tolist(), strict=True)):
        size = _size(data, at) if len(box) else None
        if size is None:  # that it cannot be read is said when it is decoded
            kept.append(box)
            continue
        side = np.array([*size, *size], np.float32)
        out = ((box < -_SLACK) | (box > side + _SLACK)).any(axis=1)
        beyond += int(out.sum())
        if out.any() and not first:
            first = f"image {id_}, {size[0]:g} x {size[1]:g} pixels: {_text(box[out][0])}"
        box = np.clip(box, 0, side)
        share = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1]) / (size[0] * size[1])
        kept.append(box[(share > 0) & (share < advisor.area)])
    if beyond:
        message = f"{beyond} of {sum(map(len, boxes))} boxes of {advisor.file} leave their image"
        raise refuse("OS673", message, count=beyond, example=first)
    return kept


def _size(data: TrainingData, at: int) -> list[float] | None:
    """Width and height of an image as stated, or else as they are; None if neither is known."""
    actual = data.files.actual(at)
    if actual is None:
        return None
    size: list[float] = (data.files.stated(at, actual) * actual).tolist()
    return size


def _text(box: NDArray[np.float32]) -> str:
    return "x1, y1, x2, y2 = " + ", ".join(f"{edge:g}" for edge in box.tolist())
