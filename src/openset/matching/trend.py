"""Trend: whether scores are in order in the input, as a file that was sorted by them has them."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class Trend(NamedTuple):
    """Whether scores fall, or rise, in the order of the input; of no detection they do both.

    Attributes:
        ends: First and last score.
        falls: None is above the one before.
        rises: None is below.
    """

    ends: tuple[float, float] | None = None
    falls: bool = True
    rises: bool = True

    @classmethod
    def of(cls, score: NDArray[np.float64]) -> Self:
        """Of scores in the order of the input."""
        if not len(score):
            return cls()
        steps = np.diff(score)
        ends = float(score[0]), float(score[-1])
        return cls(ends, bool((steps <= 0).all()), bool((steps >= 0).all()))

    def then(self, after: Trend) -> Trend:
        """Of these scores and of others that come after them."""
        if self.ends is None or after.ends is None:
            return self if after.ends is None else after
        step = after.ends[0] - self.ends[1]
        return Trend(
            (self.ends[0], after.ends[1]),
            self.falls and after.falls and step <= 0,
            self.rises and after.rises and step >= 0,
        )
