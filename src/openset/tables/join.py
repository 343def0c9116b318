"""Join: which image and which class of the ground truth each detection speaks of.

Image ids join by id, or else by file name or its stem, because detectors write either. Labels join
by category id (COCO results) or by name and synonym (everything else). What does not join is kept
and marked, so that `check` can say it and matching can leave it out.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.tables.annotations import Annotations
from openset.tables.columns import positions
from openset.tables.detections import Detections
from openset.tables.paths import name_of, stem_of
from openset.tables.vocabulary import Vocabulary, is_unknown_spelling

Leaked = Literal["unknown", "drop"]  # what becomes of detections that are `Joined.leaked`
IGNORED = -1
ABSENT = -2


class Joined(NamedTuple):
    """Where detections belong.

    Attributes:
        image: Index into the images of the ground truth, -1 when the image is not there.
        klass: Class index (see `Vocabulary.classes`), `IGNORED`, or `ABSENT` when the ground truth
            has no such label.
        leaked: The label names a class that is unknown here: the detector was taught it.
    """

    image: NDArray[np.int32]
    klass: NDArray[np.int32]
    leaked: NDArray[np.bool_]

    def select(self, rows: NDArray[Any]) -> Joined:
        """Where only the given detections belong (a mask or indices)."""
        return Joined(self.image[rows], self.klass[rows], self.leaked[rows])


def join(truth: Annotations, detections: Detections, vocabulary: Vocabulary) -> Joined:
    """Find the image and the class of every detection."""
    classes = label_classes(truth, detections, vocabulary)
    labels = detections.labels or truth.labels
    named = np.array([not is_unknown_spelling(label) for label in labels] + [False])
    leaks = named & (classes == len(vocabulary.known))
    label = label_places(truth, detections, detections.label)
    leaked = leaks[label] if leaks.any() else np.zeros(len(detections), np.bool_)
    return Joined(join_images(truth, detections.image), classes[label], leaked)


def label_classes(
    truth: Annotations, detections: Detections, vocabulary: Vocabulary
) -> NDArray[np.int32]:
    """The class of each label that detections may have; a last entry for those of none."""
    labels = detections.labels or truth.labels
    return np.append(vocabulary.classes(labels), ABSENT).astype(np.int32)


def label_places(
    truth: Annotations, detections: Detections, label: NDArray[np.int64]
) -> NDArray[np.integer]:
    """Where labels of detections are in `label_classes`."""
    if detections.labels:
        return label
    assert truth.category_id is not None
    return positions(truth.category_id, label)


def join_images(truth: Annotations, ids: NDArray[np.generic]) -> NDArray[np.int32]:
    """Index of each image id in the ground truth: by id, else by path, file name or its stem."""
    found = positions(truth.images.id, ids)
    if len(ids) == 0 or found.max(initial=-1) >= 0:
        return found
    for reading in (join_names, _join_floats, _join_paths):
        found = reading(truth, ids)
        if found.max() >= 0:
            break
    return found


def _join_floats(truth: Annotations, ids: NDArray[np.generic]) -> NDArray[np.int32]:
    """The same where whole numbers are written as 285.0, as data frames with gaps write them."""
    values, at = np.unique(ids, return_inverse=True)
    texts = [str(one) for one in values.tolist()] if values.dtype.kind == "U" else [""]
    if not all(text.endswith(".0") for text in texts):
        return np.full(len(ids), -1, np.int32)
    whole = np.array([text.removesuffix(".0") for text in texts])
    return positions(truth.images.id, whole)[at]


def _join_paths(truth: Annotations, ids: NDArray[np.generic]) -> NDArray[np.int32]:
    """The same by name or stem of paths of elsewhere, if all of them are one image each.

    Ids of the ground truth are names as well where they are text. If it has folders itself, they
    may tell images apart, and nothing is read.
    """
    none = np.full(len(ids), -1, np.int32)
    values, at = np.unique(ids, return_inverse=True)
    if values.dtype.kind != "U":
        return none
    tables = [one for one in (truth.images.file_name, truth.images.id) if one is not None]
    plain = [t.tolist() for t in tables if t.dtype.kind == "U" and name_of(str(t[0])) == str(t[0])]
    for names, of in product(plain, (name_of, stem_of)):
        key, given = ([of(one) for one in some] for some in (names, values.tolist()))
        if len(set(key)) == len(key) and len(set(given)) == len(given):
            rows = positions(np.array(key), np.array(given))
            if rows.min() >= 0:
                return rows[at]
    return none


def join_names(truth: Annotations, ids: NDArray[np.generic]) -> NDArray[np.int32]:
    """Index of each image in the ground truth by its path, file name or stem."""
    names = truth.images.file_name
    found = np.full(len(ids), -1, np.int32)
    if names is None or len(ids) == 0:
        return found
    text = ids.astype(str)
    for of in (str, name_of, stem_of):
        key = np.array([of(name) for name in names.tolist()])
        if len(np.unique(key)) == len(key):
            found = positions(key, text)
            if found.max() >= 0:
                return found
    return found
