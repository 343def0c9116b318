"""Flow: what becomes of objects when a detector runs at an operating point.

An operating point is two thresholds. Boxes below the minimum score are dropped. Of the others,
those labelled unknown, or whose unknownness exceeds the second threshold
(`openset.scorers.relabel`), are called unknown; the rest keep their known class. Where detections
have no unknownness, the second threshold is the minimum score of boxes labelled unknown, and the
first holds for known classes only.

Every box speaks of one object at most: one of its own class if it overlaps one (the protocol's
first IoU threshold), else the one that it overlaps most, else it lies on the background. An object
is called by its class if any box does, else by a wrong known class, else unknown, else it is
missed: an unknown object with a known name on it is an error, whatever else is said of it. Ignored
objects and the boxes on them take no part.

The wilderness ratio (wild images per closed-set image) is set by counting what lies on wild images
more or less often, so that a world wilder than the data can be looked at; counts are then expected
values.

This file is the specification. `sliders` encodes it on ladders of thresholds, and the page's
``counting.js`` counts that encoding in the browser; tests hold the three equal.

Not a metric, and not a matching anew: with thresholds that drop nothing, known objects
called right are the true positives of the known classes, and unknown recall is the metric's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row
from openset.matching import Matches
from openset.matching.near import KINDS, Near

RIGHT, WRONG, UNKNOWN, MISSED, IGNORED = range(5)
NOTHING, NO_PART = -1, -2

Mask = NDArray[np.bool_]
Index = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Flow(Diagnosis):
    """Objects by what became of them, and boxes by what they say.

    Attributes:
        known_right: Known objects called by their class.
        known_wrong: Known objects called only by another known class.
        known_unknown: Known objects called only unknown.
        known_missed: Known objects without a box.
        unknown_unknown: Unknown objects called only unknown.
        unknown_wrong: Unknown objects called by a known class.
        unknown_missed: Unknown objects without a box.
        background_wrong: Boxes on no object called by a known class.
        background_unknown: Boxes on no object called unknown.
        unknown_both: Those of `unknown_wrong` that are called unknown as well.
        boxes_known: All boxes called by a known class.
        boxes_unknown: All boxes called unknown.
        images: Images.
    """

    known_right: float = 0.0
    known_wrong: float = 0.0
    known_unknown: float = 0.0
    known_missed: float = 0.0
    unknown_unknown: float = 0.0
    unknown_wrong: float = 0.0
    unknown_missed: float = 0.0
    background_wrong: float = 0.0
    background_unknown: float = 0.0
    unknown_both: float = 0.0
    boxes_known: float = 0.0
    boxes_unknown: float = 0.0
    images: float = 0.0

    def rows(self) -> list[Row]:
        """Objects of either role by what became of them, and boxes on nothing by what they say."""
        fates = {
            "unknown objects": (
                None,
                self.unknown_wrong,
                self.unknown_unknown,
                self.unknown_missed,
            ),
            "known objects": (
                self.known_right,
                self.known_wrong,
                self.known_unknown,
                self.known_missed,
            ),
            "boxes on nothing": (None, self.background_wrong, self.background_unknown, None),
        }
        head = ("right", "wrong known", "called unknown", "missed")
        return [
            {"what": what, **dict(zip(head, map(_whole, counts), strict=True))}
            for what, counts in fates.items()
        ]

    @property
    def known(self) -> float:
        """Known objects."""
        return self.known_right + self.known_wrong + self.known_unknown + self.known_missed

    @property
    def unknown(self) -> float:
        """Unknown objects."""
        return self.unknown_unknown + self.unknown_wrong + self.unknown_missed

    @property
    def known_precision(self) -> float | None:
        """Share of boxes called by a known class that find an object of it; duplicates count."""
        return _over(self.known_right, self.boxes_known)

    @property
    def known_recall(self) -> float | None:
        """Share of known objects called by their class."""
        return _over(self.known_right, self.known)

    @property
    def unknown_precision(self) -> float | None:
        """Share of boxes called unknown that find an unknown object; duplicates count."""
        return _over(self.unknown_unknown + self.unknown_both, self.boxes_unknown)

    @property
    def unknown_recall(self) -> float | None:
        """Share of unknown objects called unknown, whatever else they are called."""
        return _over(self.unknown_unknown + self.unknown_both, self.unknown)

    @property
    def unknown_as_known(self) -> float | None:
        """Share of unknown objects under a known name, whatever else they are called."""
        return _over(self.unknown_wrong, self.unknown)

    @property
    def false_alarms(self) -> float | None:
        """Boxes per image under a known name that are not right, or on nothing called unknown."""
        wrong = self.boxes_known - self.known_right
        return _over(wrong + self.background_unknown, self.images)


def _whole(count: float | None) -> float | None:
    """A count as a whole number, unless it is an expected value."""
    return int(count) if count is not None and count == int(count) else count


def _over(part: float, whole: float) -> float | None:
    return part / whole if whole else None


class Targets(NamedTuple):
    """The object each box speaks of, `NOTHING` for background, `NO_PART` for none of the two.

    Attributes:
        known: When it is called by its known class; `NO_PART` for boxes labelled unknown.
        unknown: When it is called unknown.
    """

    known: Index
    unknown: Index


class Called(NamedTuple):
    """Which boxes are called by their known class, and which unknown."""

    known: Mask
    unknown: Mask


def targets(matches: Matches) -> Targets:
    """The object each box speaks of."""
    outcome, (same, known_, unknown_) = matches.outcome(), map(matches.near, KINDS)
    own, other, alien = (_spread(matches, near) for near in (same, known_, unknown_))
    own = np.where(outcome.correct, outcome.object, own)
    rest, nearer = other.copy(), unknown_.iou >= known_.at(unknown_.position)[0]
    rest[unknown_.position[nearer]] = unknown_.object[nearer]
    said = matches.labelled_unknown
    known = np.where(own >= 0, own, rest)
    first = np.where(said, own, alien)
    unknown = np.where(first >= 0, first, np.where(own >= 0, own, other))
    return Targets(
        _taking_part(matches, np.where(said, np.int32(NO_PART), known)),
        _taking_part(matches, unknown),
    )


def _spread(matches: Matches, near: Near) -> Index:
    """By detection, the object that it is near."""
    objects = np.full(len(matches), NOTHING, np.int32)
    objects[near.position] = near.object
    return objects


def _taking_part(matches: Matches, target: Index) -> Index:
    """Targets without ignored objects and ignored boxes."""
    padded = np.append(matches.objects.ignored, [False, False])  # for NO_PART and NOTHING
    out = matches.outcome().ignored | padded[target]
    return np.where(out, np.int32(NO_PART), target).astype(np.int32)


def called(matches: Matches, score: float, unknownness: float | None) -> Called:
    """What boxes are called at two thresholds, `None` for a second one that changes nothing."""
    said = matches.labelled_unknown
    enough = matches.score >= score
    if matches.unknownness is None:
        least = -np.inf if unknownness is None else unknownness
        return Called(enough & ~said, said & (matches.score >= least))
    above = said if unknownness is None else said | (matches.unknownness > unknownness)
    return Called(enough & ~above, enough & above)


def fates(matches: Matches, call: Called, target: Targets) -> NDArray[np.int8]:
    """What becomes of every object: `RIGHT`, `WRONG`, `UNKNOWN`, `MISSED` or `IGNORED`."""
    objects = matches.objects
    speaking = np.flatnonzero(call.known & (target.known >= 0))
    named = target.known[speaking]
    fits = objects.klass[named] == matches.klass[speaking]
    right, wrong = _hit(matches, named[fits]), _hit(matches, named[~fits])
    conditions = [objects.ignored, right, wrong, called_unknown(matches, call, target)]
    return np.select(conditions, [IGNORED, RIGHT, WRONG, UNKNOWN], MISSED).astype(np.int8)


def called_unknown(matches: Matches, call: Called, target: Targets) -> Mask:
    """Objects that some box calls unknown."""
    return _hit(matches, target.unknown[call.unknown & (target.unknown >= 0)])


def _hit(matches: Matches, objects: Index) -> Mask:
    mask = np.zeros(len(matches.objects), np.bool_)
    mask[objects] = True
    return mask


def wild_weight(matches: Matches, ratio: float | None) -> float:
    """How often a wild image counts, for a number of wild images per closed-set image.

    Any ratio can be asked for, since images are counted, not taken: `openset.diagnosis.errors` and
    `operating_point` take the first wild images instead, as far as the data reach.
    """
    wild, closed = int(matches.wild.sum()), int((~matches.wild).sum())
    if ratio is None or not wild or not closed:
        return 1.0
    return ratio * closed / wild


def operating_flow(
    matches: Matches,
    known_score: float,
    unknownness: float | None = None,
    ratio: float | None = None,
) -> Flow:
    """What becomes of objects at an operating point.

    Args:
        matches: Matched detections.
        known_score: Least score; of known classes only, where there is no unknownness.
        unknownness: What exceeds it is called unknown; without unknownness, the minimum score of
            boxes labelled unknown. None changes nothing.
        ratio: Wild images per closed-set image; the data's by default.
    """
    target, call = targets(matches), called(matches, known_score, unknownness)
    fate = fates(matches, call, target)
    is_unknown = matches.objects.klass == matches.n_known
    on_wild, in_wild = matches.wild[matches.image], matches.wild[matches.objects.image]
    weight = wild_weight(matches, ratio)

    def total(mask: Mask, wild: Mask) -> float:
        return float(np.count_nonzero(mask & ~wild) + weight * np.count_nonzero(mask & wild))

    def objects(unknown: bool, what: int) -> float:
        return total((is_unknown == unknown) & (fate == what), in_wild)

    def boxes(mask: Mask) -> float:
        return total(mask, on_wild)

    return Flow(
        known_right=objects(False, RIGHT),
        known_wrong=objects(False, WRONG),
        known_unknown=objects(False, UNKNOWN),
        known_missed=objects(False, MISSED),
        unknown_unknown=objects(True, UNKNOWN),
        unknown_wrong=objects(True, WRONG),
        unknown_missed=objects(True, MISSED),
        unknown_both=total(
            is_unknown & (fate == WRONG) & called_unknown(matches, call, target), in_wild
        ),
        background_wrong=boxes(call.known & (target.known == NOTHING)),
        background_unknown=boxes(call.unknown & (target.unknown == NOTHING)),
        boxes_known=boxes(call.known & (target.known != NO_PART)),
        boxes_unknown=boxes(call.unknown & (target.unknown != NO_PART)),
        images=total(np.ones(matches.n_images, np.bool_), matches.wild),
    )
