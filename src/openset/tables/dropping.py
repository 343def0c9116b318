"""Dropping: broken records left out, where that is asked for (``drop_invalid=True``).

A record is broken if no rule can judge it: a coordinate, score or unknownness that is not a number,
a negative width or height, a score outside 0..1 where nearly all others are inside. What is dropped
is counted by kind and named by a finding. More than half is not dropped: then it is the file that
is broken, not its records.

Not a repair, and not for what concerns a file as a whole, such as its layout of boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import all_of, any_of, box_text, first, object_at, share
from openset.tables._check_scores import few_outside
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections

Masks = Mapping[str, NDArray[np.bool_]]


def valid_detections(detections: Detections) -> tuple[NDArray[np.bool_], list[Finding]]:
    """Which detections are not broken, and the finding about the others."""

    def where(row: int) -> str:
        box, score = box_text(detections.box[row]), detections.score[row]
        return f"image {detections.image[row]}, detection {row}, box {box}, score {score:g}"

    kinds = {**_boxes(detections.box), **_scores(detections)}
    return _valid(kinds, len(detections), "detections", where)


def valid_objects(truth: Annotations) -> tuple[NDArray[np.bool_], list[Finding]]:
    """Which objects are not broken, and the finding about the others."""
    return _valid(_boxes(truth.box), len(truth), "objects", lambda row: object_at(truth, row))


def _boxes(box: NDArray[np.float64]) -> Masks:
    return {
        "a box that is not finite": ~all_of(np.isfinite(box)),
        "a negative width or height": any_of(box[:, 2:] < 0),
    }


def _scores(detections: Detections) -> Masks:
    kinds = {
        "a score that is not finite": ~np.isfinite(detections.score),
        "a score outside 0..1": few_outside(detections.score),
    }
    if detections.unknownness is not None:
        kinds["an unknownness that is not finite"] = ~np.isfinite(detections.unknownness)
    return kinds


def _valid(
    kinds: Masks, total: int, noun: str, where: Callable[[int], str]
) -> tuple[NDArray[np.bool_], list[Finding]]:
    broken = reduce(np.logical_or, kinds.values())
    count = int(np.count_nonzero(broken))
    if count == 0:
        return ~broken, []
    counted = {what: int(np.count_nonzero(mask)) for what, mask in kinds.items()}
    why = ", ".join(f"{number} with {what}" for what, number in counted.items() if number)
    many = 2 * count > total
    end = ": more than half, so nothing is dropped" if many else " and were dropped"
    said = f"{share(count, total, noun)} are broken ({why}){end}"
    code, level = ("OS429", Level.ERROR) if many else ("OS428", Level.WARNING)
    keep = np.ones(total, np.bool_) if many else ~broken
    return keep, [Finding(code, level, said, count, where(first(broken)))]
