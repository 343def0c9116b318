"""Checks of two sets: an OOD set holds nothing known, and detections are of both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case, image_name, share
from openset.tables.annotations import Annotations
from openset.tables.sets import ID, OOD, ood_images
from openset.tables.vocabulary import Role, Vocabulary
from openset.wording import spaced


def truth_sets(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """The finding that known objects are in the OOD set, or in it alone, if so."""
    ood = ood_images(truth.images)
    if ood is None or not len(truth):
        return
    known = np.array([vocabulary.role(label) is Role.KNOWN for label in truth.labels])
    of_known, of_ood = known[truth.label], ood[truth.image]
    rows = np.flatnonzero(of_known & of_ood)
    if len(rows):
        at, total = int(rows[0]), int(np.count_nonzero(of_ood))
        others = len(truth) - total
        exchanged = others > 0 and len(rows) == np.count_nonzero(of_known)
        none = f", and {share(0, others, 'of the ID set')}" if exchanged else ""
        yield Finding(
            "OS444",
            Level.ERROR if exchanged else Level.WARNING,
            f"{share(len(rows), total, 'objects')} of the OOD set are of known classes, on "
            f"{len(np.unique(truth.image[rows]))} images{none}",
            count=len(rows),
            example=f"image {image_name(truth, truth.image[at])}, "
            f"{truth.labels[truth.label[at]]!r}",
            cause="the two sets are exchanged" if exchanged else "",
            fix="give the ID set after --id, and the OOD set as the ground truth; "
            "force=True evaluates as it is"
            if exchanged
            else "",
        )


def detected_sets(case: Case) -> Iterator[Finding]:
    """The finding that a set has no detection at all, while the other has some.

    AP on such an ID set is 0, and means nothing. A cautious detector may be silent on a small OOD
    set, which is a result.
    """
    ood = ood_images(case.truth.images)
    if ood is None:
        return
    for which, of_set, level in ((ID, ~ood, Level.ERROR), (OOD, ood, Level.WARNING)):
        if of_set.any() and not case.per_image[:-1][of_set].any():
            count, name = int(np.count_nonzero(of_set)), which.upper()
            yield Finding(
                "OS402",
                level,
                f"0 detections for the {spaced(count)} images of the {name} set",
                count=0,
                example=f"image {image_name(case.truth, int(np.argmax(of_set)))}",
                cause="the file of the other set was given alone",
                fix="give a file for both sets, or one for each: NAME=ID_FILE+OOD_FILE",
            )
