"""Logits: their columns by meaning, and the two functions that softmax scorers are made of."""

from __future__ import annotations

from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.tables import Detections
from openset.tables.detections import LogitLayout

Background = Literal["keep", "drop"]
F = TypeVar("F", np.float32, np.float64)

# Where the classes are, by layout. A layout that is not here has no softmax.
_CLASSES = {
    LogitLayout.SOFTMAX: slice(None),
    LogitLayout.SOFTMAX_BACKGROUND_LAST: slice(None, -1),
    LogitLayout.SOFTMAX_BACKGROUND_FIRST: slice(1, None),
}


def class_columns(detections: Detections) -> slice:
    """Which columns of the logits are classes, not background."""
    if detections.layout not in _CLASSES:
        raise UsageError(f"this needs logits of a softmax, but their layout is {detections.layout}")
    return _CLASSES[detections.layout]


def softmax_logits(detections: Detections, background: Background) -> NDArray[np.float64]:
    """The logits that enter the softmax, in float64: with the background column or without it."""
    if background not in ("keep", "drop"):
        raise UsageError(f"background must be 'keep' or 'drop', not {background!r}")
    assert detections.logits is not None
    columns = class_columns(detections)
    kept = detections.logits[:, columns] if background == "drop" else detections.logits
    if kept.shape[1] == 0:
        raise UsageError("no column is left: the logits have a background and no class")
    return kept.astype(np.float64)


def logsumexp(values: NDArray[F]) -> NDArray[F]:
    """Row-wise ``log(sum(exp(values)))`` without overflow."""
    peak = values.max(axis=1, keepdims=True)
    return np.asarray(peak[:, 0] + np.log(np.exp(values - peak).sum(axis=1)))


def max_softmax(values: NDArray[F]) -> NDArray[F]:
    """Row-wise largest softmax probability, in the precision of the values."""
    peak = values.max(axis=1, keepdims=True)
    shares = np.exp(values - peak)
    # Divide first and then take the largest, as float32 references do.
    return np.asarray((shares / shares.sum(axis=1, keepdims=True)).max(axis=1))
