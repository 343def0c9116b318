"""Silent: images on which one of several detectors has nothing at all, as if it had not seen them.

A cautious detector is silent on many images, and has one or two boxes on many others; one that was
run on a part of the images has many on each, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables import Annotations, Detections
from openset.tables.join import join_images
from openset.wording import spaced

_IMAGES, _SHARE = 8, 0.02  # silent images, of all
_FEW = 2  # boxes of an image that are nearly none
_TIMES = 3  # as many silent images as there are with so few boxes


def silent_images(
    truth: Annotations, detections: Mapping[str, Detections], methods: Mapping[str, Sequence[str]]
) -> dict[str, Finding]:
    """A finding for each method with nothing on many images that another has boxes on.

    Args:
        truth: The ground truth.
        detections: What each training found, by its name.
        methods: The names of the trainings of each method.
    """
    size = len(truth.images)
    counts = {
        name: np.bincount(image[image >= 0], minlength=size)
        for name, image in ((n, join_images(truth, one.image)) for n, one in detections.items())
    }
    found: dict[str, Finding] = {}
    for method, names in methods.items():
        for name in (one for one in names if one in counts):
            others = {other: one for other, one in counts.items() if other != name}
            finding = _silent(truth, counts[name], others)
            if finding is not None:
                found.setdefault(method, finding)
    return found


def _silent(
    truth: Annotations, own: NDArray[np.int64], others: Mapping[str, NDArray[np.int64]]
) -> Finding | None:
    if not own.any():
        return None  # of a file without detections others speak
    nearly = int(np.count_nonzero((own > 0) & (own <= _FEW)))
    for other, theirs in others.items():
        lost = (own == 0) & (theirs > _FEW)
        count = int(np.count_nonzero(lost))
        if count >= max(_IMAGES, _SHARE * len(own), _TIMES * (nearly + 1)):
            return Finding(
                "OS454",
                Level.WARNING,
                f"no detection on {spaced(count)} of {spaced(len(own))} images where {other} has "
                f"some, and {np.median(own[own > 0]):.0f} on the others in the middle: differences "
                "are of images, too",
                count=count,
                example=f"image {truth.images.id[int(lost.argmax())]}, {int(theirs[lost][0])} "
                f"detections of {other}",
            )
    return None
