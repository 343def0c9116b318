"""Names: what formats without ids need from the ground truth (label names, file stems, sizes)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.refusals import dangling, needs_sizes
from openset.tables import Annotations, Detections, Images
from openset.tables.columns import positions
from openset.tables.join import join_images
from openset.tables.paths import stem_of
from openset.tables.vocabulary import normal

MARKS = 256  # of a set of images, by which it is known again
_SUFFIX = re.compile(r"\.(jpe?g|png|bmp|webp|tiff?)$", re.IGNORECASE)


_OF_ANOTHER = (
    "the ground truth is that of another data set or split, or lacks a part of it",
    "give the ground truth that these detections belong to, with all images and classes",
)


def category_ids(table: Detections, truth: Annotations | None) -> NDArray[np.int64]:
    """The category id of every detection; names are looked up in `truth`."""
    if not table.labels:
        return table.label
    if truth is None:
        raise UsageError("these detections name their labels: pass truth= to find category ids")
    known = {normal(name): index for index, name in enumerate(truth.labels)}
    index = np.array([known.get(normal(name), -1) for name in table.labels], np.int64)[table.label]
    _refuse_absent(index, np.array(table.labels)[table.label])
    assert truth.category_id is not None
    return truth.category_id[index]


def named(table: Detections, truth: Annotations | None) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Names of labels, and the index of every detection's name."""
    if table.labels:
        return table.labels, table.label
    if truth is None:
        raise UsageError("these detections have category ids: pass truth= to find their names")
    if not truth.numbered:
        raise UsageError("these detections have category ids, and the ground truth names alone")
    assert truth.category_id is not None
    index = positions(truth.category_id, table.label)
    _refuse_absent(index, table.label)
    return truth.labels, index


def _refuse_absent(index: NDArray[Any], values: NDArray[Any]) -> None:
    rows = np.flatnonzero(index < 0)
    if len(rows):
        row = int(rows[0])
        first = values[row].item()
        raise dangling("the detections", "label", first, row, len(rows), *_OF_ANOTHER)


def stems(images: Images) -> list[str]:
    """A name for a file about each image: its file-name stem where that is distinct, else its id.

    >>> stems(Images(np.array([7, 8]), np.array(["a/x.jpg", "a/y.jpg"])))
    ['x', 'y']
    """
    if images.file_name is not None:
        names = [stem_of(str(name)) for name in images.file_name]
        if all(names) and len(set(names)) == len(names):
            return names
    return [str(value) for value in images.id.tolist()]


def name_marks(names: Iterable[str]) -> list[str]:
    """Marks of images by their names, whatever folder and suffix: equal for the same images.

    >>> name_marks(["a/X.jpg"]) == name_marks(["x"]) != name_marks(["y"])
    True
    """
    plain = {_SUFFIX.sub("", name.rpartition("/")[2]).casefold() for name in names if name}
    return sorted(sha256(name.encode()).hexdigest()[:12] for name in plain)


def file_names(images: Images) -> list[str]:
    """One file name per image, empty where unknown."""
    names = images.file_name
    return [""] * len(images) if names is None else [str(name) for name in names]


def detection_images(
    table: Detections, truth: Annotations | None
) -> tuple[list[str], NDArray[np.int32]]:
    """Stems of the images of the detections, and the index of every detection's image.

    Images of `truth` come first, as its writer would name them; others are named by their id.
    """
    names = [] if truth is None else stems(truth.images)
    index = np.full(len(table), -1, np.int32)
    if truth is not None:
        index = join_images(truth, table.image).astype(np.int32)
    absent = index < 0
    others, inverse = np.unique(table.image[absent], return_inverse=True)
    index[absent] = inverse + len(names)
    return names + [str(value) for value in others.tolist()], index


def sizes_by_name(images: Images) -> dict[str, tuple[float, float]]:
    """Width and height of every image of known size, by its id and by the stem of its file name.

    >>> sizes_by_name(Images(np.array([7]), np.array(["x.jpg"]), [640.0], [480.0]))
    {'7': (640.0, 480.0), 'x': (640.0, 480.0)}
    """
    assert images.width is not None
    assert images.height is not None
    sizes = list(zip(images.width.tolist(), images.height.tolist(), strict=True))
    names = (map(str, images.id.tolist()), stems(images))
    return {
        name: size
        for column in names
        for name, size in zip(column, sizes, strict=True)
        if min(size) > 0
    }


def sizes_of(images: Images, where: str) -> NDArray[np.float64]:
    """Width and height of every image, refused where unknown."""
    assert images.width is not None
    assert images.height is not None
    sizes = np.stack([images.width, images.height], axis=1)
    rows = np.flatnonzero(~(sizes > 0).all(axis=1))
    if len(rows):
        raise needs_sizes(where, len(rows), images.id[rows[0]].item())
    return sizes


def sizes_for(table: Detections, truth: Annotations | None, where: str) -> NDArray[np.float64]:
    """Width and height of the image of every detection."""
    if len(table) == 0:
        return np.empty((0, 2))
    if truth is None:
        raise needs_sizes(where, len(np.unique(table.image)), table.image[0].item())
    index = join_images(truth, table.image)
    rows = np.flatnonzero(index < 0)
    if len(rows):
        row = int(rows[0])
        first = table.image[row].item()
        raise dangling("the detections", "image", first, row, len(rows), *_OF_ANOTHER)
    return sizes_of(truth.images, where)[index]
