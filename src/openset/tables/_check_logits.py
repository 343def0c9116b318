"""Checks that logits are logits, and of the boxes that they are put beside.

Boxes and logits are often kept in two files, and nothing but their order joins them. What a box is
called goes along with the largest of its logits: in other rows it would do so by chance alone, and
in columns of another order it would go along with another class. Single boxes may be called
otherwise: by another threshold, or a second label of one region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, InputError, Level, raise_all, refuse
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

_LOGARITHMS = (
    "log-probabilities were kept (logsigmoid), not logits",
    "keep the logits; or make them again: value - log(1 - exp(value)), of values clipped to -1e-7",
)
_FEWEST = 100  # boxes, fewer of which prove nothing
_MOST = 20_000  # boxes that scores are compared of
_ROUNDED = 2e-3  # what half precision and three digits change of a score
_HARDLY, _NEARLY = 0.5, 0.9  # shares of scores that logits make
_SURE = 0.1  # a score that is near the probability of a column by chance in few boxes
_FEWER, _TIMES = 20, 10  # boxes that another layout explains alone, and times as many as ours
_ROWS = (1, -1, 2, -2, 3, -3)  # how far rows may have slipped
_BESIDE = 2  # columns that are no classes, at most
_BELONGS = 0.1  # of what chance leaves over, labels must tell of the largest logits
_OF_A_LABEL = 20  # boxes of a label that its column must make the scores of
_SAME = (1e-6, 1e-5)  # how near a score must be to be that of another row
_AGAIN = 0.3  # share of scores that are never made, which are as near to some row


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
    raise_all([InputError([one]) for one in _of_other_scores(detections)])
    label, best, names = _labels_and_columns(detections, truth)
    if len(label) < _FEWEST:
        return
    ours, mixed = (_along(label, one) for one in (best, np.random.default_rng(0).permutation(best)))
    if ours - mixed < _BELONGS * (1 - mixed):
        message = f"labels tell the largest logit of {ours:.0%} of {len(label)} boxes"
        raise refuse("OS345", message, count=len(label), example=f"{mixed:.0%} in any other order")
    raise_all([InputError([one]) for one in _misnamed(names, label, best, columns or ())])


def strange_logits(
    detections: Detections, columns: Sequence[str], truth: Annotations | None = None
) -> list[Finding]:
    """What is wrong with logits that came with their boxes, where something else fits them better.

    What merely fits badly is let pass here: a detector that has hardly begun to learn may be so.

    Args:
        detections: With logits, or without, which is no finding.
        columns: Names of the columns that are classes, if they are known.
        truth: The ground truth, which names labels that are numbers.
    """
    if detections.logits is None or not np.isfinite(detections.logits[:_MOST]).all():
        return []
    found = [*_of_other_scores(detections)]
    label, best, names = _labels_and_columns(detections, truth)
    if not found and len(label) >= _FEWEST:
        found = [*_misnamed(names, label, best, columns)] or [
            *_of_other_columns(detections, columns, truth)
        ]
    return [replace(one, fix=f"{one.fix}; force=True evaluates as it is") for one in found]


def _labels_and_columns(
    detections: Detections, truth: Annotations | None
) -> tuple[NDArray[Any], NDArray[Any], list[str]]:
    """Label and largest class column of each box that is not called unknown; names of labels."""
    assert detections.logits is not None
    best = detections.logits[:, class_columns(detections.layout)].argmax(axis=1)
    held, label = np.unique(detections.label, return_inverse=True)
    names = _names(detections, held, truth)
    kept = np.array([not is_unknown_spelling(name) for name in names], np.bool_)[label]
    return label[kept], best[kept], names


def _of_other_scores(detections: Detections) -> Iterator[Finding]:
    """Logits that make the scores in another layout, or a few rows further, and not here.

    Scores need not be made of logits alone (objectness, centerness): that none fits is no finding.
    """
    score = detections.score[:_MOST]
    if len(score) < _FEWEST or len(np.unique(score)) < _FEWEST // 2:
        return
    stated = detections.layout
    assert detections.logits is not None and stated is not None
    logits = detections.logits[:_MOST].astype(np.float64)
    if stated.is_sigmoid and _are_logarithms(logits[:, class_columns(stated)], score):
        message = f"scores of {len(score)} boxes are the exponentials of their largest logits"
        example = f"exp({logits[0].max():.4g}) is {np.exp(logits[0].max()):.4g}"
        yield Finding("OS510", Level.ERROR, message, len(score), example, *_LOGARITHMS)
        return
    layout = _other_layout(logits, stated, score)
    if layout is not None:
        message = f"scores of {len(score)} boxes are probabilities of their logits laid out as "
        message += f"{layout}, and not as {stated}"
        cause, said = "another layout was stated than that of the detector", f"layout='{layout}'"
        fix = f"state {said} with the logits"
        yield Finding("OS345", Level.ERROR, message, len(score), said, cause, fix)
        return
    if _makes(logits, stated, score) >= _HARDLY:
        return
    rows = next((by for by in _ROWS if _makes(np.roll(logits, by, 0), stated, score) > _NEARLY), 0)
    if rows:
        message = f"the largest logit makes the score of the box {_beside(rows)}, for {len(score)} "
        message += "boxes, and not its own"
        cause = f"rows of logits are {abs(rows)} off: one was left out, or added, at the beginning"
        yield Finding("OS345", Level.ERROR, message, len(score), _beside(rows), cause)


def _other_layout(
    logits: NDArray[np.float64], stated: LogitLayout, score: NDArray[np.float64]
) -> LogitLayout | None:
    """The layout whose classes have the scores as probabilities, where those of ours have not.

    A box of one label may score less than its largest logit says, where a region has several. What
    scores as the stated "unknown" does is called so. Low scores are near some column by chance.
    """
    own, unknown = _scores_of(logits, stated, score)
    told = (score >= _SURE) & ~unknown
    if logits.shape[1] <= _BESIDE or np.count_nonzero(told) < _FEWEST:
        return None
    fits: dict[LogitLayout, int] = {}
    for layout in LogitLayout:
        other, _ = _scores_of(logits, layout, score)
        more, less = (np.count_nonzero(one & told) for one in (other & ~own, own & ~other))
        if other[told].mean() > _NEARLY and more >= _FEWER + _TIMES * less:
            fits[layout] = int(np.count_nonzero(other & told))
    # A layout without background, or unknown, has all columns for classes and fits as well.
    best = [one for one in fits if fits[one] > max(fits.values()) - _FEWER]
    columns = range(logits.shape[1])
    widths = {one: (one.has_unknown, len(columns[class_columns(one)])) for one in best}
    return min(best, key=widths.__getitem__, default=None)


def _scores_of(
    logits: NDArray[np.float64], layout: LogitLayout, score: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Scores that are the probability of a class, and those that are that of "unknown"."""
    near: NDArray[np.bool_] = np.abs(_chances(logits, layout) - score[:, None]) < _ROUNDED
    unknown = near[:, -1:] if layout.has_unknown else near[:, :0]
    return np.asarray(near[:, class_columns(layout)].any(axis=1)), np.asarray(unknown.any(axis=1))


def _are_logarithms(logits: NDArray[np.float64], score: NDArray[np.float64]) -> bool:
    """Whether numbers are logarithms of sigmoids: low scores are near either, and not looked at."""
    sure = score >= _SURE
    most, held = logits[sure].max(axis=1), score[sure]
    if len(held) < _FEWEST or most.max() > 0:
        return False
    made = np.abs(np.exp(most) - held) < _ROUNDED
    other = np.abs(1 / (1 + np.exp(-most)) - held) < _ROUNDED
    return bool(made.mean() > _NEARLY and other.mean() < _HARDLY)


def _makes(logits: NDArray[np.float64], layout: LogitLayout, score: NDArray[np.float64]) -> float:
    """The share of scores that are the largest probability of a class."""
    chance = _chances(logits, layout)[:, class_columns(layout)].max(axis=1)
    return float((np.abs(chance - score) < _ROUNDED).mean())


def _chances(logits: NDArray[np.float64], layout: LogitLayout) -> NDArray[np.float64]:
    activation: Activation = "sigmoid" if layout.is_sigmoid else "softmax"
    return probabilities(logits, activation)


def _of_other_columns(
    detections: Detections, columns: Sequence[str], truth: Annotations | None
) -> Iterator[Finding]:
    """Scores that the column of another label makes, or that of the label in another row.

    Scores to many digits are as good as names: those that logits do not make by themselves (times
    objectness, after calibration) are made by no other column or row either.
    """
    assert detections.logits is not None and detections.layout is not None
    held, label = np.unique(detections.label[:_MOST], return_inverse=True)
    own = _places(_names(detections, held, truth), columns)[label]
    rows = np.flatnonzero((own >= 0) & (detections.score[:_MOST] >= _SURE))
    own, score = own[rows], detections.score[rows]
    if len(rows) < _FEWEST or len(np.unique(score)) < _FEWEST // 2:
        return
    logits = detections.logits[:_MOST].astype(np.float64)
    chance = _chances(logits, detections.layout)[:, class_columns(detections.layout)]
    near = np.abs(chance[rows] - score[:, None]) < _ROUNDED
    made = _makers(near, own)
    if made:
        said = [f"{columns[one]} has the column of {columns[other]}" for one, other in made.items()]
        message = f"scores of {len(made)} of {len(columns)} labels are made by another column"
        cause = "the classes are listed in another order than that of the columns"
        yield Finding("OS345", Level.ERROR, message, len(made), said[0], cause)
    elif near[np.arange(len(own)), own].mean() < _HARDLY and _of_other_rows(chance, own, score):
        message = f"the logits of other boxes make the scores of {len(score)} boxes, and not their "
        shown = f"score {score[0]:.4g}, of which its own logits make {chance[rows[0], own[0]]:.4g}"
        cause = "rows of boxes or of logits were sorted or shuffled, and the others were not"
        yield Finding("OS345", Level.ERROR, f"{message}own", len(score), shown, cause)


def _makers(near: NDArray[np.bool_], own: NDArray[np.int64]) -> dict[int, int]:
    """Which other column makes nearly all scores of a label that its own hardly makes."""
    labels = np.flatnonzero(np.bincount(own) >= _OF_A_LABEL)
    share = {int(one): near[own == one].mean(axis=0) for one in labels}
    best = {one: int(of.argmax()) for one, of in share.items()}
    return {
        one: best[one]
        for one, of in share.items()
        if of[one] < 1 - _NEARLY and of[best[one]] > _NEARLY
    }


def _of_other_rows(
    chance: NDArray[np.float64], own: NDArray[np.int64], score: NDArray[np.float64]
) -> bool:
    """Whether the column of a box's label makes its score in some other row."""
    for near in _SAME:
        met, by_chance = 0, 0
        for one in np.unique(own):
            there, wanted = np.sort(chance[:, one]), score[own == one]
            met += _count_near(there, wanted, near)
            by_chance += _count_near(there, wanted + 10 * near, near)
        if met > _NEARLY * len(score) and by_chance < _AGAIN * len(score):
            return True
    return False


def _count_near(there: NDArray[np.float64], wanted: NDArray[np.float64], near: float) -> int:
    begin, end = (np.searchsorted(there, wanted + by) for by in (-near, near))
    return int(np.count_nonzero(end > begin))


def _beside(rows: int) -> str:
    return f"{abs(rows)} row{'s' * (abs(rows) > 1)} {'before' if rows < 0 else 'after'} it"


def refuse_gaps(detections: Detections, column: str, values: NDArray[Any]) -> None:
    """Refuse evidence that is NaN or infinite: no scorer could use it."""
    # One number that is not finite makes the sum so; a look at each costs a second array.
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
    if len(bad):
        first = f"detection {bad[0]} on image {detections.image[bad[0]]}"
        message = f"{len(bad)} of {len(values)} detections have {column} that are NaN or infinite"
        raise refuse("OS502", message, count=len(bad), example=first)


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


def _places(names: Sequence[str], columns: Sequence[str]) -> NDArray[np.int64]:
    """The column of each name, -1 for one that has none."""
    place = {normal(name): at for at, name in enumerate(columns)}
    return np.array([place.get(normal(name), -1) for name in names], np.int64)


def _misnamed(
    names: Sequence[str], label: NDArray[Any], best: NDArray[Any], columns: Sequence[str]
) -> Iterator[Finding]:
    """Columns that are not those of their names, by the labels of the boxes."""
    own = _places(names, columns)[label]
    counts = np.zeros((len(columns), len(columns)), np.int64)
    np.add.at(counts, (own[own >= 0], best[own >= 0]), 1)
    found = misnamed(counts) if len(columns) else {}
    if found:
        said = [f"{columns[d]} has the column of {columns[o]}" for d, o in found.items()]
        message = f"{len(found)} of {len(columns)} labels have the largest logit in another column"
        cause = "the classes are listed in another order than that of the columns"
        yield Finding("OS345", Level.ERROR, message, len(found), said[0], cause)
