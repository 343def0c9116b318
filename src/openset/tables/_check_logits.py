"""Checks that logits are logits, and of the boxes that they are put beside.

Boxes and logits are often kept in two files, and nothing but their order joins them. What a box is
called goes along with the largest of its logits: in other rows it would do so by chance alone, and
in columns of another order it would go along with another class. Single boxes may be called
otherwise: by another threshold, or a second label of one region.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.tables.annotations import Annotations
from openset.tables.columns import positions
from openset.tables.detections import Detections
from openset.tables.logits import (
    Activation,
    LogitLayout,
    class_columns,
    probabilities,
    probabilities_in,
)
from openset.tables.misnaming import misnamed
from openset.tables.vocabulary import is_unknown_spelling, normal

_FEWEST = 100  # boxes, fewer of which prove nothing
_MOST = 20_000  # boxes that scores are compared of
_ROUNDED = 2e-3  # what half precision and three digits change of a score
_HARDLY, _NEARLY = 0.5, 0.9  # shares of scores that logits make
_ROWS = (1, -1, 2, -2, 3, -3)  # how far rows may have slipped
_BESIDE = 2  # columns that are no classes, at most
_BELONGS = 0.1  # of what chance leaves over, labels must tell of the largest logits


def refuse_strange(
    detections: Detections, columns: Sequence[str] | None, truth: Annotations | None = None
) -> None:
    """Refuse logits that are of other boxes, of other classes, or none.

    Args:
        detections: With logits.
        columns: Names of the columns that are classes, if they are known.
        truth: The ground truth, which names labels that are numbers.
    """
    assert detections.logits is not None
    refuse_probabilities(detections.logits)
    _refuse_other_scores(detections)
    best = detections.logits[:, class_columns(detections.layout)].argmax(axis=1)
    held, label = np.unique(detections.label, return_inverse=True)
    names = _names(detections, held, truth)
    kept = np.array([not is_unknown_spelling(name) for name in names], np.bool_)[label]
    label, best = label[kept], best[kept]
    if len(label) < _FEWEST:
        return
    ours, mixed = (_along(label, one) for one in (best, np.random.default_rng(0).permutation(best)))
    if ours - mixed < _BELONGS * (1 - mixed):
        message = f"labels tell the largest logit of {ours:.0%} of {len(label)} boxes"
        raise refuse("OS345", message, count=len(label), example=f"{mixed:.0%} in any other order")
    if columns is not None:
        _refuse_misnamed(names, label, best, columns)


def _refuse_other_scores(detections: Detections) -> None:
    """Refuse logits that make the scores in another layout, or a few rows further, and not here.

    Scores need not be made of logits alone (objectness, centerness): that none fits is no finding.
    """
    score = detections.score[:_MOST]
    if len(score) < _FEWEST or len(np.unique(score)) < _FEWEST // 2:
        return
    stated = detections.layout
    assert detections.logits is not None and stated is not None
    logits = detections.logits[:_MOST].astype(np.float64)
    if _makes(logits, stated, score) >= _HARDLY:
        return
    others = [one for one in LogitLayout if logits.shape[1] > _BESIDE and one is not stated]
    layout = next((one for one in others if _makes(logits, one, score) > _NEARLY), None)
    if layout is not None:
        message = f"the largest logit makes the scores of {len(score)} boxes as {layout}, and not "
        message += f"as {stated}"
        cause, fix = "another layout was stated than that of the detector", f"layout='{layout}'"
        raise refuse("OS345", message, count=len(score), example=fix, cause=cause, fix=fix)
    rows = next((by for by in _ROWS if _makes(np.roll(logits, by, 0), stated, score) > _NEARLY), 0)
    if rows:
        message = f"the largest logit makes the score of the box {_beside(rows)}, for {len(score)} "
        message += "boxes, and not its own"
        cause = f"rows of logits are {abs(rows)} off: one was left out, or added, at the beginning"
        raise refuse("OS345", message, count=len(score), example=_beside(rows), cause=cause)


def _makes(logits: NDArray[np.float64], layout: LogitLayout, score: NDArray[np.float64]) -> float:
    """The share of scores that are the largest probability of a class."""
    activation: Activation = "sigmoid" if layout.is_sigmoid else "softmax"
    chance = probabilities(logits, activation)[:, class_columns(layout)].max(axis=1)
    return float((np.abs(chance - score) < _ROUNDED).mean())


def _beside(rows: int) -> str:
    return f"{abs(rows)} row{'s' * (abs(rows) > 1)} {'before' if rows < 0 else 'after'} it"


def refuse_probabilities(logits: NDArray[Any]) -> None:
    """Refuse numbers that are probabilities already: rows of a softmax, or sigmoids throughout."""
    message = probabilities_in(logits)
    if message:
        raise refuse("OS510", message, count=len(logits), example=str(logits[0, :3].tolist()))


def _names(
    detections: Detections, labels: NDArray[np.int64], truth: Annotations | None
) -> list[str]:
    """Names of labels, empty where nothing says them."""
    if detections.labels:
        return [detections.labels[at] for at in labels.tolist()]
    if truth is None or not truth.numbered:
        return [""] * len(labels)
    assert truth.category_id is not None
    named = (*truth.labels, "")
    return [named[at] for at in positions(truth.category_id, labels).tolist()]


def _along(label: NDArray[Any], best: NDArray[Any]) -> float:
    """The share of boxes whose largest column is the one that their label mostly has."""
    return float(_counts(label, best).max(axis=1).sum() / len(label))


def _counts(label: NDArray[Any], best: NDArray[Any]) -> NDArray[np.int64]:
    counts = np.zeros((int(label.max()) + 1, int(best.max()) + 1), np.int64)
    np.add.at(counts, (label, best), 1)
    return counts


def _refuse_misnamed(
    names: Sequence[str], label: NDArray[Any], best: NDArray[Any], columns: Sequence[str]
) -> None:
    """Refuse columns that are not those of their names, by the labels of the boxes."""
    place = {normal(name): at for at, name in enumerate(columns)}
    own = np.array([place.get(normal(name), -1) for name in names], np.int64)[label]
    counts = np.zeros((len(columns), len(columns)), np.int64)
    np.add.at(counts, (own[own >= 0], best[own >= 0]), 1)
    found = misnamed(counts)
    if found:
        said = [f"{columns[d]} has the column of {columns[o]}" for d, o in found.items()]
        message = f"{len(found)} of {len(columns)} labels have the largest logit in another column"
        cause = "the classes are listed in another order than that of the columns"
        raise refuse("OS345", message, count=len(found), example=said[0], cause=cause)
