"""Outcome: what became of each detection at one overlap threshold, by the protocol's rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openset.matching.matches import Matches

Mask = NDArray[np.bool_]


class Outcome(NamedTuple):
    """What became of each detection at one overlap threshold.

    Attributes:
        correct: True positive: it claimed an object of its class.
        ignored: Neither right nor wrong: on an ignored object, or beyond the detection limit.
        object: The object it claimed, -1 for none; nothing where that was left out
            (`openset.matching.lean`).
    """

    correct: Mask
    ignored: Mask
    object: NDArray[np.int32]

    @property
    def wrong(self) -> Mask:
        """False positives."""
        return ~(self.correct | self.ignored)


def outcome_at(matches: Matches, threshold: float) -> Outcome:
    """The outcome at an overlap threshold."""
    if matches.protocol.rule == "coco":
        outcome = _greedy(matches, matches.threshold_index(threshold))
    elif matches.protocol.rule == "voc":
        outcome = _best_or_nothing(matches, threshold)
    else:
        outcome = _best_of_any_class(matches, threshold)
    if matches.protocol.empty_images == "skip":
        # Not dropped: published code keeps their place in the order, and they are predictions.
        return outcome._replace(ignored=outcome.ignored | matches.on_empty_image)
    return outcome


def _greedy(matches: Matches, index: int) -> Outcome:
    columns, bit = matches.columns, np.uint16(1 << index)
    limit = matches.protocol.max_detections
    ignored = np.zeros(len(matches), np.bool_)
    correct = np.zeros(len(matches), np.bool_)
    told = index < columns.object.shape[1]
    claimed = np.full(len(matches) if told else 0, -1, np.int32)
    for rows in matches.blocks:
        near = matches.candidates(rows)
        at = columns.position[near]
        if limit is not None:
            np.greater_equal(columns.rank[rows], limit, out=ignored[rows])
        correct[at] = columns.matched[near, 0] & bit != 0
        ignored[at] = columns.ignored[near, 0] & bit != 0
        if told:
            claimed[at] = columns.object[near, index]
        matches.forget()
    return Outcome(correct, ignored, claimed)


def _best_or_nothing(matches: Matches, threshold: float) -> Outcome:
    columns = matches.columns
    near = np.flatnonzero(matches.overlaps(columns.iou_same, threshold))
    best = columns.object_same[near]
    dropped = matches.objects.ignored[best]
    ignored = np.zeros(len(matches), np.bool_)
    ignored[near[dropped]] = True
    return _first_claims(matches, near[~dropped], ignored)


def _best_of_any_class(matches: Matches, threshold: float) -> Outcome:
    iou, best = matches.best_any
    near = np.flatnonzero(matches.overlaps(iou, threshold) & (best == matches.columns.object_same))
    near = near[np.argsort(matches.row[near], kind="stable")]  # claims go in the order given
    return _first_claims(matches, near, np.zeros(len(matches), np.bool_))


def _first_claims(matches: Matches, near: NDArray[np.intp], ignored: Mask) -> Outcome:
    """Each object goes to the first detection in `near` that wants it."""
    best = matches.columns.object_same[near]
    winner = np.full(len(matches.objects), -1, np.int64)
    winner[best[::-1]] = near[::-1]  # the last assignment stands: the first in order
    taken = np.flatnonzero(winner >= 0)
    correct = np.zeros(len(matches), np.bool_)
    claimed = np.full(len(matches), -1, np.int32)
    correct[winner[taken]] = True
    claimed[winner[taken]] = taken
    return Outcome(correct, ignored, claimed)
