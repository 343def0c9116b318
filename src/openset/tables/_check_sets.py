"""Checks of two sets: an OOD set holds nothing known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import image_name, share
from openset.tables.annotations import Annotations
from openset.tables.sets import ood_images
from openset.tables.vocabulary import Role, Vocabulary


def truth_sets(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """The finding that known objects are in the OOD set, if so."""
    ood = ood_images(truth.images)
    if ood is None or not len(truth):
        return
    known = np.array([vocabulary.role(label) is Role.KNOWN for label in truth.labels])
    rows = np.flatnonzero(known[truth.label] & ood[truth.image])
    if len(rows):
        at, total = int(rows[0]), int(np.count_nonzero(ood[truth.image]))
        yield Finding(
            "OS444",
            Level.WARNING,
            f"{share(len(rows), total, 'objects')} of the OOD set are of known classes, on "
            f"{len(np.unique(truth.image[rows]))} images",
            count=len(rows),
            example=f"image {image_name(truth, truth.image[at])}, "
            f"{truth.labels[truth.label[at]]!r}",
        )
