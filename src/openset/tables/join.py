"""Join: which image and which class of the ground truth each detection speaks of.

Image ids join by id, or else by file name or its stem, because detectors write either. Labels join
by category id (COCO results) or by name and synonym (everything else). What does not join is kept
and marked, so that `check` can say it and matching can leave it out.
"""

from __future__ import annotations

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
    if truth.images.file_name is None or len(ids) == 0 or found.max(initial=-1) >= 0:
        return found
    return join_names(truth, ids)


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
