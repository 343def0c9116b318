"""Exported YOLO models: how images go in and what the outputs mean, for two families of exports.

- ``yolox``: one row per location, ``cx, cy, w, h`` on the grid of its level, then objectness, then
  classes; both already sigmoids. Images are RGB or BGR in 0..255, padded at the right and below.
- ``yolov8``: one column per location, ``cx, cy, w, h`` in pixels, then classes as sigmoids, and no
  objectness. Images are RGB in 0..1, padded evenly on all sides.

Exports hold probabilities: logits are their inverse sigmoid. Written from the published formats;
no code of these projects is used or imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Array = NDArray[np.float64]
_GREY = 114
_STRIDES = (8, 16, 32)
_TINY = 1e-7  # probabilities are float32: closer to 0 or 1 there is nothing


@dataclass(frozen=True, slots=True)
class Placed:
    """An image on the canvas of a model.

    Attributes:
        canvas: Height, width, RGB.
        scale: Pixels of the canvas per pixel of the image.
        left: Where the image begins.
        top: Where the image begins.
    """

    canvas: Pixels
    scale: float
    left: int = 0
    top: int = 0

    def restored(self, corners: Array, image: Pixels) -> Array:
        """Corners on the canvas as corners on the image, clipped to it."""
        moved = (corners - [self.left, self.top] * 2) / self.scale
        height, width = image.shape[:2]
        return np.clip(moved, 0, [width, height] * 2)


@dataclass(frozen=True, slots=True)
class Raw:
    """What a model says of every location.

    Attributes:
        corners: ``x1, y1, x2, y2`` on the canvas.
        classes: Probabilities of the classes.
        objectness: Probability that there is an object, or None.
    """

    corners: Array
    classes: Array
    objectness: Array | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A family of exports.

    Attributes:
        centred: Whether images are padded evenly.
        unit: Whether pixels go in as 0..1.
        read: From an output and the canvas' height and width to what it says.
        classes: Number of classes, from the shape of an output.
    """

    centred: bool
    unit: bool
    read: Callable[[Array, tuple[int, int]], Raw]
    classes: Callable[[tuple[int, ...]], int]


def placed(image: Pixels, size: tuple[int, int], *, centred: bool) -> Placed:
    """An image scaled to fit a canvas, the rest grey."""
    from PIL import Image

    height, width = image.shape[:2]
    scale = min(size[0] / height, size[1] / width)
    new = (max(1, round(width * scale)), max(1, round(height * scale)))
    scaled = np.asarray(Image.fromarray(image).resize(new, Image.Resampling.BILINEAR))
    canvas = np.full((*size, 3), _GREY, np.uint8)
    left = (size[1] - new[0]) // 2 if centred else 0
    top = (size[0] - new[1]) // 2 if centred else 0
    canvas[top : top + new[1], left : left + new[0]] = scaled
    return Placed(canvas, scale, left, top)


def grid(size: tuple[int, int]) -> tuple[Array, Array]:
    """Origin of each location of YOLOX in cells of its level, and the level's stride."""
    origins, strides = [], []
    for stride in _STRIDES:
        rows, columns = np.mgrid[: size[0] // stride, : size[1] // stride]
        origins.append(np.stack([columns.ravel(), rows.ravel()], axis=1))
        strides.append(np.full(rows.size, stride))
    return np.concatenate(origins).astype(np.float64), np.concatenate(strides).astype(np.float64)


def _read_yolox(output: Array, size: tuple[int, int]) -> Raw:
    origin, stride = grid(size)
    centre = (output[:, :2] + origin) * stride[:, None]
    extent = np.exp(output[:, 2:4]) * stride[:, None]
    return Raw(_corners(centre, extent), output[:, 5:], output[:, 4])


def _read_yolov8(output: Array, size: tuple[int, int]) -> Raw:
    rows = output.T
    return Raw(_corners(rows[:, :2], rows[:, 2:4]), rows[:, 4:], None)


def _corners(centre: Array, extent: Array) -> Array:
    return np.concatenate([centre - extent / 2, centre + extent / 2], axis=1)


def inverse_sigmoid(probability: Array) -> NDArray[np.float32]:
    """The logit of a probability, bounded by what float32 can tell from 0 and 1.

    >>> inverse_sigmoid(np.array([0.5, 0.0])).round(0).tolist()
    [0.0, -16.0]
    """
    bounded = np.clip(probability, _TINY, 1 - _TINY)
    return np.asarray(np.log(bounded) - np.log1p(-bounded), np.float32)


LAYOUTS: Mapping[str, Layout] = {
    "yolox": Layout(False, False, _read_yolox, lambda shape: shape[-1] - 5),
    "yolov8": Layout(True, True, _read_yolov8, lambda shape: shape[-2] - 4),
}
