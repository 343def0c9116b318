"""Check that detected boxes do not lie on a coarse grid, which objects do not lie on.

Coordinates of a feature map, cast to whole numbers and multiplied by its stride, are boxes at every
16th pixel: most meet their objects, and few closely. A pixel, or two, is what people write.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case
from openset.wording import spaced

_BOXES = 100  # fewer may lie on a grid by chance
_STEP = 4  # pixels, from which the loss is more than that of whole pixels


def on_a_grid(case: Case) -> Iterator[Finding]:
    """The finding that all numbers of the boxes examined are multiples of some pixels."""
    box = case.detections.box[case.some]
    step = _step(box)
    if step < _STEP or len(np.unique(box, axis=0)) < _BOXES:
        return
    if _step(case.truth.box[case.some_objects]) % step:
        yield Finding(
            "OS228",
            Level.WARNING,
            f"all coordinates of {spaced(len(box))} boxes examined are multiples of {step} pixels, "
            "and those of objects are not",
            count=len(case.detections),
            example=case.where(int(case.some[0])),
        )


def _step(box: NDArray[np.float64]) -> int:
    """The largest number of pixels that all numbers of boxes are multiples of, 1 if none is."""
    if not len(box) or not np.isfinite(box).all() or (box[:1] % 1).any() or (box % 1).any():
        return 1
    return int(np.gcd.reduce(np.abs(box).astype(np.int64).ravel()))
