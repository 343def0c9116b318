"""Check that no image lost all boxes, or objects, of a class but one.

A dictionary by class, or by image, keeps the last that is written to it: no image then has a class
twice. Of detections this is told where many images have several objects of a class that was found
there once; of a ground truth by sure boxes beside its objects, on nothing, that are called alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import SURE, Case, first, image_name, object_at, share
from openset.tables._check_twice import mixed, repeats
from openset.tables._sure import Sure
from openset.wording import spaced

_FIRST = 2_000  # rows, of which hardly any file has none twice
_PAIRS = 20  # an image and a class that it has several objects of, and one box
_OBJECTS, _IMAGES = 100, 50
_FOUND, _BESIDE = 20, 0.25  # sure boxes on nothing, and how many for each that is right
_SEEN = 30  # sure boxes that are right


def one_box_each(case: Case) -> Iterator[Finding]:
    """The finding that no image has two boxes of one label, where many have several objects."""
    image, label = case.joined.image, case.detections.label
    if len(label) < _PAIRS or case.per_image[:-1].max(initial=0) < 2 or _again(image, label):
        return
    truth, k = case.truth, len(case.vocabulary.known)
    assert truth.crowd is not None
    klass = case.vocabulary.classes(truth.labels)[truth.label]
    counted = (klass >= 0) & (klass < k) & ~truth.crowd
    size = len(truth.images) * k
    objects = np.bincount(truth.image[counted] * np.int64(k) + klass[counted], minlength=size)
    found = (image >= 0) & (case.joined.klass >= 0) & (case.joined.klass < k)
    boxes = np.bincount(image[found] * np.int64(k) + case.joined.klass[found], minlength=size)
    several = (objects > 1) & (boxes == 1)
    if np.count_nonzero(several) < _PAIRS:
        return
    at, of = divmod(first(several), k)
    times, lost = int(several.sum()), int((objects - 1)[several].sum())
    yield Finding(
        "OS458",
        Level.WARNING,
        f"no image has two boxes of one label, and {spaced(times)} times one has several objects "
        f"of a class that is found there: {spaced(lost)} objects cannot be found",
        count=times,
        example=f"image {image_name(truth, at)}, {case.vocabulary.known[of]}: "
        f"{spaced(int(objects[first(several)]))} objects, 1 box",
    )


def one_object_each(case: Case) -> Iterator[Finding]:
    """The finding that no image has two objects, or two of a class, though sure boxes find more."""
    truth, k = case.truth, len(case.vocabulary.known)
    if len(truth) < _OBJECTS or _again(truth.image, truth.label):
        return
    alone = len(np.unique(truth.image)) == len(truth)
    klass = case.vocabulary.classes(truth.labels)[truth.label].astype(np.int64)
    seen = Sure.of(case, SURE)
    if np.count_nonzero(seen.right) < _SEEN or len(np.unique(truth.image)) < _IMAGES:
        return
    here = truth.image if alone else truth.image * np.int64(k + 1) + klass
    there = seen.image if alone else seen.image * np.int64(k + 1) + seen.klass
    known = (klass >= 0) & (klass < k)
    more = seen.alone & np.isin(there, here[known])
    count = int(np.count_nonzero(more))
    if count < max(_FOUND, _BESIDE * np.count_nonzero(seen.right)):
        return
    what = "two objects" if alone else "two objects of one class"
    shown = int(np.flatnonzero(known & (truth.image == seen.image[first(more)]))[0])
    yield Finding(
        "OS459",
        Level.WARNING,
        f"no image has {what}, and on images with one "
        f"{share(count, len(seen.alone), 'boxes examined')} that score {SURE:g} or more "
        f"{'lie' if alone else 'are called as it is and lie'} on none, beside "
        f"{spaced(int(seen.right.sum()))} that are right",
        count=count,
        example=object_at(truth, shown),
    )


def _again(image: NDArray[np.int32], label: NDArray[Any]) -> bool:
    """Whether an image has a label twice."""
    for end in (_FIRST, len(label)):  # the first rows tell, nearly always
        some = np.flatnonzero(image[:end] >= 0)
        key = mixed(image[some].astype(np.uint64), label[some].astype(np.uint64))
        if repeats(key):
            return True
    return False
