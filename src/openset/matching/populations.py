"""Populations: detections on closed-set images and on wild ones, ranked by unknownness. Once.

AUROC, AUPR and FPR95 ask about one order. It does not depend on resamples, in which all of them
are answered by one walk over its levels. Not a metric: those are in `openset.metrics.separation`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.kernels import Asked, Levels
from openset.ranking import Ranking, rank

TPR = 0.95  # the share of closed-set detections at which published tables stand
Numbers = NDArray[np.float64]


class Populations(NamedTuple):
    """Detections above the protocol's minimum score.

    Attributes:
        closed: Those on closed-set images.
        wild: Those on wild images.
        ranking: Closed-set ones as the known; None if there is nothing, or no number, to rank.
        levels: The same with images, for resamples.
    """

    closed: NDArray[np.bool_]
    wild: NDArray[np.bool_]
    ranking: Ranking | None
    levels: Levels | None

    @classmethod
    def of(
        cls,
        unknownness: NDArray[np.float64],
        image: NDArray[np.int32],
        wild: NDArray[np.bool_],
        keep: NDArray[np.bool_],
    ) -> Populations:
        """Rank the detections in `keep`.

        Args:
            unknownness: Of each detection.
            image: Of each detection.
            wild: Whether an image is.
            keep: Which detections take part.
        """
        strange = wild[image]
        closed, strange = keep & ~strange, keep & strange
        known, unknown = np.flatnonzero(closed), np.flatnonzero(strange)
        at = np.concatenate([known, unknown])
        values = unknownness[at]
        if not len(known) or not len(unknown) or np.isnan(values).any():
            return cls(closed, strange, None, None)
        ranking = rank(values[: len(known)], values[len(known) :])
        levels = Levels.of(image[at[ranking.order]], ranking.start, ranking.is_known)
        return cls(closed, strange, ranking, levels)


class Drawn(NamedTuple):
    """The populations in every resample.

    Attributes:
        closed: How many are on closed-set images.
        wild: How many are on wild ones.
        sums: What was asked for (`openset.kernels.ranked`).
    """

    closed: NDArray[np.int64]
    wild: NDArray[np.int64]
    sums: dict[Asked, Numbers]
