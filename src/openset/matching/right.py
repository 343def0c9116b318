"""Right detections: those that found an object of their class, at the protocol's first overlap.

What a scorer of known objects is fitted and calibrated on: most of what a detector keeps is
background, and a density fitted on that calls background known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.matching.matcher import match
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.vocabulary import is_unknown_spelling


def right_detections(truth: Annotations, found: Detections) -> Detections:
    """The detections that claimed an object of their class, in the order given.

    Their attribute ``overlap`` is the largest with an object of their class.

    Args:
        truth: Ground truth of their images.
        found: Detections; their labels are the known classes, but for spellings of "unknown".
    """
    names = [name for name in found.labels or truth.labels if not is_unknown_spelling(name)]
    matches = match(truth, found, Vocabulary.of(names))
    right = np.flatnonzero(matches.outcome().correct & ~matches.labelled_unknown)
    right = right[np.argsort(matches.row[right])]
    kept = found.select(matches.row[right])
    overlap = matches.columns.iou_same[right]
    return replace(kept, attributes={**kept.attributes, "overlap": overlap})
