"""Logits of other boxes of the same image: rows were sorted, or shuffled, image by image.

Labels still go with such logits better than with any of the file, since an image shows few classes.
So each label is held against its own row and against that of another box of its image, where just
one of the two has the column that the label mostly has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.tables.detections import Detections
from openset.tables.logits import class_columns

_FEWEST = 50  # boxes of which one row alone fits, fewer of which prove nothing
_FREQUENT = 20  # boxes of a label, from which on its usual column is no accident
_MOST = 20_000
_BEYOND = 0.2  # of these, how many more must fit their own row


def refuse_of_neighbours(detections: Detections) -> None:
    """Refuse logits that labels fit no better than those of another box of the image.

    The better half of the boxes is asked: where a region has several labels, those of low scores
    are not of its largest logit.
    """
    assert detections.logits is not None
    if not len(detections):
        return
    rows = np.flatnonzero(detections.score >= np.median(detections.score))[:_MOST]
    label = np.unique(detections.label[rows], return_inverse=True)[1]
    frequent = (np.bincount(label) >= _FREQUENT)[label]
    rows, label = rows[frequent], label[frequent]
    if not len(rows):
        return
    best = detections.logits[rows][:, class_columns(detections.layout)].argmax(axis=1)
    usual = _usual(label, best)[label]
    own, other = best == usual, best[_another(detections.image[rows])] == usual
    ours, theirs = int((own & ~other).sum()), int((other & ~own).sum())
    if ours + theirs < _FEWEST or ours - theirs >= _BEYOND * (ours + theirs):
        return
    raise refuse(
        "OS345",
        "labels fit the largest logit of another box of their image as well as their own: "
        f"{theirs} boxes fit the other alone, and {ours} their own",
        count=ours + theirs,
        example=f"{own.mean():.0%} of {len(rows)} boxes have the column that is usual",
        cause="boxes of each image were sorted, and rows of logits were not",
    )


def _usual(label: NDArray[Any], best: NDArray[Any]) -> NDArray[np.int64]:
    """The column that is most often the largest, for each label."""
    counts = np.zeros((int(label.max()) + 1, int(best.max()) + 1), np.int64)
    np.add.at(counts, (label, best), 1)
    return counts.argmax(axis=1)


def _another(image: NDArray[Any]) -> NDArray[np.int64]:
    """For each box, another one of its image, by chance; itself where it is alone."""
    place = np.unique(image, return_inverse=True)[1]
    order = np.lexsort((np.random.default_rng(0).random(len(place)), place))
    ordered = place[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    after = np.where(last, np.searchsorted(ordered, ordered, "left"), np.arange(len(place)) + 1)
    found = np.empty(len(place), np.int64)
    found[order] = order[after]
    return found
