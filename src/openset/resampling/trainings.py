"""Trainings: how far a number would move, had the method been trained again.

Resamples of images know nothing of it: they take the trained weights as they are. What tells is
several trainings of one method on the same test images, which differ by their seeds. The mean over
k of them has the standard error s / √k, with k - 1 degrees of freedom, which are few: `together`
adds it to the deviation of the image resamples and says how many degrees of freedom the sum has
(Satterthwaite 1946, Welch 1947), and ends and p-values are of Student's law.

Trainings differ on given images, in part because of these images. That part is in both deviations,
so that an interval is rather too wide than too narrow.

Not a choice between seeds, and not a guess from one training: of one, `spread` knows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a number lies from what it estimates.

    Attributes:
        deviation: Its standard error.
        freedom: From how many degrees of freedom that is known.

    >>> both = together(0.01, spread([0.5, 0.52, 0.54]))
    >>> round(both.deviation, 4), round(both.freedom, 1)
    (0.0153, 6.1)
    >>> round(both.reach(0.025) / both.deviation, 2)
    2.43
    """

    deviation: float
    freedom: float

    def reach(self, tail: float) -> float:
        """How far to both sides an interval reaches that leaves out a share at either."""
        from scipy.special import stdtrit  # needed where there are several trainings only

        return -float(stdtrit(self.freedom, tail)) * self.deviation

    def p_value(self, difference: float) -> float:
        """Two-sided p of "no difference": twice the tail that just reaches 0."""
        from scipy.special import stdtr

        if not difference:
            return 1.0
        return 2 * float(stdtr(self.freedom, -abs(difference) / self.deviation))


def spread(values: Sequence[float]) -> Spread | None:
    """The spread of the mean over trainings; None of one, which does not tell.

    >>> spread([0.5, 0.5]), spread([0.5])
    (Spread(deviation=0.0, freedom=1), None)
    """
    if len(values) < 2:
        return None
    deviation = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Spread(deviation, len(values) - 1)


def together(images: float, *trainings: Spread) -> Spread:
    """The deviation over images and the spreads over trainings, as one."""
    parts = [Spread(images, math.inf), *trainings]
    total = sum(one.deviation**2 for one in parts)
    unsure = sum(one.deviation**4 / one.freedom for one in parts)
    return Spread(math.sqrt(total), total**2 / unsure if unsure else math.inf)
