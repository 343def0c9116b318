"""Readings of logits: with the background or without, as a softmax or as sigmoids.

A softmax and a row of sigmoids are different detectors. Where a scorer was published for a softmax
and the logits are sigmoids, there are two readings, and the caller says which (`activation`): the
sigmoid analogue, or a softmax over the sigmoids' logits as FMIYC's code computes it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence
from openset.tables.head import Head
from openset.tables.logits import Activation, LogitLayout, class_columns, probabilities

Background = Literal["keep", "drop"]


def _check_background(background: str) -> None:
    """Refuse a misspelt choice."""
    if background not in ("keep", "drop"):
        raise UsageError(f"background must be 'keep' or 'drop', not {background!r}")


def logits_of(evidence: Evidence, background: Background) -> NDArray[np.float64]:
    """The logits in float64, with the background column or without it."""
    _check_background(background)
    logits, classes = evidence["logits"], class_columns(evidence.layout)
    if logits[:, classes].shape[1] == 0:
        raise refuse("OS503", "no column is left: the logits have a background and no class")
    return (logits[:, classes] if background == "drop" else logits).astype(np.float64)


def class_probabilities(evidence: Evidence, temperature: float = 1.0) -> NDArray[np.float64]:
    """Of each class, as the layout says: background takes part in a softmax, and is dropped."""
    logits = logits_of(evidence, "keep") / temperature
    activation: Activation = "sigmoid" if evidence.layout is LogitLayout.SIGMOID else "softmax"
    return probabilities(logits, activation)[:, class_columns(evidence.layout)]


def head_of(evidence: Evidence, background: Background) -> Head:
    """The last layer, with the row of the background or without it."""
    _check_background(background)
    return evidence.head.of_classes() if background == "drop" else evidence.head


def activation_of(layout: LogitLayout | None, stated: Activation | None) -> Activation:
    """Softmax or sigmoid: what the layout says, and what was stated where it leaves two readings.

    >>> activation_of(LogitLayout.SOFTMAX, None)
    'softmax'
    """
    if stated not in (None, "softmax", "sigmoid"):
        raise UsageError(f"activation must be 'softmax' or 'sigmoid', not {stated!r}")
    if layout is not LogitLayout.SIGMOID:
        if stated == "sigmoid":
            raise UsageError(f"activation='sigmoid', but the logits' layout is {layout}")
        return "softmax"
    if stated is None:
        raise UsageError(
            "this was published for a softmax, but the logits' layout is sigmoid: say "
            "activation='sigmoid' for the analogue, or 'softmax' for a softmax over these logits"
        )
    return stated
