"""Detections to fit on that are those to score, whatever file, images and split are called.

Rows are held against rows: box and score, and the evidence itself where both have it. Image ids
count for nothing, since another export numbers images anew, and every data set has an image 1.

Not the names of splits (`openset.scorers.ledger`), which say what somebody has said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables import Detections

_LEAST = 10
_SHARE = 0.05
_OF_AN_IMAGE = 0.25  # rounding parts fewer rows of one photograph than that leaves
_CLOSE = 1e-2  # of the largest number: another device or half precision
_ODD = np.uint64(0x9E3779B97F4A7C15)  # splitmix64's


def shown_again(scored: Detections, fitted_on: Detections, where: str) -> Finding | None:
    """OS505, if rows to fit on are rows that are scored: the same box, score and evidence.

    Less than a twentieth, photographs that are in both splits, is a warning.
    """
    ours, theirs = _same_rows(scored, fitted_on)
    if len(theirs) < _LEAST:
        return None
    # Of the smaller: a few parts of what is scored, or a sample of the test images, tell as well.
    least = min(len(fitted_on), int((scored.score >= fitted_on.score.min()).sum()))
    level = Level.ERROR if len(theirs) >= max(_SHARE * least, _LEAST) else Level.WARNING
    if level is Level.WARNING:
        whole = _of_whole_images(scored, fitted_on, ours, theirs)
        ours, theirs = ours[whole], theirs[whole]
    if len(theirs) < _LEAST:
        return None
    shown = f"{len(theirs):,} of {len(fitted_on):,} detections of {where} are among those to score"
    box = ", ".join(f"{x:.1f}" for x in fitted_on.box[theirs[0]])
    first = f"image {fitted_on.image[theirs[0]]}, box [{box}], is on image {scored.image[ours[0]]}"
    cause = "the same images were run under another name of the split"
    if level is Level.WARNING:
        cause = "some photographs are in both splits"
    return Finding(
        "OS505",
        level,
        f"{shown}: the same boxes, scores and evidence",
        len(theirs),
        first,
        cause,
        "fit on training images and calibrate on held-out ones: run the detector on these; "
        "--force fits all the same, and the ledger says so",
    )


def _same_rows(one: Detections, other: Detections) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of both that have the same box and score, and close evidence; different ones only."""
    keys, more = _keys(one), _keys(other)
    _, ours, theirs = np.intersect1d(keys, more, return_indices=True)
    for name in ("embedding", "logits"):
        a, b = getattr(one, name), getattr(other, name)
        if a is not None and b is not None and a.shape[1:] == b.shape[1:]:
            a, b = a[ours], b[theirs]
            # The values of one row are on one scale.
            apart = np.abs(a - b).max(axis=1, initial=0)
            same = apart <= _CLOSE * np.abs(a).max(axis=1, initial=0)
            ours, theirs = ours[same], theirs[same]
    # Detectors that were hardly trained say the same of any image, to the digits compared: of them
    # only what is the same to the last bit tells. Those of one score on a grid say that, too.
    if _few(_thousandths(one.score[ours])):
        same = (one.score[ours] == other.score[theirs]) & (one.box[ours] == other.box[theirs]).all(
            1
        )
        ours, theirs = ours[same], theirs[same]
        if _few(one.score[ours]):
            ours, theirs = ours[:0], theirs[:0]
    return ours, theirs


def _few(values: NDArray[np.floating]) -> bool:
    """Whether hardly any of these rows differ."""
    return len(np.unique(values)) < min(_LEAST, len(values))


def _of_whole_images(
    one: Detections, other: Detections, ours: NDArray[np.int64], theirs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which of these rows are on images that have many of their rows in common.

    A detector at the start of its training says nearly the same of any dull place: rows of many
    images then meet by chance, one here and one there. A photograph brings most of its rows along.
    """
    _, mine, sizes = np.unique(one.image, return_inverse=True, return_counts=True)
    _, yours, others = np.unique(other.image, return_inverse=True, return_counts=True)
    mine, yours = mine[ours], yours[theirs]
    _, pair, shared = np.unique(mine * len(others) + yours, return_inverse=True, return_counts=True)
    return shared[pair] >= _OF_AN_IMAGE * np.minimum(sizes[mine], others[yours])


def _keys(found: Detections) -> NDArray[np.uint64]:
    """Box to a tenth of a pixel and score to a thousandth, mixed into one number for each row."""
    whole = np.column_stack([(found.box * 10).round(), _thousandths(found.score)]) + 0.0  # no -0
    keys = np.zeros(len(found), np.uint64)
    for column in whole.view(np.uint64).T:
        keys = (keys ^ column ^ (column >> np.uint64(29))) * _ODD
        keys ^= keys >> np.uint64(32)
    return keys


def _thousandths(score: NDArray[np.floating]) -> NDArray[np.floating]:
    """Scores as they are compared."""
    return (score * 1000).round()
