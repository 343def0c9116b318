"""Walk: the curves of ARPL's code, one sample a step, from accepting all samples to accepting none.

Least known samples are removed first, known before unknown ones where they are equal. Only for
numbers that must equal that code's; exact metrics look at whole levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.recognition.ranking import AnswerRanking


class Walk(NamedTuple):
    """Known and unknown samples that are still accepted after each step."""

    known: NDArray[np.int64]
    unknown: NDArray[np.int64]


def walk(ranking: AnswerRanking) -> Walk:
    """The steps over all samples."""
    sizes = np.stack([ranking.known[::-1], ranking.unknown[::-1]], axis=1).ravel()
    is_unknown = np.repeat(np.tile([False, True], len(ranking)), sizes)
    gone = np.append(0, np.cumsum(is_unknown))
    steps = np.arange(len(gone))
    return Walk(ranking.n_known - (steps - gone), ranking.n_unknown - gone)


def tnr_nearest(ranking: AnswerRanking, tpr: float) -> float:
    """Share of unknown samples rejected at the share of accepted known ones nearest to `tpr`."""
    path = walk(ranking)
    at = np.abs(path.known / ranking.n_known - tpr).argmin()
    return float(1 - path.unknown[at] / ranking.n_unknown)


def area_in(ranking: AnswerRanking) -> float:
    """ARPL's AUIN: trapezoids of the precision of "known" over its recall."""
    path = walk(ranking)
    recall = np.concatenate([[1.0], path.known / ranking.n_known, [0.0]])
    return -_area(path.known, path.known + path.unknown, (0.5, 0.0), recall)


def area_out(ranking: AnswerRanking) -> float:
    """ARPL's AUOUT: trapezoids of the precision of "unknown" over its recall."""
    path = walk(ranking)
    rejected = ranking.n_unknown - path.unknown
    recall = np.concatenate([[0.0], rejected / ranking.n_unknown, [1.0]])
    return _area(rejected, ranking.n_known - path.known + rejected, (0.0, 0.5), recall)


def _area(
    true: NDArray[np.int64],
    said: NDArray[np.int64],
    ends: tuple[float, float],
    recall: NDArray[np.float64],
) -> float:
    """The area with two end points added, and points without any positive left out."""
    keep = np.concatenate([[True], said > 0, [True]])
    precision = true / np.maximum(said, 1)
    heights = np.concatenate([[ends[0]], precision, [ends[1]]])[keep]
    return float(np.trapezoid(heights, recall[keep]))
