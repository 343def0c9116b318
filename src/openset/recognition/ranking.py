"""AnswerRanking: known and unknown samples by openness, with those that are named correctly.

What `openset.ranking` has for any two populations, and the counts that OSCR and OpenAUC need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from openset.ranking import Counts, Floats, Ranking, only, rank, running


@dataclass(frozen=True, eq=False)
class AnswerRanking(Ranking):
    """Samples at each distinct openness, least unknown first.

    Attributes:
        is_correct: Whether each sample is known and classified correctly, in the ranking's order.
        correct: Known samples classified correctly at each level.
    """

    is_correct: NDArray[np.bool_]
    correct: Counts

    @cached_property
    def correct_up_to(self) -> Counts:
        """Known samples classified correctly up to each level, after a 0."""
        return running(self.correct)

    def weighted(self, weights: Counts) -> Self:
        """The ranking with every sample counted as often as it was drawn."""
        correct = self.levels(only(weights, self.is_correct))
        return replace(super().weighted(weights), correct=correct)

    def leading_correct(self) -> NDArray[np.bool_]:
        """Whether the first known sample of each level, in the order of input, is correct."""
        return self.is_correct[self.start]


def rank_answers(
    openness: Floats, correct: NDArray[np.bool_], unknown_openness: Floats
) -> AnswerRanking:
    """Rank known and unknown samples.

    >>> samples = np.array([0.1, 0.5]), np.array([True, False]), np.array([0.5, 0.9])
    >>> rank_answers(*samples).correct.tolist()
    [1, 0, 0]
    """
    both = rank(openness, unknown_openness)
    is_correct = np.append(correct, False)[np.minimum(both.order, len(correct))]
    shared = (both.order, both.start, both.is_known, both.known, both.unknown)
    return AnswerRanking(*shared, is_correct, both.levels(is_correct))
