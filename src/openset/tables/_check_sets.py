"""Checks of two sets: an OOD set holds nothing known, detections are of both, and cut alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, image_name, share
from openset.tables.annotations import Annotations
from openset.tables.sets import ID, OOD, ood_images
from openset.tables.vocabulary import Role, Vocabulary
from openset.wording import spaced

_NEAR, _FALLS, _PART = 20, 0.5, 0.01  # see `_cut_apart`
_UNLIKELY = np.log(1e-6)


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
    yield from _cut_apart(case, ood)
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


def _cut_apart(case: Case, ood: NDArray[np.bool_]) -> Iterator[Finding]:
    """The finding that the detections of one set begin at a higher score than those of the other.

    Where a file was cut, detections are as many just above the lowest score as a detector has
    below it. So it takes some (20) within the width that is missing, and in the other set half as
    many just below that score as just above; and a hundredth of its detections, which AUROC feels.
    Of a cautious detector on a small OOD set fewer are left: see `_none_below`.
    """
    inside = case.joined.image >= 0
    of_ood = ood[np.maximum(case.joined.image, 0)]
    score = case.detections.score
    rows = {ID: inside & ~of_ood, OOD: inside & of_ood}
    if not all(one.any() for one in rows.values()) or not np.isfinite(score[inside]).all():
        return
    low = {which: float(score[one].min()) for which, one in rows.items()}
    high, other = (ID, OOD) if low[ID] > low[OOD] else (OOD, ID)
    at = low[high]
    ours, theirs = score[rows[high]], score[rows[other]]
    width = min(at - low[other], float(ours.max()) - at)
    near = np.count_nonzero(ours < at + width)
    above = np.count_nonzero((theirs >= at) & (theirs < at + width))
    below = np.count_nonzero((theirs < at) & (theirs >= at - width))
    missing = int(np.count_nonzero(theirs < at))
    if below < max(_FALLS * above, 1) or missing < _PART * len(theirs):
        return
    images = [case.joined.image[rows[which]] for which in (high, other)]
    if near < _NEAR and not _none_below(at, images, theirs):
        return
    first = int(np.flatnonzero(rows[other])[theirs.argmin()])
    yield Finding(
        "OS463",
        Level.WARNING,
        f"detections of the {high.upper()} set begin at a score of {at:.4g}, those of the "
        f"{other.upper()} set at {low[other]:.4g}: {share(missing, len(theirs), 'of these')} are "
        "below, and AUROC, FPR95 and what else compares the sets measure the cut",
        count=missing,
        example=f"{case.where(first)}, score {low[other]:.4g}",
        fix=f"minimum_score={_floor(at):g} cuts both alike; or export both from the same low score",
    )


def _none_below(at: float, images: list[NDArray[np.int32]], theirs: NDArray[np.float64]) -> bool:
    """Whether chance gives so few detections no lower score, drawn as those of the other set are.

    Boxes of one image resemble each other, so it must be unlikely of as many images, too: of
    theirs, some have nothing below.
    """
    ours, others = images
    lows = np.full(int(others.max()) + 1, np.inf)
    np.minimum.at(lows, others, theirs)
    lows = lows[np.isfinite(lows)]
    unlikely = [
        count * np.log((np.count_nonzero(scores >= at) + 1) / (len(scores) + 1)) < _UNLIKELY
        for count, scores in ((len(ours), theirs), (len(np.unique(ours)), lows))
    ]
    return all(unlikely)


def _floor(score: float) -> float:
    """A score to four digits, not above it."""
    digits = 4 - int(np.ceil(np.log10(score))) if score > 0 else 4
    return float(np.floor(score * 10.0**digits) / 10.0**digits)
