"""Answers: true and false ones at one threshold, for C known classes and "unknown".

The paper's counts (Sec. 3.1). A known sample that is accepted and misnamed is a false positive of
the class named and a false negative of its own; one that is rejected is a false negative of its own
and a false positive of "unknown"; an unknown sample that is accepted is a false positive of the
class named. Arrays of one entry per class, and a column per resample where there are resamples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from openset.recognition.scores import Scores

Floats = NDArray[np.float64]


class Answers(Protocol):
    """What metrics ask of counts, at one threshold (`AnswersAt`) or at all (`AnswerSweep`)."""

    @property
    def true(self) -> Any:
        """Known samples accepted and named correctly."""

    @property
    def false(self) -> Any:
        """Accepted samples with a wrong name."""

    @property
    def rejected(self) -> Any:
        """Unknown samples rejected."""

    @property
    def rejected_known(self) -> Any:
        """Known samples rejected."""

    @property
    def n_known(self) -> Any:
        """Known samples."""

    @property
    def n_unknown(self) -> Any:
        """Unknown samples."""

    @property
    def n_classes(self) -> int:
        """Known classes."""

    def macro_precision(self) -> Floats:
        """Mean over classes of the precision of their name, 0 where it is not used."""

    def macro_recall(self) -> Floats:
        """Mean over classes of the share of their samples accepted and named correctly."""

    def macro_tnr(self) -> Floats:
        """Mean over classes of the share of other samples that do not get their name."""


@dataclass(frozen=True, slots=True)
class AnswersAt:
    """Counts at one threshold: `Answers`.

    Attributes:
        tp: Known samples of each class that are accepted and named so.
        fp: Other samples that are accepted and named so; None if nobody knows what unknown samples
            are named.
        fn: Known samples of each class that are rejected or misnamed.
        false: All accepted samples with a wrong name, the sum of `fp` where that is known.
        rejected: Unknown samples that are rejected: true positives of "unknown".
        rejected_known: Known samples that are rejected: false positives of "unknown".
        n_known: Known samples.
        n_unknown: Unknown samples.
    """

    tp: Floats
    fp: Floats | None
    fn: Floats
    false: Any
    rejected: Any
    rejected_known: Any
    n_known: Any
    n_unknown: Any

    @property
    def n_classes(self) -> int:
        """Known classes."""
        return len(self.tp)

    @property
    def true(self) -> Any:
        """Known samples accepted and named correctly: the sum of `tp`."""
        return self.tp.sum(axis=0)

    def macro_precision(self) -> Floats:
        """Mean over classes of the precision of their name, 0 where it is not used."""
        assert self.fp is not None
        return ratio(self.tp, self.tp + self.fp).mean(axis=0)

    def macro_recall(self) -> Floats:
        """Mean over classes of the share of their samples accepted and named correctly."""
        return ratio(self.tp, self.tp + self.fn).mean(axis=0)

    def macro_tnr(self) -> Floats:
        """Mean over classes of the share of other samples that do not get their name."""
        assert self.fp is not None
        others = self.n_known + self.n_unknown - self.tp - self.fn
        return 1 - ratio(self.fp, others).mean(axis=0)


def answers_at(scores: Scores, threshold: float) -> AnswersAt:
    """Count the answers when samples with an openness above a threshold are rejected.

    >>> one = Scores([0, 1], [0, 0], [0.1, 0.2], [0.1, 0.9], [1, 0], ("cat", "dog"))
    >>> at = answers_at(one, 0.5)
    >>> at.tp.tolist(), at.fp.tolist(), at.fn.tolist(), float(at.rejected)
    ([1.0, 0.0], [0.0, 2.0], [1.0, 0.0], 1.0)
    """
    known, unknown = scores.weights or (None, None)
    accepted = scores.openness <= threshold
    let_in = scores.unknown_openness <= threshold
    hit = accepted & scores.correct
    missed = accepted & ~scores.correct
    n = scores.n_classes
    tp = _by_class(scores.label, hit, known, n)
    named_wrongly = _by_class(scores.predicted, missed, known, n)
    fp = None
    if scores.unknown_predicted is not None:
        fp = named_wrongly + _by_class(scores.unknown_predicted, let_in, unknown, n)
    in_class = _by_class(scores.label, None, known, n)
    n_known, n_unknown = in_class.sum(axis=0), _count(None, unknown, scores.n_unknown)
    open_in = _count(let_in, unknown, scores.n_unknown)
    return AnswersAt(
        tp=tp,
        fp=fp,
        fn=in_class - tp,
        false=named_wrongly.sum(axis=0) + open_in,
        rejected=n_unknown - open_in,
        rejected_known=n_known - _count(accepted, known, scores.n_known),
        n_known=n_known,
        n_unknown=n_unknown,
    )


def _by_class(
    klass: NDArray[np.int32], keep: NDArray[np.bool_] | None, weights: NDArray[Any] | None, n: int
) -> Floats:
    """Samples of each class, all or those to keep."""
    at = klass if keep is None else klass[keep]
    if weights is None:
        return np.bincount(at, minlength=n).astype(np.float64)
    columns = (weights if keep is None else weights[keep]).T
    return np.stack([np.bincount(at, column, n) for column in columns], axis=1)


def _count(keep: NDArray[np.bool_] | None, weights: NDArray[Any] | None, n: int) -> Any:
    """Samples, all or those to keep."""
    if weights is None:
        return np.float64(n if keep is None else np.count_nonzero(keep))
    every = np.ones(n, bool) if keep is None else keep
    return np.einsum("ij,i->j", weights, every, dtype=np.float64)


def ratio(numerator: Any, denominator: Any, empty: float = 0.0) -> Any:
    """A quotient of arrays or numbers, and `empty` for 0 / 0.

    >>> ratio([1, 0], [2, 0]).tolist()
    [0.5, 0.0]
    """
    below = np.asarray(denominator, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.array(numerator / below, copy=None)
    quotient[below == 0] = empty
    return quotient
