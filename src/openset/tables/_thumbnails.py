"""Thumbnails: ground truth of pictures that were resized, detections and sizes of the originals.

Detections fit the objects then, if they are read as those of pictures of another size; and yet they
fill their images as they are, and the objects do not: hardly one is beyond a line in the middle, or
many are outside. Or no one size makes the detections fit, while one makes the ground truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, object_at, share
from openset.tables._look import TIGHT, Array, Look, Met, Sample, beside
from openset.tables._readings import Reading, fitting, framed
from openset.tables.boxes import Convention, sizes

_FILLS = (0.85, 1.15)  # of the image, to which boxes reach in all but one of so many images
_REST = 0.1
_FREELY = 1.25  # times as many objects as the detections read otherwise
_STATED = (
    "the ground truth is of pictures that were resized; width and height, and the detections, are "
    "of the originals",
    "write the boxes, and areas, of the ground truth in pixels of the stated width and height; "
    "force=True evaluates as they are",
)
_UNSIZED = (
    "objects and boxes are of pictures of different sizes: one of them was not scaled back",
    "write both in pixels of the same pictures; force=True evaluates as they are",
)
_FRAMES = ("scaled", "longest", "shortest", "norm")


def resized_truth(
    case: Case, sample: Sample, look: Look, now: Met, best: Reading | None
) -> Iterator[Finding]:
    """The finding that the ground truth is of resized pictures.

    Args:
        case: The case.
        sample: Boxes of some images.
        look: These beside the objects there.
        now: How objects are met as files are read.
        best: The reading of the detections that fits, if any does.
    """
    box = Convention.of(case.written.boxes).in_pixels(sample.box, look.size[sample.slot])
    found, given = (_reach(look, *one) for one in ((box, sample.slot), (look.box, look.slot)))
    odd = _fills(found) and not _fills(given)
    read = fitting(now, sample, [*_readings(case, sample, look)])
    if read is None:
        return
    if odd or best is None or read.met.tight()[0] >= _FREELY * best.met.tight()[0]:
        yield _found(case, read, given if odd else None)


def _fills(reach: float) -> bool:
    return _FILLS[0] <= reach <= _FILLS[1]


def _reach(look: Look, box: Array, slot: NDArray[np.int64]) -> float:
    """How far into their images boxes reach: a share of the sides, exceeded by few images."""
    most = np.zeros(len(look.images))
    np.maximum.at(most, slot, ((box[:, :2] + box[:, 2:]) / look.size[slot]).max(axis=1))
    most = most[np.bincount(slot, minlength=len(most)) > 0]
    return float(np.quantile(most, 1 - _REST)) if len(most) else np.nan


def _readings(case: Case, sample: Sample, look: Look) -> Iterator[Reading]:
    """The ground truth as of pictures of another size, in every frame."""
    other = _exchanged(look, sample)
    size, ours = sizes(case.truth, case.truth.image), Convention.of(case.written.boxes)
    for read in filter(None, (framed(other, "xywh", frame) for frame in _FRAMES)):
        truth = replace(case.truth, box=read.in_pixels(case.truth.box, size))
        held = truth, sample.image, ours, beside(truth, sample, sample.image).met(ours)
        kind = "boxes of the ground truth"
        yield Reading("OS430", kind, "", read.meaning, *held, fitted=True)


def _exchanged(look: Look, sample: Sample) -> Look:
    """Objects in the place of boxes and boxes in that of objects, pair by pair."""
    objects = Sample(sample.ids, look.images, look.slot, look.objects, look.box)
    boxes = np.bincount(look.by, minlength=len(sample.row))
    return look._replace(
        sample=objects,
        objects=sample.row,
        box=sample.box,
        slot=sample.slot,
        boxes=boxes,
        at=look.by,
        by=look.at,
    )


def _found(case: Case, best: Reading, given: float | None) -> Finding:
    met = share(best.met.tight()[0], len(best.met.best), "objects examined")
    assert case.truth.images.width is not None
    cause, fix = _STATED if np.isfinite(case.truth.images.width).any() else _UNSIZED
    return Finding(
        "OS430",
        Level.ERROR,
        f"{met} meet a detected box at IoU {TIGHT[0]:g} if the ground truth is {best.meaning}"
        + ("" if given is None else f"; boxes fill their images, objects reach to {given:.0%}"),
        count=len(case.truth),
        example=object_at(case.truth, 0),
        cause=cause,
        fix=fix,
    )
