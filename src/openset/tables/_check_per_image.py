"""Check that scores, and unknownness, were not scaled within each image.

Divided by the largest of its image, or from its smallest to its largest, a value says nothing about
another image: the best box of an empty picture is as sure as that of a clear one. Then every image
has the extreme value, and most have it once. Detectors that saturate give it to many boxes of
some images, and to none of others. A softmax over the boxes of an image makes shares of their
scores: they sum to 1, whatever is there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case
from openset.wording import spaced

_IMAGES, _SEVERAL = 50, 3  # images with so many detections, all of which have the extreme
# Of these images, that have it a single time. Sure detectors give 1 to a box of every image; of
# unknownness, ties at an end leave some images without it.
_ONCE, _ONCE_UNKNOWN = 0.9, 0.5
_VALUES = 5  # that differ: a decision has two or three
_EQUAL = 1e-6  # of the range
_SHARES, _ROUNDED = 0.9, 0.02  # of the images, whose sum is that; and what digits take from it


def scaled_scores(case: Case) -> Iterator[Finding]:
    """The finding that the best score of every image is the same."""
    values = case.detections.score
    yield from [*_scaled(case, "OS225", "score", values, (True,), _ONCE)] or _shares(case, values)


def _shares(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    """The finding that the scores of each image sum to 1, where images have several and others."""
    image, start, _ = case.runs
    there = image >= 0
    if np.count_nonzero(there) < _IMAGES:
        return
    several = case.per_image[:-1] >= _SEVERAL
    run = np.add.reduceat(values, start)[there]
    sums = np.bincount(image[there], run, len(several))[several]
    if len(sums) < _IMAGES or np.mean(np.abs(sums - 1) <= _ROUNDED) < _SHARES:
        return
    if len(np.unique(values)) < _VALUES:
        return
    yield Finding(
        "OS225",
        Level.WARNING,
        f"the scores of an image sum to 1 on each of {spaced(len(sums))} images with several boxes",
        count=len(values),
        example=f"{case.where(0)}, score {values[0]:g}",
        cause="a softmax over the boxes of an image, in place of one over classes",
        fix="write the scores as the detector gives them: the softmax over classes, or the sigmoid",
    )


def scaled_unknownness(case: Case) -> Iterator[Finding]:
    """The finding that the largest, or smallest, unknownness of every image is the same."""
    values = case.detections.unknownness
    if values is not None:
        yield from _scaled(case, "OS377", "unknownness", values, (True, False), _ONCE_UNKNOWN)


def _scaled(
    case: Case,
    code: str,
    name: str,
    values: NDArray[np.float64],
    ends: tuple[bool, ...],
    once: float,
) -> Iterator[Finding]:
    if len(values) < _SEVERAL * _IMAGES:
        return
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all() or low == high:
        return
    said = [
        f"the {word} {name} of an image is {end:g}"
        for up, word, end in ((True, "largest", high), (False, "smallest", low))
        if up in ends and _on_each(case, values, end, _EQUAL * (high - low)) >= once
    ]
    if not said or len(np.unique(values)) < _VALUES:
        return
    several = int(np.count_nonzero(case.per_image[:-1] >= _SEVERAL))
    yield Finding(
        code,
        Level.WARNING,
        f"{' and '.join(said)} on each of {spaced(several)} images with several boxes, of which "
        "most have it once",
        count=len(values),
        example=f"{case.where(0)}, {name} {values[0]:g}",
    )


def _on_each(case: Case, values: NDArray[np.float64], end: float, slack: float) -> float:
    """Of the images with several detections, the share with a value once; 0 if some lack it."""
    image = case.joined.image
    first = case.runs[2][0]
    if abs(values[:first] - end).min() > slack and first >= _SEVERAL and image[0] >= 0:
        return 0.0  # as nearly always
    there = (np.abs(values - end) <= slack) & (image >= 0)
    size = len(case.truth.images)
    times = np.bincount(image[there], minlength=size)
    several = case.per_image[:-1] >= _SEVERAL
    if np.count_nonzero(several) < _IMAGES or not (times[several] > 0).all():
        return 0.0
    return float(np.mean(times[several] == 1))
