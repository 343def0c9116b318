"""Check that no object is in the ground truth as known and as unknown.

Pseudo labels, and detectors of anything, find known objects as well: added to a ground truth as
"unknown", they make every right box on a known object an open-set error, too. Open Images has its
classes' super-classes around the same object, which are as unknown here as they are listed to be.

Not objects twice under one label (`_check_twice`), and not boxes that a detector says twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import all_of, object_at, of_some_images, share
from openset.tables._look import among_its_own
from openset.tables._pairs import pairs
from openset.tables.annotations import Annotations
from openset.tables.overlap import iou_of_pairs
from openset.tables.vocabulary import Vocabulary
from openset.wording import some

_SAME = 0.9  # IoU of two boxes around one object
_FEWEST, _PART = 3, 0.02  # known objects, and their share, as of objects that are there twice
_OF_AN_IMAGE = 100  # objects that are looked at


def known_as_unknown(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """The finding that known objects are there again as unknown, or none."""
    classes, k = vocabulary.classes(truth.labels), len(vocabulary.known)
    if not len(truth) or not ((classes >= 0) & (classes < k)).any() or not (classes == k).any():
        return
    klass = classes[truth.label]
    per_image = np.bincount(truth.image)
    rows = of_some_images(truth.image, per_image, per_image > 0)
    assert truth.crowd is not None
    rows = rows[
        ~truth.crowd[rows] & all_of(truth.box.take(rows, axis=0)[:, 2:] > 0) & (klass[rows] >= 0)
    ]
    rows = rows[np.argsort(truth.image[rows], kind="stable")]
    rows = rows[among_its_own(truth.image[rows].astype(np.int64)) < _OF_AN_IMAGE]
    one, other = (rows[at] for at in pairs(truth.image[rows].astype(np.int64)))
    apart = (klass[one] == k) != (klass[other] == k)
    one, other = one[apart], other[apart]
    same = iou_of_pairs(truth.box.take(one, axis=0), truth.box.take(other, axis=0)) >= _SAME
    one, other = one[same], other[same]
    first_known = klass[one] < k
    known, unknown = np.where(first_known, one, other), np.where(first_known, other, one)
    total = int(np.count_nonzero(klass[rows] < k))
    twice, at = np.unique(known, return_index=True)
    if len(twice) < max(_FEWEST, _PART * total):
        return
    names = some(truth.labels[label] for label in np.unique(truth.label[unknown]))
    noun = "known objects" if len(rows) == len(truth) else "known objects examined"
    row, again = int(twice[0]), int(unknown[at[0]])
    assert truth.id is not None
    yield Finding(
        "OS348",
        Level.WARNING,
        f"{share(len(twice), total, noun)} have the box of an unknown object ({names}), or nearly "
        "so",
        count=len(twice),
        example=f"{object_at(truth, row)}, {truth.labels[truth.label[row]]!r}; annotation id "
        f"{truth.id[again]}, {truth.labels[truth.label[again]]!r}",
    )
