"""Objects that nobody annotated: the surest boxes lie on nothing as often as less sure ones.

What a detector takes for an object where there is none, it is less sure of than of objects: of its
surest boxes hardly any is on nothing. Where annotations were lost, here and there on every image,
it is as sure of objects without a label as of those with one, and is right on all the others. AP,
precision and false positives are then of the annotations that are left.

Images without any object are not looked at here, nor classes that are missing on a part of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._seen import evenly, under
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.matching.near import FITS, TOUCHES
from openset.wording import spaced

_BOXES, _MOST = 100, 2_500  # in a half of the surest, at least and at most
_SAMPLE = 20_000  # boxes, by whose scores a score of the surest is known
_QUARTER = 4  # of the known objects: as many boxes are surest, and as many next
# Of the surest boxes: a share on nothing, that as a share of the next, and a share that is right.
# Four real detectors have 1 % (of the next 5 %), and with 15 or 50 % of the objects lost 9 or 41 %.
_NOTHING, _FALLS, _RIGHT = 0.15, 0.75, 0.3


def lost_annotations(matches: Matches) -> Finding | None:
    """The finding that sure boxes lie on nothing, if the surest do so as often as the next."""
    objects = matches.objects
    known = (objects.klass >= 0) & (objects.klass < matches.n_known) & ~objects.ignored
    size = min(int(np.count_nonzero(known)) // _QUARTER, _MOST)
    if size < _BOXES:
        return None
    having = np.bincount(objects.image[~objects.ignored], minlength=matches.n_images) > 0
    rows = _surest(matches, 2 * size)
    rows = rows[having[matches.image[rows]]]
    if len(rows) < 2 * _BOXES:
        return None
    iou, best = under(matches, rows)
    on = (iou >= FITS) & (best >= 0)
    right = on & (objects.klass[best] == matches.class_at(rows))
    nothing = iou < TOUCHES
    half = len(rows) // 2
    first, then = float(nothing[:half].mean()), float(nothing[half:].mean())
    if first < max(_NOTHING, _FALLS * then) or right[:half].mean() < _RIGHT:
        return None
    if first > _FALLS * float((under(matches, evenly(matches.known_end))[0] < TOUCHES).mean()):
        return None  # scores tell nothing at all, or were cut where they do
    row = int(rows[:half][nothing[:half]][0])
    count = int(np.count_nonzero(nothing[:half]))
    return Finding(
        "OS472",
        Level.WARNING,
        f"{spaced(count)} of the {spaced(half)} surest boxes on images with objects are on none, "
        f"as often as less sure ones ({first:.0%} and {then:.0%}), and {right[:half].mean():.0%} "
        "are right: annotations look lost",
        count=count,
        example=f"image {matches.image_ids[matches.image[row]]}, score {matches.score[row]:g}",
    )


def _surest(matches: Matches, most: int) -> NDArray[np.intp]:
    """So many boxes of known labels with the highest scores, best first."""
    score = matches.score[: matches.known_end]
    some = np.flatnonzero(score >= _floor(score, most))
    if len(some) > most:
        some = some[np.argpartition(score[some], len(some) - most)[len(some) - most :]]
    found: NDArray[np.intp] = some[np.argsort(-score[some], kind="stable")]
    matches.forget()
    return found


def _floor(score: NDArray[np.floating], most: int) -> float:
    """A score that more boxes have than so many, as a sample tells: to sort all takes long."""
    sample = score[:: max(1, len(score) // _SAMPLE)]
    above = 2 * most * len(sample) // max(1, len(score))
    if above >= len(sample):
        return -np.inf
    return float(np.partition(sample, len(sample) - 1 - above)[len(sample) - 1 - above])
