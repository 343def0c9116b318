"""Images without a label file, in formats that have one for each image.

YOLO lets an image without objects go without a file, and so looks an image whose file was lost.
What tells them apart: files that are there and empty, and sure detections on images that have none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case, image_name
from openset.tables.annotations import Annotations
from openset.wording import spaced

NO_LABEL_FILE = "no_label_file"  # among the attributes of images
_SURE, _FEWEST = 0.5, 5  # a score, and images without a file that have detections of it
_ALIKE = 0.5  # of the sure detections of an image with objects, what an empty one would not have


def truth_files(truth: Annotations) -> Iterator[Finding]:
    """The finding that some images have no label file; a warning where empty files are kept."""
    absent = truth.images.attributes.get(NO_LABEL_FILE)
    if absent is None or not absent.any():
        return
    objects = np.bincount(truth.image, minlength=len(truth.images))
    kept = int(np.count_nonzero((objects == 0) & ~absent))
    count = int(np.count_nonzero(absent))
    said = f"{spaced(count)} of {spaced(len(absent))} images have no label file, and count as "
    said += "images without objects"
    said += f"; {spaced(kept)} others have an empty one" if kept else ""
    example = f"image {image_name(truth, int(absent.argmax()))}"
    yield Finding("OS461", Level.WARNING if kept else Level.NOTE, said, count, example)


def detected_files(case: Case) -> Iterator[Finding]:
    """The finding that a detector is as sure on images without a label file as on the others."""
    absent = case.truth.images.attributes.get(NO_LABEL_FILE)
    if absent is None or not absent.any():
        return
    at = case.joined.image[(case.detections.score >= _SURE) & (case.joined.image >= 0)]
    sure = np.bincount(at, minlength=len(absent))
    having = np.bincount(case.truth.image, minlength=len(absent)) > 0
    there = int(np.count_nonzero(absent & (sure > 0)))
    if not having.any() or there < _FEWEST:
        return
    rates = [float(sure[some].mean()) for some in (absent, having)]
    if rates[0] < _ALIKE * rates[1]:
        return
    yield Finding(
        "OS461",
        Level.WARNING,
        f"{spaced(there)} of {spaced(int(absent.sum()))} images without a label file have "
        f"detections of a score of {_SURE} or more, {rates[0]:.2g} each, and images with objects "
        f"{rates[1]:.2g}: their labels look lost",
        count=there,
        example=f"image {image_name(case.truth, int((absent & (sure > 0)).argmax()))}",
    )
