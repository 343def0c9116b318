"""Regions: which detections lie mostly inside an ignore region.

The matching kernel knows regions of one class (COCO crowds), reached at ``>=`` its threshold; TIDE
also has regions for detections of every class, and asks for *more than* the threshold. This is the
extra overlap: the covered share of the detection's area, over all pairs of a detection and a region
of its image, a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ANY_CLASS = -1
BLOCK = 1 << 19  # pairs at a time: a few ten megabytes

BoxRows = NDArray[np.float64]  # x, y, width, height


@dataclass(frozen=True, slots=True)
class IgnoreRegions:
    """Ignore regions.

    Attributes:
        image: Index of the image.
        klass: Class whose detections it swallows, or `ANY_CLASS`.
        box: ``x, y, width, height``.
    """

    image: NDArray[np.int32]
    klass: NDArray[np.int32]
    box: BoxRows

    def __len__(self) -> int:
        return len(self.image)


def pairs(
    image: NDArray[np.integer], other: NDArray[np.integer], n_images: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """All pairs of rows (left, right) with the same image, in blocks, ascending in left."""
    order = np.argsort(other, kind="stable")
    per_image = np.bincount(other, minlength=n_images)
    begin = np.concatenate([[0], np.cumsum(per_image)])
    left = np.flatnonzero(per_image[image])
    ends = np.cumsum(per_image[image[left]])
    first = 0
    while first < len(left):
        done = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, done + BLOCK, side="right")), first + 1)
        rows = left[first:last]
        sizes = per_image[image[rows]]
        offset = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        yield np.repeat(rows, sizes), order[np.repeat(begin[image[rows]], sizes) + offset]
        first = last


def intersection(a: BoxRows, b: BoxRows) -> NDArray[np.float64]:
    """Area common to paired boxes."""
    low = np.maximum(a[:, :2], b[:, :2])
    high = np.minimum(a[:, :2] + a[:, 2:], b[:, :2] + b[:, 2:])
    sides = np.maximum(high - low, 0.0)
    return np.asarray(sides[:, 0] * sides[:, 1])


def swallowed(
    image: NDArray[np.int32],
    klass: NDArray[np.int32],
    box: BoxRows,
    regions: IgnoreRegions,
    *,
    n_images: int,
    share: float,
) -> NDArray[np.bool_]:
    """Detections of which more than `share` lies in one region for their class.

    Args:
        image: Image of each detection.
        klass: Class of each detection.
        box: Box of each detection.
        regions: The regions.
        n_images: Number of images.
        share: Covered share of the area, exclusive.
    """
    inside = np.zeros(len(image), np.bool_)
    for row, region in pairs(image, regions.image, n_images):
        wanted = regions.klass[region]
        fits = (wanted == ANY_CLASS) | (wanted == klass[row])
        row, region = row[fits], region[fits]
        area = box[row, 2] * box[row, 3]
        with np.errstate(invalid="ignore", divide="ignore"):
            covered = intersection(box[row], regions.box[region]) / area
        inside[row[covered > share]] = True
    return inside
