"""Selective Search: boxes that may be objects, of a picture alone; through OpenCV.

Uijlings et al., Selective Search for Object Recognition, IJCV 2013: regions of a segmentation are
merged, the most similar first, and the box of every region is one of something. It knows no class
and learns nothing. What it writes is an advisor of the method PAD (`openset.methods.pad`), whose
paper takes the fifty coarsest boxes: those come first here, the largest of them first, where OpenCV
has them in an order of chance.

Not a detector to be evaluated: every box is called "object".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.detectors._found import Found
from openset.detectors._spec import EvidenceName, Model, detector
from openset.findings import UsageError, refuse
from openset.tables import Head, LogitLayout

Mode = Literal["single", "fast"]
_INSTALL = "pip install opencv-contrib-python-headless"


@detector(
    "selective_search",
    title="Selective Search",
    paper="Uijlings et al., Selective Search for Object Recognition, IJCV 2013",
    framework="OpenCV",
    keeps=(),
    requires=("cv2",),
    trainable=False,
    learned=False,
)
def selective_search(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    mode: Mode = "single",
    most: int = 50,
    side: int = 20,
) -> Model:
    """Boxes of merged regions, the largest first: no classes, an advisor of the method pad.

    Args:
        labels: Not used: all boxes are called "object".
        device: Not used.
        mode: ``single`` segments a picture once, ``fast`` in several ways: more boxes, slower.
        most: Boxes of an image.
        side: Boxes with a shorter side, in pixels, are left out.
    """
    del labels, device
    if most < 1 or side < 1:
        raise UsageError(f"no box of no side cannot be: most={most}, side={side}")
    return SelectiveSearch(mode, most, side)


class SelectiveSearch:
    """The model: it has no weights, and keeps no evidence."""

    def __init__(self, mode: Mode, most: int, side: int) -> None:
        self.mode, self.most, self.side = mode, most, side
        self.labels: tuple[str, ...] = ("object",)
        self.layout = LogitLayout.SIGMOID
        self.about: Mapping[str, Any] = {}

    def found(
        self, images: Sequence[NDArray[np.uint8]], keep: frozenset[EvidenceName]
    ) -> list[Found]:
        """The boxes of each image."""
        del keep
        return [self._boxes(pixels) for pixels in images]

    def _boxes(self, pixels: NDArray[np.uint8]) -> Found:
        corner, sides = np.split(self._segmented(pixels).astype(np.float32), 2, axis=1)
        large = (sides >= self.side).all(axis=1)
        box, area = np.hstack([corner, corner + sides])[large], sides[large].prod(axis=1)
        order = np.argsort(-area, kind="stable")[: self.most]
        score = np.linspace(1, 0, len(order) + 1, dtype=np.float32)[:-1]
        return Found(box[order], score, np.zeros(len(order), np.int64))

    def _segmented(self, pixels: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Every distinct ``x, y, width, height``, in an order of their own."""
        import cv2

        if not hasattr(cv2, "ximgproc"):
            message = "detector 'selective_search' needs the contributed modules of OpenCV"
            raise refuse("OS601", message, example="opencv-contrib-python", fix=_INSTALL)
        search = cv2.ximgproc.segmentation.createSelectiveSearchSegmentation()
        search.setBaseImage(np.ascontiguousarray(pixels[..., ::-1]))
        if self.mode == "single":
            search.switchToSingleStrategy()
        else:
            search.switchToSelectiveSearchFast()
        rows = np.asarray(search.process(), np.int32).reshape(-1, 4)
        return np.unique(rows, axis=0)

    def head(self) -> Head | None:
        """There is none."""
        return None

    def load_state(self, state: Mapping[str, Any], where: str) -> None:
        """It has no weights to take."""
        del state
        raise UsageError(f"Selective Search has no weights, and {where} has some")
