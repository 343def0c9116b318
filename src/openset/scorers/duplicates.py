"""Duplicates: one object found twice, once as a known class and once as unknown.

Suppression per class lets both live, and matching may credit both. OSOD-III's code has two
remedies, off by default and not used for its published numbers; they differ in who survives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.scorers.ledger import unknown_rows
from openset.tables import Detections
from openset.tables.overlap import by_image, iou

Survivor = Literal["better", "neither"]


def suppress_duplicates(
    detections: Detections,
    *,
    survivor: Survivor = "better",
    overlap: float = 0.5,
    minimum_score: float | None = None,
) -> Detections:
    """Remove known and unknown detections of one place.

    Args:
        detections: Named detections, some of them labelled unknown.
        survivor: ``better``: of each pair the one with the lower score goes, and on a tie the
            unknown one (the code's ``unknown_aware_nms``). ``neither``: both go (``RM_OVERLAP``).
        overlap: Intersection over union that makes a pair: above it for ``better``, from it on for
            ``neither``, as in that code.
        minimum_score: Detections below take no part; by default none for ``better`` and 0.5 for
            ``neither``, as in that code.

    >>> boxes = Detections([1, 1], [0, 1], [[0, 0, 9, 9]] * 2, [0.9, 0.8], ("dog", "unknown"))
    >>> len(suppress_duplicates(boxes)), len(suppress_duplicates(boxes, survivor="neither"))
    (1, 0)
    """
    if survivor not in ("better", "neither"):
        raise UsageError(f"survivor must be 'better' or 'neither', not {survivor!r}")
    least = (-np.inf if survivor == "better" else 0.5) if minimum_score is None else minimum_score
    unknown = np.zeros(len(detections), bool)
    unknown[unknown_rows(detections)] = True
    gone = np.zeros(len(detections), bool)
    for rows in by_image(detections.image):
        active = rows[detections.score[rows] >= least]
        known_rows, other = active[~unknown[active]], active[unknown[active]]
        if len(known_rows) and len(other):
            gone[_lost(detections, known_rows, other, survivor, overlap)] = True
    stated = {"survivor": survivor, "overlap": overlap, "removed": int(gone.sum())}
    kept = detections.select(~gone)
    return replace(kept, provenance={**kept.provenance, "duplicates": stated})


def _lost(
    detections: Detections,
    known: NDArray[np.int64],
    unknown: NDArray[np.int64],
    survivor: Survivor,
    overlap: float,
) -> NDArray[np.int64]:
    """Rows that go because of one of the other kind in the same place."""
    shared = iou(detections.box[known], detections.box[unknown])
    if survivor == "neither":
        pair = shared >= overlap
        lost_known = lost_unknown = pair
    else:
        pair = shared > overlap
        wins = detections.score[known][:, None] >= detections.score[unknown]
        lost_known, lost_unknown = pair & ~wins, pair & wins
    return np.concatenate([known[lost_known.any(axis=1)], unknown[lost_unknown.any(axis=0)]])
