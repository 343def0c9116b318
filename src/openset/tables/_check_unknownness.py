"""Checks of unknownness: that it is a score of boxes, not of images, and no number of a row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case
from openset.wording import spaced

_IMAGES = 20  # with several detections, at least
_VALUES = 10  # that differ, at least: decisions repeat by themselves
_ROWS = 100


def unknownness(case: Case) -> Iterator[Finding]:
    """The finding that unknownness is one value for each image, or counts rows."""
    values = case.detections.unknownness
    if values is None or len(values) < _IMAGES or values.min() == values.max():
        return  # of one value for all, or none, others speak
    yield from [*_of_images(case, values)] or _of_rows(case, values)


def _of_images(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    image = case.joined.image
    if (image < 0).any():
        image = image.copy()
        image[image < 0] = len(case.truth.images)
    order = np.argsort(image, kind="stable") if (image[1:] < image[:-1]).any() else slice(None)
    image, held = image[order], values[order]
    within = image[1:] == image[:-1]
    if not (held[1:] == held[:-1])[within].all():
        return
    several = len(np.unique(image[1:][within]))
    if several < _IMAGES or len(np.unique(values)) < _VALUES:
        return
    yield Finding(
        "OS371",
        Level.WARNING,
        f"all detections of an image have the same unknownness, on each of {spaced(several)} "
        "images with several: it is a score of images, not of boxes",
        count=len(values),
        example=f"{case.where(0)}, unknownness {values[0]:g}",
    )


def _of_rows(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    """A number that rises through the file, or counts the detections of each image.

    Ranks are an honest unknownness, and rise where a file is in their order; but then its images
    are not together.
    """
    image, start, _ = case.runs
    together = len(image) == np.count_nonzero(np.bincount(image + 1))
    if not together or len(values) < _ROWS or len(values) - len(start) < _IMAGES:
        return
    step = np.diff(values)
    rises = bool(len(start) > 1 and ((step > 0).all() or (step < 0).all()))
    if not rises and not _counts(values, start):
        return
    how = "rises or falls from row to row of the file" if rises else "counts those of each image"
    yield Finding(
        "OS372",
        Level.WARNING,
        f"the unknownness of {spaced(len(values))} detections {how}: "
        f"{', '.join(f'{value:g}' for value in values[:3])} ...",
        count=len(values),
        example=f"{case.where(0)}, unknownness {values[0]:g}",
    )


def _counts(values: NDArray[np.float64], start: NDArray[np.intp]) -> bool:
    """Whether values are one number on the first row of each image, and one more on each next."""
    length = np.diff(start, append=len(values))
    within = np.arange(len(values)) - np.repeat(start, length)
    return len(start) >= _IMAGES and bool((values == values[0] + within).all())
