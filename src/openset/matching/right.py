"""Right detections: those that found an object of their class, at the protocol's first overlap.

What a scorer of known objects is fitted and calibrated on: most of what a detector keeps is
background, and a density fitted on that calls background known. `told_detections` are those on any
object, for the one kind of scorer that is told which objects are unknown.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.matching.matcher import match
from openset.matching.matches import Matches
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.vocabulary import is_unknown_spelling


def right_detections(truth: Annotations, found: Detections) -> Detections:
    """The detections that claimed an object of their class, in the order given.

    Their attribute ``overlap`` is the largest with an object of their class.

    Args:
        truth: Ground truth of their images.
        found: Detections; their labels are the known classes, but for spellings of "unknown".
    """
    matches = _matched(truth, found)
    right = np.flatnonzero(matches.outcome().correct & ~matches.labelled_unknown)
    right = right[np.argsort(matches.row[right])]
    kept = found.select(matches.row[right])
    overlap = matches.columns.iou_same[right]
    return replace(kept, attributes={**kept.attributes, "overlap": overlap})


def told_detections(truth: Annotations, found: Detections) -> Detections:
    """The detections that lie on an object, and whether it is unknown, in the order given.

    Their attribute ``of_unknown`` is 1 where the object that they overlap most is of no class that
    the detections name, and 0 elsewhere.

    Args:
        truth: Ground truth of their images, with unknown objects.
        found: Detections; their labels are the known classes, but for spellings of "unknown".
    """
    matches = _matched(truth, found)
    overlap, best = matches.best_any
    on = np.flatnonzero(matches.overlaps(overlap, matches.protocol.iou[0]) & (best >= 0))
    on = on[~matches.objects.ignored[best[on]]]
    on = on[np.argsort(matches.row[on])]
    kept = found.select(matches.row[on])
    unknown = matches.objects.klass[best[on]] == len(matches.vocabulary.known)
    return replace(kept, attributes={**kept.attributes, "of_unknown": unknown.astype(np.int64)})


def _matched(truth: Annotations, found: Detections) -> Matches:
    names = [name for name in found.labels or truth.labels if not is_unknown_spelling(name)]
    return match(truth, found, Vocabulary.of(names))
