"""Scores: what a classifier says about known and unknown samples; all that recognition metrics see.

A known sample has a label, the known class that the classifier would name, and an openness; an
unknown sample has an openness, and maybe a class. Openness is the paper's open-set score r(x):
larger = more unknown. A sample is rejected if its openness exceeds a threshold.

Not detections: whole samples, each with exactly one answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openset.findings import Finding, InputError, UsageError, refuse
from openset.recognition.openness import openness_of
from openset.recognition.ranking import AnswerRanking, rank_answers
from openset.tables.logits import SOME_ROWS, probabilities_in, sum_to_one

if TYPE_CHECKING:
    from openset.recognition.sweep import AnswerSweep

_LOGS = "the exponentials of all {} rows of logits sum to 1: log-probabilities"
_OF_LOGS = "--openness msp and max_logit are right as well"
_OF_SHARES = "--openness max_logit takes the largest share"
_ALIKE = "give both kinds in the same way: the logits before the softmax, or log p of both"
_WHOLE = 1e-3  # how near to a whole number a sum of rounded shares is
Weights = tuple[NDArray[Any], NDArray[Any]]
Ids = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The answers of a classifier on a test set of known and of unknown samples.

    Attributes:
        predicted: Known class named for each known sample, if nothing were rejected.
        label: Its true class, 0 to C - 1.
        openness: How unknown it looks.
        unknown_openness: How unknown each unknown sample looks.
        unknown_predicted: Known class named for each unknown sample, if that is known.
        classes: Names of the C known classes.
        threshold: Openness above which the classifier rejects, if it has been chosen.
        weights: How often each known and each unknown sample was drawn, a column per resample.
        ids: What each known and each unknown sample is called, if the file says.
        said: What was found where the scores were read.
        margin: By how much the largest logit of each known sample exceeds the next one, if there
            are logits of several classes.

    >>> Scores([0, 1, 1], [0, 1, 0], [0.1, 0.2, 0.6], [0.9, 0.3], [1, 1], ("cat", "dog"))
    Scores(3 known samples of 2 classes, 2 unknown samples)
    """

    predicted: NDArray[np.int32]
    label: NDArray[np.int32]
    openness: NDArray[np.float64]
    unknown_openness: NDArray[np.float64]
    unknown_predicted: NDArray[np.int32] | None
    classes: tuple[str, ...]
    threshold: float | None = None
    weights: Weights | None = None
    ids: Ids | None = None
    said: tuple[Finding, ...] = ()
    margin: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Convert the columns, and refuse what cannot be counted."""
        n = len(self.classes)
        _set(self, "openness", _openness(self.openness, "known"))
        _set(self, "unknown_openness", _openness(self.unknown_openness, "unknown"))
        _set(self, "label", class_column(self.label, n, "label", "known"))
        _set(self, "predicted", class_column(self.predicted, n, "predicted class", "known"))
        known = {"labels": self.label, "predicted classes": self.predicted}
        same_length(known, self.openness, "known")
        if self.unknown_predicted is not None:
            named = class_column(self.unknown_predicted, n, "predicted class", "unknown")
            _set(self, "unknown_predicted", named)
            same_length({"predicted classes": named}, self.unknown_openness, "unknown")
        if not len(self.openness) and not len(self.unknown_openness):
            raise refuse("OS804", "there is neither a known nor an unknown sample")
        if self.threshold is not None and np.isnan(self.threshold):
            raise UsageError("threshold is not a number")

    @classmethod
    def from_logits(
        cls,
        logits: ArrayLike,
        label: ArrayLike,
        unknown_logits: ArrayLike,
        *,
        openness: str = "max_logit",
        classes: Sequence[str] | None = None,
        threshold: float | None = None,
    ) -> Scores:
        """Scores from the logits of a classifier: the class is the largest logit.

        Args:
            logits: Known samples, a row each, a column per known class.
            label: Their true classes, 0 to C - 1.
            unknown_logits: Unknown samples, with the same columns.
            openness: What makes it: ``max_logit``, ``msp`` or ``energy``.
            classes: Names of the classes; their numbers by default.
            threshold: Openness above which the classifier rejects.

        >>> Scores.from_logits([[4.0, 0.0], [0.0, 3.0]], [0, 1], [[1.0, 0.5]]).openness.tolist()
        [-4.0, -3.0]
        """
        known, unknown = _logits(logits, "known"), _logits(unknown_logits, "unknown")
        _refuse_turned(known, np.asarray(label))
        if known.shape[1] != unknown.shape[1]:
            widths = f"{known.shape[1]} and {unknown.shape[1]}"
            raise refuse("OS802", f"logits of known and unknown samples have {widths} columns")
        _refuse_probabilities(known, unknown, openness)
        width = known.shape[1]
        names = tuple(map(str, range(width) if classes is None else classes))
        if len(names) != width:
            raise refuse("OS802", f"{len(names)} class names for {width} columns of logits")
        return cls(
            known.argmax(axis=1).astype(np.int32),
            np.asarray(label),
            openness_of(known, openness),
            openness_of(unknown, openness),
            unknown.argmax(axis=1).astype(np.int32),
            names,
            threshold,
            margin=_margin(known),
        )

    def __repr__(self) -> str:
        known = f"{self.n_known} known samples of {self.n_classes} classes"
        return f"Scores({known}, {self.n_unknown} unknown samples)"

    @property
    def n_known(self) -> int:
        """Number of known samples."""
        return len(self.openness)

    @property
    def n_unknown(self) -> int:
        """Number of unknown samples."""
        return len(self.unknown_openness)

    @property
    def n_classes(self) -> int:
        """Number of known classes, C."""
        return len(self.classes)

    @property
    def label_names(self) -> NDArray[np.str_]:
        """The label of each known sample, by name: numbers go by each file's own list."""
        return np.array(self.classes, np.str_)[self.label]

    @property
    def predicted_names(self) -> NDArray[np.str_]:
        """The class named for each known sample, by name."""
        return np.array(self.classes, np.str_)[self.predicted]

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the class named for each known sample is its label, rejected or not."""
        return self.predicted == self.label

    @cached_property
    def ranking(self) -> AnswerRanking:
        """The samples by openness; the order is shared by all resamples."""
        return rank_answers(self.openness, self.correct, self.unknown_openness)

    @cached_property
    def drawn(self) -> AnswerRanking:
        """The ranking with the weights of the resamples, or as it is without any."""
        if self.weights is None:
            return self.ranking
        return self.ranking.weighted(np.concatenate(self.weights)[self.ranking.order])

    @cached_property
    def sweep(self) -> AnswerSweep:
        """The answers at every threshold."""
        from openset.recognition.sweep import AnswerSweep

        return AnswerSweep(self)

    def thresholds(self) -> NDArray[np.float64]:
        """All that make a difference: minus infinity, then every distinct openness."""
        values = np.concatenate([self.openness, self.unknown_openness])
        return np.append(-np.inf, values[self.ranking.order[self.ranking.start]])

    def threshold_at(self, index: int) -> float:
        """One of `thresholds`, without the others."""
        if index == 0:
            return -np.inf
        sample = self.ranking.order[self.ranking.start[index - 1]]
        at_unknown = sample - self.n_known
        return float(self.openness[sample] if at_unknown < 0 else self.unknown_openness[at_unknown])

    @cached_property
    def best(self) -> dict[Any, float]:
        """Thresholds that metrics have found to be best on these samples."""
        return {}

    def resampled(self, weights: Weights) -> Scores:
        """The same scores with every sample counted as often as it was drawn."""
        twin = replace(self, weights=weights)
        shared = {"correct": self.correct, "ranking": self.ranking, "best": self.best}
        vars(twin).update(shared)
        return twin


def _margin(logits: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """By how much the largest of each row exceeds the next."""
    if logits.shape[1] < 2:
        return None
    largest = np.partition(logits, -2, axis=1)[:, -2:]
    return np.asarray(largest[:, 1] - largest[:, 0])


def _refuse_probabilities(
    known: NDArray[np.float64], unknown: NDArray[np.float64], openness: str
) -> None:
    """Refuse probabilities: a softmax is not taken twice, and not of one side alone."""
    every = np.concatenate([known, unknown])
    said = probabilities_in(every, sigmoids=False)
    said = said or _of_one_sum(every)
    if said and openness != "max_logit":
        fix = f"give the logits before the softmax; of these, {_OF_SHARES}"
        raise _not_logits(every, f"{said}, and {openness} needs logits", fix)
    if openness == "energy" and len(every) >= SOME_ROWS and _log_probabilities(every):
        fix = f"give the logits before the softmax; of these, {_OF_LOGS}"
        raise _not_logits(every, f"{_LOGS.format(len(every))}, whose energy is 0", fix)
    size = min(len(known), len(unknown))
    if size >= SOME_ROWS:
        says = {"known": _scale(known[:size]), "unknown": _scale(unknown[:size])}
        if says["known"] != says["unknown"]:
            which = "known" if says["known"] else "unknown"
            side = known if which == "known" else unknown
            said = probabilities_in(side, sigmoids=False) or f"the rows are {says[which]}"
            raise _not_logits(side, f"of {which} samples alone, {said}", _ALIKE)


def _scale(rows: NDArray[np.float64]) -> str:
    """What a softmax made of logits, or its logarithm; nothing if they may be logits."""
    if probabilities_in(rows, sigmoids=False):
        return "probabilities"
    return "log-probabilities" if _log_probabilities(rows) else ""


def _of_one_sum(rows: NDArray[np.float64]) -> str:
    """Whether no number is below zero and rows have one sum: percentages, bytes, or votes.

    A whole one: a network that says the same of all samples has some sum, too.
    """
    total = float(rows[0].sum()) if len(rows) >= SOME_ROWS else 0.0
    whole = np.isfinite(total) and round(total) > 1 and abs(total - round(total)) < _WHOLE
    if not whole or not sum_to_one(rows / total):
        return ""
    return f"all {len(rows)} rows of logits sum to {total:.4g}"


def _log_probabilities(rows: NDArray[np.float64]) -> bool:
    return bool(rows.max() <= 0) and sum_to_one(np.exp(rows))


def _not_logits(rows: NDArray[np.float64], said: str, fix: str) -> InputError:
    example = ", ".join(f"{value:.4g}" for value in rows[0, :3])
    return refuse("OS510", said, count=len(rows), example=f"[{example}]", fix=fix)


def _set(scores: Scores, name: str, column: NDArray[Any]) -> None:
    object.__setattr__(scores, name, column)


def _openness(values: ArrayLike, which: str) -> NDArray[np.float64]:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise refuse("OS802", f"openness of {which} samples is not numeric: {error}") from error
    if column.ndim != 1:
        raise refuse("OS802", f"openness of {which} samples has shape {column.shape}, not (n,)")
    _refuse_nan(np.isnan(column), f"openness of {which} samples")
    return column


def _refuse_nan(bad: NDArray[np.bool_], what: str) -> None:
    if bad.any():
        first = f"sample {int(np.flatnonzero(bad)[0])}"
        count = int(bad.sum())
        raise refuse("OS801", f"{what}: {count} are not a number", count=count, example=first)


def class_column(values: ArrayLike, n: int, what: str, which: str) -> NDArray[np.int32]:
    """Whole numbers from 0 to n - 1, one per sample, or a refusal."""
    column = np.asarray(values)
    if not column.size:
        return np.empty(0, np.int32)
    if column.ndim != 1:
        message = f"{what} of {which} samples has shape {column.shape}, not (n,)"
        if column.ndim == 2 and column.shape[1] == n > 1:
            cause = "labels are one-hot, or scores of classes"
            raise refuse(
                "OS802", message, cause=cause, fix="write the place of the largest: argmax(axis=1)"
            )
        raise refuse("OS802", message)
    whole = column.dtype.kind == "f" and bool((column == np.trunc(column)).all())
    if column.dtype.kind not in "iu" and not whole:
        raise refuse(
            "OS803",
            f"{what} of {which} samples is {column.dtype}, not a whole number",
            cause="a name, a share or a probability in place of a class",
        )
    bad = (column < 0) | (column >= n)
    if bad.any():
        at, count = int(np.flatnonzero(bad)[0]), int(bad.sum())
        message = f"{count} of {len(column)} {which} samples have a {what} outside 0 to {n - 1}"
        raise refuse("OS803", message, count=count, example=f"sample {at}: {column[at]:.15g}")
    return column.astype(np.int32, copy=False)


def same_length(columns: dict[str, NDArray[Any]], samples: NDArray[Any], which: str) -> None:
    """Refuse columns that have not one entry per sample."""
    for name, column in columns.items():
        if len(column) != len(samples):
            message = f"{len(column)} {name} for {len(samples)} {which} samples"
            raise refuse("OS802", message, count=abs(len(column) - len(samples)))


def _refuse_turned(logits: NDArray[np.float64], label: NDArray[Any]) -> None:
    """Logits with as many columns as there are labels, and other rows."""
    if label.ndim == 1 and len(label) == logits.shape[1] != logits.shape[0]:
        raise refuse(
            "OS802",
            f"logits of known samples have shape {logits.shape}, and there are {len(label)} labels",
            cause="they are turned: a row for each class, and a column for each sample",
            fix="write logits.T of known and of unknown samples",
        )


def _logits(values: ArrayLike, which: str) -> NDArray[np.float64]:
    try:
        given = np.asarray(values)
        if given.dtype.kind == "c":
            raise TypeError("complex numbers")
        logits = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise refuse("OS802", f"logits of {which} samples are not numeric: {error}") from error
    if logits.ndim != 2 or not logits.shape[1]:
        message = f"logits of {which} samples have shape {logits.shape}, not (samples, classes)"
        raise refuse("OS802", message)
    _refuse_nan(np.any(np.isnan(logits), axis=1), f"logits of {which} samples")
    _refuse_infinite(logits.max(axis=1), which)
    return logits


def _refuse_infinite(largest: NDArray[np.float64], which: str) -> None:
    """A largest logit that is infinite: which class it is of, and how sure, is lost."""
    bad = np.isinf(largest)  # others may be minus infinity, as classes that are masked are
    if bad.any():
        first, count = int(np.flatnonzero(bad)[0]), int(bad.sum())
        message = f"the largest logit of {count} of {len(bad)} {which} samples is infinite"
        raise refuse("OS801", message, count=count, example=f"sample {first}: {largest[first]}")
