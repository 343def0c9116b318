"""AnswerSweep: what F-score, Youden's index and normalised accuracy are at every threshold.

Exact, at every distinct openness and at "reject everything", in the time of one sort: when one more
sample is accepted only one class changes its precision, so that macro precision is a running sum.

Not a way to choose the threshold to report: the best point of a sweep over test samples is
optimistic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.recognition.scores import Scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AnswerSweep:
    """`Answers` at every threshold, from rejecting everything to accepting everything.

    Attributes:
        scores: The samples.
        part: Only some of the thresholds.
    """

    scores: Scores
    part: slice = field(default_factory=lambda: slice(None))

    def parts(self, size: int = 1 << 18) -> Iterator[AnswerSweep]:
        """The same in parts that fit into a processor's cache."""
        thresholds = len(self.scores.ranking) + 1
        for start in range(0, thresholds, size):
            yield replace(self, part=slice(start, start + size))

    @property
    def n_known(self) -> int:
        """Known samples."""
        return self.scores.n_known

    @property
    def n_unknown(self) -> int:
        """Unknown samples."""
        return self.scores.n_unknown

    @property
    def n_classes(self) -> int:
        """Known classes."""
        return self.scores.n_classes

    @property
    def threshold(self) -> Floats:
        """Samples with an openness up to this are accepted; the first is minus infinity."""
        return self.scores.thresholds()[self.part]

    @property
    def true(self) -> NDArray[np.int32]:
        """Known samples accepted and named correctly: true positives of known classes."""
        return self.scores.ranking.correct_up_to[self.part]

    @property
    def known(self) -> NDArray[np.int32]:
        """Known samples accepted."""
        return self.scores.ranking.known_up_to[self.part]

    @property
    def unknown(self) -> NDArray[np.int32]:
        """Unknown samples accepted."""
        return self.scores.ranking.unknown_up_to[self.part]

    @property
    def false(self) -> NDArray[np.int32]:
        """Accepted samples with a wrong name: false positives of known classes."""
        return self.known - self.true + self.unknown

    @property
    def rejected(self) -> NDArray[np.int32]:
        """Unknown samples rejected: true positives of "unknown"."""
        return self.n_unknown - self.unknown

    @property
    def rejected_known(self) -> NDArray[np.int32]:
        """Known samples rejected: false positives of "unknown"."""
        return self.n_known - self.known

    def macro_recall(self) -> Floats:
        """Mean over classes of the share of their samples accepted and named correctly."""
        size = np.bincount(self.scores.label, minlength=self.n_classes)
        return self._accepted_sum(_inverse(size), correct=True) / self.n_classes

    def macro_tnr(self) -> Floats:
        """Mean over classes of the share of other samples that do not get the class's name."""
        size = np.bincount(self.scores.label, minlength=self.n_classes)
        others = self.n_known + self.n_unknown - size
        return 1 - self._accepted_sum(_inverse(others), correct=False) / self.n_classes

    def macro_precision(self) -> Floats:
        """Mean over classes of the precision of their name, 0 where it is not used."""
        named, hit = self._in_order
        by_class = np.argsort(named, kind="stable")
        ends = np.cumsum(np.bincount(named, minlength=self.n_classes))
        change = np.empty(len(named))
        for rows in np.split(by_class, ends[:-1]):
            precision = np.cumsum(hit[rows]) / np.arange(1, len(rows) + 1)
            change[rows] = np.diff(precision, prepend=0.0)
        return self._at_levels(change) / self.n_classes

    def _accepted_sum(self, worth: Floats, *, correct: bool) -> Floats:
        """Running sum of what accepted samples are worth by the class they are named."""
        named, hit = self._in_order
        weight = worth[named]
        weight *= hit if correct else ~hit
        return self._at_levels(weight)

    @cached_property
    def _in_order(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The class named for every sample, and whether it is right, least unknown first."""
        scores, order = self.scores, self.scores.ranking.order
        assert scores.unknown_predicted is not None
        named = np.concatenate([scores.predicted, scores.unknown_predicted])
        hit = np.concatenate([scores.correct, np.zeros(scores.n_unknown, bool)])
        return named.astype(_narrow(scores.n_classes))[order], hit[order]

    def _at_levels(self, change: Floats) -> Floats:
        """The running sum of what samples change, where levels end."""
        running, start = np.cumsum(change, out=change), self.scores.ranking.start
        if len(start) < len(running):
            running = running[np.append(start[1:], len(running)) - 1]
        return np.append(0.0, running)[self.part]


def _inverse(size: NDArray[np.int64]) -> Floats:
    """One over each size, 0 for nothing."""
    return np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0)


def _narrow(n_classes: int) -> type[np.int16 | np.int32]:
    """The integer that sorts fastest: NumPy has a radix sort for 16 bits."""
    return np.int16 if n_classes < np.iinfo(np.int16).max else np.int32
