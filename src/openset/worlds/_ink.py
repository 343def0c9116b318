"""Ink: what an object looks like before it has a place, a size or a colour.

Every glyph is a field on a small grid, above one half where there is ink: handwritten digits are
the 1,797 of `openset.examples.scans`, drawn smoothly at three times their resolution; letters and
shapes are polylines of our own (see `_outlines`), with a random width and trembling corners.
`render` then gives a field its size, slant and rotation.

Only sums and products of single elements are used, no matrix product in floating point: the same
bytes come out on every machine.
"""

from __future__ import annotations

from functools import cache
from math import ceil, cos, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.examples.scans import scans

Field = NDArray[np.float32]
GRID = 30  # 8 cells of a scan and one of margin at each side, at 3 points per cell
_SPAN = 24.0  # points that a glyph spans on the grid
_SOFTNESS = 8.0  # points over which the field of a line falls from 1 to 0
_X, _Y = (axis.ravel()[:, None] for axis in np.meshgrid(*[np.arange(GRID, dtype=np.float32)] * 2))


class Pose(NamedTuple):
    """How a glyph is drawn: height in pixels, width by height, slant and angle in radians."""

    height: float
    aspect: float
    slant: float
    angle: float


def digit_labels() -> NDArray[np.int64]:
    """The digit that each of the 1,797 scans shows."""
    return scans()[1]


@cache
def _digit_fields() -> Field:
    """All scans, sharpened and enlarged by quadratic B-splines, in integers that nothing rounds."""
    images = np.pad(scans()[0], ((0, 0), (1, 1), (1, 1)))
    beside = sum(np.roll(images, step, axis) for step in (-1, 1) for axis in (1, 2))
    images = 8 * images - beside  # without this, the narrow holes of 4 and 8 close
    weights = np.array([[25, 46, 1], [9, 54, 9], [1, 46, 25]])  # 72 in all, at -1/3, 0 and 1/3
    enlarge = np.zeros((GRID, GRID // 3 + 2), np.int64)
    for point in range(GRID):
        enlarge[point, point // 3 : point // 3 + 3] = weights[point % 3]
    enlarge = enlarge[:, 1:-1]
    fields = enlarge @ images @ enlarge.T
    return (fields / np.float32(16 * 4 * 72 * 72)).astype(np.float32)


def digit(instance: int, threshold: float) -> Field:
    """A scan, with ink where it is darker than `threshold`: a low one gives a broad stroke."""
    return _digit_fields()[instance] + np.float32(0.5 - threshold)


def lines(strokes: list[NDArray[np.float32]], width: float) -> Field:
    """Polylines in the unit square, drawn `width` wide (a fraction of the square's side)."""
    starts = np.concatenate([stroke[:-1] for stroke in strokes])
    ends = np.concatenate([stroke[1:] for stroke in strokes])
    return _falling(_distance(_on_grid(starts), _on_grid(ends)) - np.float32(width * _SPAN / 2))


def polygon(corners: NDArray[np.float32]) -> Field:
    """The inside of a closed polygon in the unit square (even-odd rule)."""
    starts = _on_grid(corners)
    ends = np.roll(starts, -1, axis=0)
    distance = _distance(starts, ends)
    return _falling(np.where(_inside(starts, ends), -distance, distance))


def _on_grid(points: NDArray[np.float32]) -> NDArray[np.float32]:
    return points * np.float32(_SPAN - 3) + np.float32((GRID - _SPAN + 2) / 2)


def _falling(distance: NDArray[np.float32]) -> Field:
    return (0.5 - distance / np.float32(_SOFTNESS)).clip(0, 1).reshape(GRID, GRID)


def _distance(starts: NDArray[np.float32], ends: NDArray[np.float32]) -> NDArray[np.float32]:
    """Distance of every grid point to the nearest segment."""
    along = ends - starts
    length = np.maximum(along[:, 0] * along[:, 0] + along[:, 1] * along[:, 1], np.float32(1e-6))
    x, y = _X - starts[:, 0], _Y - starts[:, 1]
    at = ((x * along[:, 0] + y * along[:, 1]) / length).clip(0, 1)
    x -= at * along[:, 0]
    y -= at * along[:, 1]
    return np.sqrt((x * x + y * y).min(axis=1))


def _inside(starts: NDArray[np.float32], ends: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether a ray from a grid point to the right crosses an odd number of edges."""
    spans = (starts[:, 1] > _Y) != (ends[:, 1] > _Y)
    rise = ends[:, 1] - starts[:, 1]
    slope = (ends[:, 0] - starts[:, 0]) / np.where(rise == 0, np.float32(1), rise)
    right = starts[:, 0] + (_Y - starts[:, 1]) * slope > _X
    return (spans & right).sum(axis=1) % 2 == 1


def render(ink: Field, pose: Pose) -> Field:
    """Opacity of the pixels of a glyph in a pose, cut to the pixels that are at least half ink."""
    turn, sway = cos(pose.angle), sin(pose.angle)
    reach = pose.aspect + abs(pose.slant)
    scale = _SPAN / pose.height
    across = _centred(pose.height * (reach * turn + abs(sway)), scale)
    down = _centred(pose.height * (turn + reach * abs(sway)), scale)[:, None]
    # Back from the picture to the grid: undo the rotation, then the slant and the width.
    lean, width, middle = pose.slant, pose.aspect, np.float32((GRID - 1) / 2)
    x = across * np.float32((turn - sway * lean) / width)
    x = x + (down * np.float32((sway + turn * lean) / width) + middle)
    y = down * np.float32(turn) - (across * np.float32(sway) - middle)
    sharpness = np.float32(max(1.5, _SOFTNESS / scale / 1.3))
    opacity = (_sample(ink, x, y) - np.float32(0.5)) * sharpness
    return _cut(np.clip(opacity + np.float32(0.5), 0, 1))


def _centred(extent: float, scale: float) -> Field:
    """Pixels over an extent with some margin, as distances from the middle on the grid."""
    count = ceil(extent * 1.15) + 2
    return (np.arange(count, dtype=np.float32) - np.float32((count - 1) / 2)) * np.float32(scale)


def _sample(ink: Field, x: NDArray[np.float32], y: NDArray[np.float32]) -> Field:
    """Bilinear interpolation; beyond the grid its margin goes on."""
    x, y = x.clip(0, GRID - 1.001), y.clip(0, GRID - 1.001)
    left, top = x.astype(np.int32), y.astype(np.int32)
    x -= left
    y -= top
    at, flat = top * GRID + left, ink.ravel()
    upper = flat[at] * (1 - x) + flat[at + 1] * x
    lower = flat[at + GRID] * (1 - x) + flat[at + GRID + 1] * x
    return upper * (1 - y) + lower * y


def _cut(opacity: Field) -> Field:
    solid = opacity >= 0.5
    rows, columns = np.flatnonzero(solid.any(axis=1)), np.flatnonzero(solid.any(axis=0))
    return opacity[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
