"""Negative sizes: what the numbers of boxes mean whose width or height is below 0.

Readers of corners make a size of two of them, so that corners in another order, or sizes where
corners are expected, end below 0 in a part of the boxes. Said is the one reading under which nearly
all boxes have a size and lie in their image; as they are read, too many do not.

Not single records that are broken: those are left to the fix of OS205.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_FEWEST, _PART, _ALL = 20, 0.1, 0.98
_SLACK = 0.02  # of the image, beyond which a box does not lie in it
Box = NDArray[np.float64]


class _Reading(NamedTuple):
    """A way to read the four numbers behind a box, as corners."""

    corners: Callable[[Box, Box], list[Box]]
    cause: str
    fix: str


# Of the start of a box and its end, which are the four numbers of the file.
_READINGS = (
    _Reading(
        lambda start, end: [start, start + end],
        "width and height stand where xmax and ymax are expected",
        "write xmax = xmin + width and ymax = ymin + height, or name the columns x, y, w, h",
    ),
    _Reading(
        lambda start, end: [
            np.column_stack([start[:, 0], end[:, 0]]),
            np.column_stack([start[:, 1], end[:, 1]]),
        ],
        "the numbers are xmin, ymin, xmax, ymax under names in the order xmin, xmax, ymin, ymax",
        "give the columns their names, or write them in the order of their names",
    ),
    _Reading(
        lambda start, end: [np.minimum(start, end), np.maximum(start, end)],
        "corners are exchanged, as after mirroring, or by drawing a box from right to left",
        "write the smaller x and the smaller y first",
    ),
)

_OF_SHARES = (
    "shares of the image, whose width and height stand where xmax and ymax are expected",
    "write corners in pixels: of a centre, (cx - w / 2) times the width of the image and so on",
)
MEANINGS = frozenset(reading.cause for reading in _READINGS) | {_OF_SHARES[0]}
"""Causes that explain all else that is odd about such boxes."""


def meaning(box: Box, limit: Box) -> tuple[str, str]:
    """Cause and fix, where one reading makes boxes of them; else nothing.

    Args:
        box: All boxes, as ``x, y, width, height``.
        limit: Width and height of the image of each, infinite where unknown.
    """
    negative = (box[:, 2:] < 0).any(axis=1)
    rows, sized = np.isfinite(box).all(axis=1), np.isfinite(limit).all(axis=1)
    count = np.count_nonzero(negative & rows)
    if count < max(_FEWEST, _PART * len(box)) or not rows.all():
        return "", ""
    start, end = box[:, :2], box[:, :2] + box[:, 2:]
    if not sized.any():
        return _without_sizes(start, end)
    if not sized.all():
        return "", ""
    slack = _SLACK * limit + (limit > 1)
    for reading in _READINGS:
        low, high = reading.corners(start, end)
        fits = (high > low) & (low >= -slack) & (high <= limit + slack)
        if fits.all(axis=1).mean() >= _ALL:
            return reading.cause, reading.fix
    return "", ""


def _without_sizes(start: Box, end: Box) -> tuple[str, str]:
    """The same where no image has a size, as in memory: what tells readings is the numbers alone.

    Any two numbers are a size, so that this reading is left where neither of the others holds.
    """
    sizes, columns, corners = _READINGS
    if (start <= end).any(axis=1).mean() < 1 - _ALL:
        return corners.cause, corners.fix
    if ((start[:, 0] < start[:, 1]) & (end[:, 0] < end[:, 1])).mean() >= _ALL:
        return columns.cause, columns.fix
    if (end >= 0).all(axis=1).mean() < _ALL:
        return "", ""
    return _OF_SHARES if max(start.max(), end.max()) <= 1 + _SLACK else (sizes.cause, sizes.fix)
