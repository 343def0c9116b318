"""Boxes of a ground truth that are shares of images of 1 x 1, and detections in pixels beside them.

Open Images states no sizes of images: without a list of them every image is 1 x 1. That is enough
for detections that are shares, too; those in pixels lie outside of every image.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, share

_BEYOND = 2.0  # times the image: a box that ends there is no share of it (as for YOLO)
_FIX = (
    "give the sizes of the images (a CSV of ImageID,width,height): openset convert GT --sizes FILE "
    "--to coco -o gt.json; or write the detections as shares"
)


def pixels_on_shares(case: Case) -> Iterator[Finding]:
    """OS110, if no image has a size and most detections are in pixels."""
    width, height = case.truth.images.width, case.truth.images.height
    assert width is not None
    assert height is not None
    if not len(width) or (width != 1).any() or (height != 1).any():
        return
    box = case.detections.box
    beyond = ~all_of(box[:, :2] + box[:, 2:] <= _BEYOND)
    count = int(np.count_nonzero(beyond))
    if 2 * count > len(box):
        yield Finding(
            "OS110",
            Level.ERROR,
            f"{share(count, len(box), 'detections')} are in pixels, and every image of the ground "
            "truth is 1 x 1: its boxes are shares of images whose sizes nothing states",
            count,
            case.where(int(beyond.argmax())),
            cause="Open Images states no sizes of images",
            fix=_FIX,
        )
