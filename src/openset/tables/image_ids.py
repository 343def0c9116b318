"""Image ids: what the image of a detection is called by, if not by the ids of the ground truth.

Detectors write the place of an image in a list, the number in its file name, or an id that is one
off. Such numbers are often ids as well, of other images: they join, and every box is wrong. So they
are read only as asked for; `check` says which reading fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.plugins import lookup
from openset.tables.annotations import Annotations, Images
from openset.tables.columns import positions
from openset.tables.detections import Detections
from openset.tables.join import join_images, join_names
from openset.tables.paths import stem_of

Ids = NDArray[Any]
Rows = NDArray[np.int32]
_UPLOAD = re.compile(r"^[0-9a-f]{8}-")
# What Roboflow puts behind a name: its suffix, a hash of the version, and the suffix again.
_EXPORT = re.compile(
    r"([_.](jpe?g|png|bmp|webp|tiff?))?\.rf\.[0-9A-Za-z]{16,}(\.\w+)?$", re.IGNORECASE
)


def _whole(ids: Ids) -> NDArray[np.int64]:
    """Ids as whole numbers, -1 (which is in no list) where they are none."""
    if ids.dtype.kind == "i":
        return ids.astype(np.int64)
    return np.array([int(text) if _is_number(text) else -1 for text in ids.tolist()], np.int64)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _place(order: Callable[[Images], NDArray[np.intp]], start: int) -> Callable[..., Rows]:
    """Ids are places in a list of the images, counted from `start`."""

    def rows(truth: Annotations, ids: Ids) -> Rows:
        at, images = _whole(ids), order(truth.images)
        inside = (at >= start) & (at < len(images) + start)
        return np.where(inside, np.append(images, -1)[np.where(inside, at - start, -1)], -1).astype(
            np.int32
        )

    return rows


def _moved(by: int) -> Callable[..., Rows]:
    def rows(truth: Annotations, ids: Ids) -> Rows:
        return positions(truth.images.id, _whole(ids) + by)

    return rows


def _by_number(truth: Annotations, ids: Ids) -> Rows:
    """Ids are the last numbers in file names: 139, or 139.png, is 000000000139.jpg."""
    given = _whole(ids) if ids.dtype.kind == "i" else _last_numbers(ids)
    rows = _distinct(_last_numbers(_names(truth.images)), given)
    return np.where(given < 0, np.int32(-1), rows)


def _last_numbers(names: Ids) -> NDArray[np.int64]:
    """The last number in each file name, -1 where there is none."""
    found = [re.findall(r"[0-9]{1,18}", stem) for stem in _stems(names)]
    return np.array([int(one[-1]) if one else -1 for one in found], np.int64)


def _by_stem(truth: Annotations, ids: Ids) -> Rows:
    """Ids are file names in another folder, or with another suffix."""
    stems = np.array(_stems(_names(truth.images)), np.str_)
    return _distinct(stems, np.array(_stems(ids.astype(str)), np.str_))


def _by_upload(truth: Annotations, ids: Ids) -> Rows:
    """Ids are file names before Label Studio put eight digits and a dash before them."""
    names, given = (_stems(one) for one in (_names(truth.images), ids.astype(str)))
    stored = np.array([_UPLOAD.sub("", name) for name in names], np.str_)
    return _distinct(stored, np.array([_UPLOAD.sub("", name) for name in given], np.str_))


def _by_export(truth: Annotations, ids: Ids) -> Rows:
    """Ids are file names before Roboflow exported them: dog.jpg is dog_jpg.rf.HASH.jpg."""
    columns = (_names(truth.images), ids.astype(str))
    stored, given = (np.array([*map(_exported, one.tolist())], np.str_) for one in columns)
    return _distinct(stored, given)


def _exported(name: str) -> str:
    plain = _EXPORT.sub("", name)
    return stem_of(name) if plain == name else plain.rpartition("/")[2]


def _distinct(table: Ids, values: Ids) -> Rows:
    """Where values are in a table, or nowhere if it has one twice."""
    twice = len(np.unique(table)) < len(table)
    return np.full(len(values), -1, np.int32) if twice else positions(table, values)


def _names(images: Images) -> Ids:
    return images.id.astype(str) if images.file_name is None else images.file_name


def _stems(names: Ids) -> list[str]:
    return [stem_of(name) for name in names.tolist()]


def _by_name(images: Images) -> NDArray[np.intp]:
    return np.argsort(_names(images), kind="stable")


READINGS: dict[str, Callable[[Annotations, Ids], Rows]] = {
    "id": join_images,
    "name": join_names,
    "stem": _by_stem,
    "upload": _by_upload,
    "roboflow": _by_export,
    "number": _by_number,
    "index": _place(lambda images: np.arange(len(images)), 0),
    "index-1": _place(lambda images: np.arange(len(images)), 1),
    "index-by-name": _place(_by_name, 0),
    "index-by-name-1": _place(_by_name, 1),
    "index-by-id": _place(lambda images: np.argsort(images.id, kind="stable"), 0),
    "index-by-id-1": _place(lambda images: np.argsort(images.id, kind="stable"), 1),
    "plus-1": _moved(1),
    "minus-1": _moved(-1),
}
MEANING = {
    "id": "ids of images",
    "name": "file names of images",
    "stem": "file names of images, with another folder or suffix",
    "upload": "file names of images, before Label Studio stored them",
    "roboflow": "file names of images, before Roboflow exported them",
    "number": "numbers in file names",
    "index": "places of images in the ground truth, from 0",
    "index-1": "places of images in the ground truth, from 1",
    "index-by-name": "places of images sorted by file name, from 0",
    "index-by-name-1": "places of images sorted by file name, from 1",
    "index-by-id": "places of images sorted by id, from 0",
    "index-by-id-1": "places of images sorted by id, from 1",
    "plus-1": "ids of images, one too small",
    "minus-1": "ids of images, one too large",
}


def with_image_ids(detections: Detections, truth: Annotations, reading: str) -> Detections:
    """Detections under the ids of the ground truth; those that have no image there keep theirs."""
    rows_of = lookup(READINGS, reading, "reading of image ids")
    if reading == "id" or not len(detections) or not len(truth.images):
        return detections
    rows = rows_of(truth, detections.image)
    absent = rows < 0
    image = truth.images.id[rows]
    if absent.any():  # words, so that no number joins by chance
        image = image.astype(str).astype(object)
        image[absent] = [f"{reading} {one}" for one in detections.image[absent].tolist()]
        image = image.astype(str)
    return replace(detections, image=image)
