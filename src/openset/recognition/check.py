"""check: what is worth knowing about scores before their numbers are believed.

What cannot be counted at all (not a number, another length, a label out of range) is refused when
`Scores` are made. Everything here still has a defined result, which the finding tells.
"""

from __future__ import annotations

import numpy as np

from openset.findings import Finding, Level
from openset.recognition.scores import Scores


def check(scores: Scores) -> list[Finding]:
    """Warnings about scores, the most serious first."""
    found = [_empty(scores), _tied(scores), _classes(scores), _absent(scores)]
    return [finding for finding in found if finding is not None]


def _empty(scores: Scores) -> Finding | None:
    if scores.n_known and scores.n_unknown:
        return None
    which = "unknown" if scores.n_known else "known"
    message = f"there is no {which} sample: metrics that need one have no value"
    return Finding("OS804", Level.WARNING, message)


def _tied(scores: Scores) -> Finding | None:
    n = scores.n_known + scores.n_unknown
    if len(scores.ranking) > 1 or n < 2:
        return None
    message = f"all {n} samples have the same openness: AUC is 0.5, ties counted one half"
    return Finding("OS805", Level.WARNING, message, n)


def _classes(scores: Scores) -> Finding | None:
    if scores.n_classes > 1:
        return None
    message = "there is one known class: the closed-set accuracy is 1 by construction"
    return Finding("OS806", Level.WARNING, message)


def _absent(scores: Scores) -> Finding | None:
    size = np.bincount(scores.label, minlength=scores.n_classes)
    absent = np.flatnonzero(size == 0)
    if not len(absent) or not scores.n_known:
        return None
    message = f"{len(absent)} of {scores.n_classes} known classes have no sample"
    return Finding("OS808", Level.WARNING, message, len(absent), scores.classes[absent[0]])
