"""Boxes: the conventions in which detectors write them, turned into ours.

Ours is ``x, y, width, height`` in pixels from the top left, 0-based and continuous. A convention is
a layout (which four numbers), and where the numbers are not pixels of the image itself, a frame:
``xyxy``, ``cxcywh-norm``, ``xyxy-norm-1000``, ``xywh-letterbox-640``, ``xyxy-shortest-800-1333``,
``xyxy-turned-90``.

Overlaps are not here: they belong to the matching kernel and its protocol's geometry. Which
convention a file was written in is guessed by `check`, never here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.plugins import lookup
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections

Array = NDArray[np.float64]


def _corners(box: Array) -> Array:
    return np.column_stack([box[:, :2], box[:, 2:] - box[:, :2]])


def _centres(box: Array) -> Array:
    return np.column_stack([box[:, :2] - box[:, 2:] / 2, box[:, 2:]])


def _exchanged(box: Array) -> Array:
    return box[:, [1, 0, 3, 2]]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "xywh": lambda box: box,
    "xyxy": _corners,
    "cxcywh": _centres,
    "yxyx": lambda box: _corners(_exchanged(box)),
    "yxhw": _exchanged,
    "cycxhw": lambda box: _centres(_exchanged(box)),
    "x1x2y1y2": lambda box: _corners(box[:, [0, 2, 1, 3]]),
    "xyhw": lambda box: box[:, [0, 1, 3, 2]],
    "yxwh": lambda box: box[:, [1, 0, 2, 3]],
}


def _side(size: Array, of: Callable[..., Array]) -> Array:
    return np.repeat(of(size, axis=1, keepdims=True), 2, axis=1)


# What a number of a frame is a share of, given the sizes of images: of a picture that is so many
# times as large (scaled), a square to which it was stretched (norm), a square into which it was fit
# without padding (longest) or with (letterbox), a picture whose shorter side is so long (shortest)
# or whose middle was cut to such a square (crop).
UNITS: dict[str, Callable[[Array], Array]] = {
    "norm": lambda size: size,
    "scaled": np.ones_like,
    "longest": lambda size: _side(size, np.max),
    "letterbox": lambda size: _side(size, np.max),
    "shortest": lambda size: _side(size, np.min),
    "crop": lambda size: _side(size, np.min),
}


def padding(frame: str, size: Array) -> Array:
    """Pixels of the image, left and above, that a frame adds, or takes away if negative."""
    centred = frame in ("letterbox", "crop")
    return (UNITS[frame](size) - size) / 2 if centred else np.zeros_like(size)


def _mirrored(box: Array, size: Array) -> Array:
    return np.column_stack([size[:, 0] - box[:, 0] - box[:, 2], box[:, 1:]])


def _flipped(box: Array, size: Array) -> Array:
    return np.column_stack([box[:, 0], size[:, 1] - box[:, 1] - box[:, 3], box[:, 2:]])


def _cropped(box: Array, size: Array) -> Array:
    return np.column_stack([box[:, :2] - padding("crop", size), box[:, 2:]])


def _crossed(box: Array, size: Array) -> Array:
    return box * np.tile(size / size[:, ::-1], 2)


def _padded(box: Array, size: Array) -> Array:
    return np.column_stack([box[:, :2] - padding("letterbox", size), box[:, 2:]])


def _unpadded(box: Array, size: Array) -> Array:
    return np.column_stack([box[:, :2] + padding("letterbox", size), box[:, 2:]])


def _squeezed(box: Array, size: Array) -> Array:
    return _padded(box * np.tile(size.max(axis=1, keepdims=True) / size, 2), size)


# Pictures that were mirrored, have y upwards, were turned (clockwise, in degrees), cut to the
# square in their middle, or padded to one, of whose padding none was taken away, or too much. Then
# shares of a padded picture that were multiplied by the sides of the image, and shares of the image
# that were multiplied by its other side.
TURNS: dict[str, Callable[[Array, Array], Array]] = {
    "mirrored": _mirrored,
    "flipped": _flipped,
    "turned-90": lambda box, size: _flipped(_exchanged(box), size),
    "turned-180": lambda box, size: _flipped(_mirrored(box, size), size),
    "turned-270": lambda box, size: _mirrored(_exchanged(box), size),
    "cropped": _cropped,
    "crossed": _crossed,
    "padded": _padded,
    "unpadded": _unpadded,
    "squeezed": _squeezed,
}
_LAYOUT_WORDS = {
    "xywh": "x, y, width, height",
    "xyxy": "x1, y1, x2, y2",
    "cxcywh": "centre x, centre y, width, height",
    "yxyx": "y1, x1, y2, x2",
    "yxhw": "y, x, height, width",
    "cycxhw": "centre y, centre x, height, width",
    "x1x2y1y2": "x1, x2, y1, y2",
    "xyhw": "x, y, height, width",
    "yxwh": "y, x, width, height",
}
_FRAME_WORDS = {
    "": "",
    "norm": ", from 0 to {} across the image",
    "scaled": " of a picture {} times as large",
    "longest": " of a picture whose longer side is {}",
    "letterbox": " of a picture padded to a square of {}",
    "shortest": " of a picture whose shorter side is {}",
    "turned-90": " of a picture turned by 90 degrees",
    "turned-180": " of a picture turned by 180 degrees",
    "turned-270": " of a picture turned by 270 degrees",
    "mirrored": " of a mirrored picture",
    "flipped": ", with y upwards",
    "crop": " of the square in the middle of the picture, resized to {}",
    "cropped": " of the square in the middle of the picture",
    "crossed": ", x as a share times the height of the image and y times its width",
    "padded": " of the picture padded to a square, in its own pixels",
    "unpadded": ", less the padding of a square, of which there was none or which was gone",
    "squeezed": ", as shares of the picture padded to a square times the sides of the image",
}
# What is offered where a name is misspelt; numbers stand for any.
CONVENTIONS = (
    *LAYOUTS,
    *(f"{layout}-norm" for layout in LAYOUTS),
    *(f"xywh-{frame}" for frame in TURNS),
    *(
        "xywh-norm-1000",
        "xywh-norm-1920-1080",
        "xywh-scaled-0.5",
        "xywh-longest-640",
        "xywh-letterbox-640",
    ),
    *("xywh-shortest-800", "xywh-shortest-800-1333", "xywh-crop-224"),
)
_NUMBER = r"(?:-(\d+(?:\.\d+)?))?"
_NAME = re.compile(
    rf"({'|'.join(LAYOUTS)})(?:-({'|'.join(TURNS)})|-({'|'.join(UNITS)}){_NUMBER}{_NUMBER})?"
)


@dataclass(frozen=True)
class Convention:
    """How the boxes of a file are written.

    Attributes:
        layout: Which four numbers (`LAYOUTS`).
        frame: What they are relative to (`UNITS`, `TURNS`), or nothing: pixels of the image.
        number: The size of a frame of `UNITS`.
        most: For "shortest", what the longer side may be at most: a picture that would be longer
            is made so long instead. Detectors of two stages are fed so, by 800 and 1333. For
            "norm", the number at the lower border, if it is not that at the right one.

    >>> Convention.of("xyxy-letterbox-640")
    Convention(layout='xyxy', frame='letterbox', number=640.0, most=inf)
    >>> str(Convention("cxcywh", "norm"))
    'cxcywh-norm'
    """

    layout: str = "xywh"
    frame: str = ""
    number: float = 1.0
    most: float = math.inf

    @classmethod
    def of(cls, name: str) -> Self:
        """The convention of a name."""
        found = _NAME.fullmatch(name)
        if found is None:
            lookup(dict.fromkeys(CONVENTIONS), name, "box convention")
        assert found is not None
        layout, turn, unit, number, most = found.groups()
        both = unit == "norm" or (unit == "shortest" and float(most or 0) >= float(number or 0))
        if most and not (both and float(most)):
            raise UsageError(
                f"box convention {name!r} has two numbers; {layout}-shortest-800-1333 alone has, "
                f"the smaller first, and {layout}-norm-1920-1080"
            )
        if (number is None and unit not in (None, "norm")) or (number and float(number) == 0):
            raise UsageError(f"box convention {name!r} needs a number, as in {layout}-{unit}-640")
        return cls(layout, turn or unit or "", float(number or 1), float(most or math.inf))

    def __str__(self) -> str:
        number = f"-{self.number:g}" if self.frame in UNITS and self.number != 1 else ""
        most = f"-{self.most:g}" if self.most < math.inf else ""
        return self.layout + (f"-{self.frame}" if self.frame else "") + number + most

    @property
    def meaning(self) -> str:
        """What the numbers are, in words.

        >>> Convention.of("xyxy-letterbox-640").meaning
        'x1, y1, x2, y2 of a picture padded to a square of 640'
        """
        frame = _FRAME_WORDS[self.frame].format(f"{self.number:g}")
        capped = f", or its longer one {self.most:g} where that is smaller"
        capped = f" and to {self.most:g} down it" if self.frame == "norm" else capped
        return _LAYOUT_WORDS[self.layout] + frame + (capped if self.most < math.inf else "")

    @property
    def needs_sizes(self) -> bool:
        """Whether boxes cannot be read without the sizes of their images."""
        return self.frame not in ("", "scaled")

    def in_pixels(self, box: Array, size: Array) -> Array:
        """Boxes of this convention in ours; `size` is the width and height of their images.

        >>> box, size = np.array([[80.0, 160.0, 160.0, 320.0]]), np.array([[640.0, 320.0]])
        >>> Convention.of("xyxy").in_pixels(box, size).tolist()
        [[80.0, 160.0, 80.0, 160.0]]
        >>> Convention.of("xywh-letterbox-640").in_pixels(box, size).tolist()
        [[80.0, 0.0, 160.0, 320.0]]
        """
        box = LAYOUTS[self.layout](box)
        if self.frame in TURNS:
            return TURNS[self.frame](box, size)
        if self.frame:
            by = UNITS[self.frame](size) / self.number
            if self.frame == "norm" and self.most < math.inf:
                by = size / [self.number, self.most]
            elif self.most < math.inf:
                by = np.maximum(by, _side(size, np.max) / self.most)
            box = box * np.tile(by, 2)
            box = np.column_stack([box[:, :2] - padding(self.frame, size), box[:, 2:]])
        return box


def sizes(truth: Annotations, image: NDArray[np.int32]) -> Array:
    """Width and height of images, NaN where unknown or where the image is not there."""
    assert truth.images.width is not None and truth.images.height is not None
    size = np.column_stack([truth.images.width, truth.images.height])
    return np.vstack([size, [np.nan, np.nan]]).take(image, axis=0)


def in_pixels(
    detections: Detections, image: NDArray[np.int32], truth: Annotations, convention: str
) -> Detections:
    """Detections whose boxes follow `convention`, in ours; `image` is their row in the truth."""
    if convention == "xywh":
        return detections
    read = Convention.of(convention)
    size = sizes(truth, image)
    if read.needs_sizes and np.isnan(size[image >= 0]).any():
        raise refuse(
            "OS110",
            f"boxes={convention!r} needs image sizes, and the ground truth does not state them",
            fix="add width and height to the images of the ground truth",
        )
    return replace(detections, box=read.in_pixels(detections.box, np.nan_to_num(size, nan=1.0)))
