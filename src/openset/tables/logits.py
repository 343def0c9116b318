"""Logits: what their columns are, and the functions of them that scorers are made of.

A softmax and a row of sigmoids are different detectors: what a function does to either is said by
its `activation`. Which reading a scorer takes is its own business (`openset.scorers`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError

Activation = Literal["softmax", "sigmoid"]
F = TypeVar("F", np.float32, np.float64)
SOME_ROWS = 10  # fewer may sum to one by chance
MANY_ROWS = 100  # fewer may lie between 0 and 1 by chance


class LogitLayout(StrEnum):
    """What the columns of `logits` are. A length never implies it."""

    SOFTMAX = "softmax"
    SOFTMAX_BACKGROUND_LAST = "softmax-background-last"
    SOFTMAX_BACKGROUND_FIRST = "softmax-background-first"
    SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST = "softmax-background-first-unknown-last"
    SIGMOID = "sigmoid"
    SIGMOID_UNKNOWN_LAST = "sigmoid-unknown-last"

    @property
    def summary(self) -> str:
        """Its columns in words, and a detector that has them."""
        return _MEANING[self]

    @property
    def has_unknown(self) -> bool:
        """Whether the last column is "unknown"."""
        return self in _KNOWN

    @property
    def has_background(self) -> bool:
        """Whether a column is the background."""
        return "background" in self

    @property
    def is_sigmoid(self) -> bool:
        """Whether the columns are independent of each other."""
        return _KNOWN.get(self, self) is LogitLayout.SIGMOID


def sum_to_one(rows: NDArray[Any]) -> bool:
    """Whether rows are what a softmax makes of logits: none below zero, and each sums to one.

    >>> sum_to_one(np.array([[0.7, 0.3], [0.2, 0.8]])), sum_to_one(np.array([[0.7, 0.2]]))
    (True, False)
    """
    if not len(rows) or rows.shape[1] < 2 or not rows.min() >= 0:
        return False
    return bool(np.abs(rows.sum(axis=1, dtype=np.float64) - 1).max() < 1e-3)


def probabilities_in(logits: NDArray[Any], *, sigmoids: bool = True) -> str:
    """What shows that numbers are probabilities already, in words; nothing if they may be logits.

    Rows of a softmax, or sigmoids throughout: either could be by chance where rows are few.

    Args:
        logits: A row per detection or sample.
        sigmoids: Whether they may be sigmoids; logits of a classifier that has hardly begun to
            learn may well lie between 0 and 1.

    >>> probabilities_in(np.full((10, 4), 0.25))
    'all 10 rows of logits sum to 1'
    """
    if len(logits) >= SOME_ROWS and sum_to_one(logits):
        return f"all {len(logits)} rows of logits sum to 1"
    if not sigmoids or len(logits) < MANY_ROWS or logits.shape[1] < 2:
        return ""
    if not 0 <= logits.min() <= logits.max() <= 1:
        return ""
    return f"all {logits.size} logits lie between {logits.min():.3g} and {logits.max():.3g}"


_MEANING = {
    LogitLayout.SOFTMAX: "K classes, softmax, no background column",
    LogitLayout.SOFTMAX_BACKGROUND_LAST: "K classes then background, softmax over all K + 1 "
    "(Faster R-CNN of detectron2)",
    LogitLayout.SOFTMAX_BACKGROUND_FIRST: "background then K classes, softmax over all K + 1 "
    "(Faster R-CNN of torchvision)",
    LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST: 'background, K classes, then "unknown", '
    "softmax over all K + 2 (OpenDet, as we train it)",
    LogitLayout.SIGMOID: "K independent sigmoids (RetinaNet, FCOS, YOLO, DETR variants)",
    LogitLayout.SIGMOID_UNKNOWN_LAST: 'K independent sigmoids, then that of "unknown" (PROB)',
}
# What is left without the column "unknown", by layout.
_KNOWN = {
    LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST: LogitLayout.SOFTMAX_BACKGROUND_FIRST,
    LogitLayout.SIGMOID_UNKNOWN_LAST: LogitLayout.SIGMOID,
}
# Where the classes are, by layout.
_CLASSES = {
    LogitLayout.SOFTMAX: slice(None),
    LogitLayout.SOFTMAX_BACKGROUND_LAST: slice(None, -1),
    LogitLayout.SOFTMAX_BACKGROUND_FIRST: slice(1, None),
    LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST: slice(1, -1),
    LogitLayout.SIGMOID: slice(None),
    LogitLayout.SIGMOID_UNKNOWN_LAST: slice(None, -1),
}


def class_columns(layout: LogitLayout | None) -> slice:
    """Which columns of the logits are classes, not background and not "unknown"."""
    if layout is None:
        raise UsageError("logits need a layout: which column is the background, if any?")
    return _CLASSES[layout]


def without_unknown(
    values: NDArray[Any], layout: LogitLayout | None
) -> tuple[NDArray[Any], LogitLayout | None]:
    """Logits, or rows of a last layer, without those of "unknown"; and the layout that is left.

    What was published for detectors of known classes must not count it as one of them.
    """
    if layout is None or not layout.has_unknown:
        return values, layout
    return values[..., :-1], _KNOWN[layout]


def logsumexp(values: NDArray[F]) -> NDArray[F]:
    """Row-wise ``log(sum(exp(values)))`` without overflow."""
    peak = values.max(axis=1, keepdims=True)
    return np.asarray(peak[:, 0] + np.log(np.exp(values - peak).sum(axis=1)))


def max_softmax(values: NDArray[F]) -> NDArray[F]:
    """Row-wise largest softmax probability, in the precision of the values."""
    return np.asarray(softmax(values).max(axis=1))


def softmax(values: NDArray[F]) -> NDArray[F]:
    """Row-wise softmax."""
    shares = np.exp(values - values.max(axis=-1, keepdims=True))
    # Divide first and then take the largest, as float32 references do.
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Element-wise sigmoid without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))


def probabilities(values: NDArray[np.float64], activation: Activation) -> NDArray[np.float64]:
    """Class probabilities: they sum to one under a softmax, and are independent under sigmoids."""
    return softmax(values) if activation == "softmax" else sigmoid(values)


def free_energy(
    values: NDArray[np.float64], activation: Activation, temperature: float = 1.0
) -> NDArray[np.float64]:
    """``-T log sum exp(l / T)``, or for sigmoids ``-T sum log(1 + exp(l / T))``."""
    if not temperature > 0:
        raise UsageError(f"temperature must be positive, not {temperature}")
    scaled = values / temperature
    if activation == "softmax":
        return -temperature * logsumexp(scaled)
    return np.asarray(-temperature * np.logaddexp(0.0, scaled).sum(axis=1))
