"""The temperature at which logits make the scores of their boxes, and whether two files agree.

A threshold on energies or logits means nothing for logits on another scale. Where scores are a
softmax or sigmoid of logits that were divided by one number, that number can be found; two files of
one detector have the same. Scores of other origin (times objectness) have none, and say nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables import Detections
from openset.tables.evidence import logit_classes
from openset.tables.logits import class_columns, probabilities
from openset.tables.vocabulary import normal

_ROWS, _FEWEST = 1000, 50  # boxes that are looked at, and that tell
_BETWEEN = 0.1, 0.999  # scores from which a temperature can be read
_RANGE, _HALVINGS = np.log(30.0), 30  # temperatures from 1/30 to 30
_NEAR, _NEARLY = 0.01, 0.9  # of the boxes, nine tenths have it to one per cent
_APART = 0.05  # what no rounding makes of it


def other_temperature(scored: Detections, fitted_on: Detections, where: str) -> Finding | None:
    """OS514, if logits of one file make its scores on another scale than those of the other."""
    ours, theirs = temperature(scored), temperature(fitted_on)
    if ours is None or theirs is None or abs(np.log(ours / theirs)) < _APART:
        return None
    said = f"logits make scores of {where} at a temperature of {theirs:.3g}, and of the detections "
    return Finding("OS514", Level.WARNING, f"{said}to score at {ours:.3g}", len(scored), where)


def temperature(found: Detections) -> float | None:
    """By what logits must be divided to make the scores; None if no one number does."""
    if found.logits is None or found.layout is None or not found.labels:
        return None
    columns, own = np.arange(found.logits.shape[1])[class_columns(found.layout)], {}
    for at, name in zip(columns.tolist(), logit_classes(found), strict=False):
        own[normal(name)] = at
    place = np.array([own.get(normal(name), -1) for name in found.labels])[found.label]
    low, high = _BETWEEN
    # Of a softmax, only the largest logit's probability falls as the temperature rises.
    told = (place == found.logits.argmax(axis=1)) | (found.layout.is_sigmoid & (place >= 0))
    rows = np.flatnonzero(told & (found.score > low) & (found.score < high))
    rows = rows[:: max(1, len(rows) // _ROWS)]
    if len(rows) < _FEWEST:
        return None
    logits, score = found.logits[rows].astype(np.float64), found.score[rows]
    if found.layout.is_sigmoid:
        with np.errstate(divide="ignore"):
            each = logits[np.arange(len(rows)), place[rows]] / np.log(score / (1 - score))
    else:
        each = _solved(logits, place[rows], score)
    middle = float(np.median(each))
    alike = np.abs(each - middle) < _NEAR * middle
    return middle if middle > 0 and alike.mean() >= _NEARLY else None


def _solved(
    logits: NDArray[np.float64], place: NDArray[np.integer], score: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The temperature of each row, by halving the range of its logarithm."""
    low, high = np.full(len(score), -_RANGE), np.full(len(score), _RANGE)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        made = probabilities(logits / np.exp(middle)[:, None], "softmax")
        cold = made[np.arange(len(score)), place] > score
        low, high = np.where(cold, middle, low), np.where(cold, high, middle)
    return np.asarray(np.exp((low + high) / 2))
