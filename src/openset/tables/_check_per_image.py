"""Check that scores, and unknownness, were not scaled within each image.

Divided by the largest of its image, or from its smallest to its largest, a value says nothing about
another image: the best box of an empty picture is as sure as that of a clear one. Then every image
has the extreme value, and hardly one has it twice. Detectors that saturate give it to many boxes of
some images, and to none of others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case
from openset.wording import spaced

_IMAGES, _SEVERAL = 50, 3  # images with so many detections, all of which have the extreme
_ONCE = 1.1  # times, on an image
_VALUES = 5  # that differ: a decision has two or three
_EQUAL = 1e-6  # of the range


def scaled_scores(case: Case) -> Iterator[Finding]:
    """The finding that the best score of every image is the same."""
    yield from _scaled(case, "OS225", "score", case.detections.score, (True,))


def scaled_unknownness(case: Case) -> Iterator[Finding]:
    """The finding that the largest, or smallest, unknownness of every image is the same."""
    values = case.detections.unknownness
    if values is not None:
        yield from _scaled(case, "OS377", "unknownness", values, (True, False))


def _scaled(
    case: Case, code: str, name: str, values: NDArray[np.float64], ends: tuple[bool, ...]
) -> Iterator[Finding]:
    if len(values) < _SEVERAL * _IMAGES:
        return
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all() or low == high:
        return
    said = [
        f"the {word} {name} of an image is {end:g}"
        for up, word, end in ((True, "largest", high), (False, "smallest", low))
        if up in ends and _on_each(case, values, end, _EQUAL * (high - low))
    ]
    if not said or len(np.unique(values)) < _VALUES:
        return
    several = int(np.count_nonzero(case.per_image[:-1] >= _SEVERAL))
    yield Finding(
        code,
        Level.WARNING,
        f"{' and '.join(said)} on each of {spaced(several)} images with several boxes, of which "
        "hardly one has it twice",
        count=len(values),
        example=f"{case.where(0)}, {name} {values[0]:g}",
    )


def _on_each(case: Case, values: NDArray[np.float64], end: float, slack: float) -> bool:
    """Whether every image with several detections has a value once, and hardly one again."""
    image = case.joined.image
    first = case.runs[2][0]
    if abs(values[:first] - end).min() > slack and first >= _SEVERAL and image[0] >= 0:
        return False  # as nearly always
    there = (np.abs(values - end) <= slack) & (image >= 0)
    size = len(case.truth.images)
    times = np.bincount(image[there], minlength=size)
    several = case.per_image[:-1] >= _SEVERAL
    if np.count_nonzero(several) < _IMAGES or not (times[several] > 0).all():
        return False
    return bool(times[several].mean() <= _ONCE)
