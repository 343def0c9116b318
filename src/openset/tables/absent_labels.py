"""Images without a label file, in formats that have one for each image, and without an object.

And objects that a data set lists and does not have: class files of VOC name the images of a class.

YOLO lets an image without objects go without a file, and so looks an image whose file was lost.
What tells them apart: files that are there and empty, and sure detections on images that have none.
These tell of lost objects in any format. Images of unknown objects that nobody labelled have sure
detections as well, but fewer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import SURE, Case, image_name
from openset.tables.annotations import Annotations
from openset.wording import spaced

NO_LABEL_FILE = "no_label_file"  # among the attributes of images
UNANNOTATED = "classes_without_objects"  # likewise: those that a list names there
_FEWEST = 5  # images without a file that have sure detections
_BARE, _PART, _AS_SURE = 20, 0.1, 0.75  # images without an object, and their share; as _ALIKE
_NAMED = 5  # classes
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


def truth_lists(truth: Annotations) -> Iterator[Finding]:
    """The finding that lists of a data set name classes on images that have no object of them."""
    said = truth.images.attributes.get(UNANNOTATED)
    if said is None or said.dtype.kind not in "UT" or not (said != "").any():
        return
    at = np.flatnonzero(said != "")
    names = [name for text in said[at].tolist() for name in text.split(", ")]
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    most = sorted(counts, key=lambda name: -counts[name])
    listed = ", ".join(f"{name} on {counts[name]}" for name in most[:_NAMED])
    more = f" and {len(most) - _NAMED} more" if len(most) > _NAMED else ""
    yield Finding(
        "OS462",
        Level.WARNING,
        f"class files name {len(counts)} classes on {spaced(len(at))} of {spaced(len(said))} "
        f"images that have no object of them: {listed}{more}",
        len(at),
        f"image {image_name(truth, int(at[0]))}: {said[at[0]]}",
    )


def detected_files(case: Case) -> Iterator[Finding]:
    """The finding that a detector is as sure on images without labels as on the others."""
    total = len(case.truth.images)
    absent = case.truth.images.attributes.get(NO_LABEL_FILE, np.zeros(total, np.bool_))
    having = np.bincount(case.truth.image, minlength=total) > 0
    bare = ~having & ~absent
    if not having.any() or having.all():
        return
    sure = np.bincount(case.joined.image[case.sure], minlength=total)
    if np.count_nonzero(bare) >= max(_BARE, _PART * total):
        yield from _as_sure(case, sure, bare, (_AS_SURE, "OS405", "an object"))
    yield from _as_sure(case, sure, absent, (_ALIKE, "OS461", "a label file"))


def _as_sure(
    case: Case,
    sure: NDArray[np.int64],
    some: NDArray[np.bool_],
    alike_code_what: tuple[float, str, str],
) -> Iterator[Finding]:
    alike, code, what = alike_code_what
    having = np.bincount(case.truth.image, minlength=len(some)) > 0
    there = int(np.count_nonzero(some & (sure > 0)))
    if there < _FEWEST:
        return
    rates = [float(sure[images].mean()) for images in (some, having)]
    if rates[0] < alike * rates[1]:
        return
    yield Finding(
        code,
        Level.WARNING,
        f"{spaced(there)} of {spaced(int(some.sum()))} images without {what} have "
        f"detections of a score of {SURE} or more, {rates[0]:.2g} each, and images with objects "
        f"{rates[1]:.2g}: their labels look lost",
        count=there,
        example=f"image {image_name(case.truth, int((some & (sure > 0)).argmax()))}",
        fix="give the annotations of all images, or leave these images out; nothing, if they show "
        "no object"
        if code == "OS405"
        else "",
    )
