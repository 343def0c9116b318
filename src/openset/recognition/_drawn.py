"""Labels that are as if drawn: those of a whole file, or of a stretch of it.

Where labels stand beside other samples' scores, classes are named as often as they are there and
unknown samples are told from known ones, yet names have nothing to do with labels. A weak
classifier does not look like that: what it says, right or wrong, depends on the sample's class, as
even in a network that has learnt nothing; or it cannot tell unknown samples from known ones either.
Not labels that mean other classes (see `openset.tables.misnaming`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.ranking import area_under_roc, clearly_below_half
from openset.recognition.scores import Scores

Labels = NDArray[np.int32]
_BLOCKS, _BLOCK = 10, 50  # stretches of a file that are held against the others, and their samples
_FALL, _SURE = 0.3, 5.0  # how much accuracy is lost in one, and in how many standard deviations
_CHANCE = 3.0  # standard deviations within which names are as good as drawn
_TOLD, _APART = 0.8, 0.2  # pairs told from each other; names that are said too often
_GOOD = 0.5  # accuracy that may be a classifier's own, of few or uneven classes
_ROWS = 3  # by which labels may have moved
_BEST = 3.0  # times as many that are right in another order


def as_if_drawn(scores: Scores) -> bool:
    """Whether predicted classes agree with the labels no more often than by chance."""
    return _agree_by_chance(scores.predicted, scores.label, scores.n_classes)


def drawn(scores: Scores) -> Finding | None:
    """All labels: those of other samples, or one for all."""
    if scores.n_known < _BLOCK or scores.n_classes < 3 or not as_if_drawn(scores):
        return None
    return _moved(scores) or _one_label(scores) or _shuffled(scores)


def _moved(scores: Scores) -> Finding | None:
    """Labels that agree once they are moved by a few rows, or turned round."""
    label, right = scores.label, float(scores.correct.mean())
    orders = {f"moved by {abs(by)} row{'s' if abs(by) > 1 else ''} "
              f"{'down' if by > 0 else 'up'}": np.roll(label, by)
              for by in range(-_ROWS, _ROWS + 1) if by}  # fmt: skip
    orders["read from the end"] = label[::-1]
    accuracy = {name: float((scores.predicted == new).mean()) for name, new in orders.items()}
    best = max(accuracy, key=lambda name: accuracy[name])
    chance, spread = _chance(scores.predicted, label, scores.n_classes)
    if accuracy[best] < max(_FALL, _BEST * right, chance + 2 * _SURE * spread):
        return None
    fits = f"{accuracy[best]:.0%} of {scores.n_known} known samples have their label once labels "
    return Finding(
        "OS819",
        Level.ERROR,
        f"{fits}are {best}, and {right:.0%} as they are",
        scores.n_known,
        _example(scores),
        cause="a row was left out, or one of two arrays was turned round",
        fix=f"write labels {best}; --force measures as it is",
    )


def _one_label(scores: Scores) -> Finding | None:
    """One label for samples that are named as all classes."""
    if (scores.label != scores.label[0]).any() or scores.correct.mean() > _FALL:
        return None
    name = scores.classes[scores.label[0]]
    said = f"the label of all {scores.n_known} known samples is {name!r}, and the classifier calls "
    return Finding(
        "OS819",
        Level.WARNING,
        f"{said}{scores.correct.mean():.0%} of them so",
        scores.n_known,
        _example(scores),
        cause="a constant was written in place of labels",
    )


def _shuffled(scores: Scores) -> Finding | None:
    """Labels of other samples, in an order that nobody can tell."""
    chance, spread = _chance(scores.predicted, scores.label, scores.n_classes)
    if not scores.n_unknown or chance + _CHANCE * spread > _GOOD:
        return None
    if _names_apart(scores) > _APART or not _independent(scores):
        return None
    area = float(area_under_roc(scores.ranking))
    if area < _TOLD or not clearly_below_half(1 - area, scores.n_known, scores.n_unknown):
        return None
    said = f"accuracy is {scores.correct.mean():.0%}, as if labels were drawn, though unknown "
    said += f"samples are told from known ones in {area:.0%} of pairs and every class is named "
    ordered = bool((np.diff(scores.label) >= 0).all())
    return Finding(
        "OS819",
        Level.WARNING,
        f"{said}about as often as it is there",
        scores.n_known,
        _example(scores),
        cause="labels are in order of their classes, and scores are not" if ordered else "",
    )


def _example(scores: Scores) -> str:
    at = int(np.flatnonzero(~scores.correct)[0])
    label, named = (scores.classes[one[at]] for one in (scores.label, scores.predicted))
    return f"sample {at + 1}: label {label}, named {named}"


def _names_apart(scores: Scores) -> float:
    """How far names and labels differ in how often each class is said, beyond chance."""
    label, named = (
        _shares(scores.label, scores.n_classes),
        _shares(scores.predicted, scores.n_classes),
    )
    noise = np.sqrt((label + named) * 2 / (np.pi * scores.n_known)).sum() / 2
    return float(np.abs(label - named).sum() / 2 - noise)


def _independent(scores: Scores) -> bool:
    """Whether names have nothing to do with labels (Pearson's chi-squared of all pairs)."""
    n = scores.n_classes
    cells, counts = np.unique(scores.label * np.int64(n) + scores.predicted, return_counts=True)
    rows, columns = (np.bincount(x, minlength=n) for x in (scores.label, scores.predicted))
    expected = rows[cells // n] * columns[cells % n] / scores.n_known
    # Of cells without samples the sum of (0 - expected)^2 / expected is what is left of all.
    chi = float((counts * counts / expected).sum() - scores.n_known)
    free = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    return bool(chi <= free + _CHANCE * (2 * free) ** 0.5)


def partly_drawn(scores: Scores) -> Finding | None:
    """A stretch of the file whose labels are as if drawn, though its classes are well known."""
    blocks = min(_BLOCKS, scores.n_known // _BLOCK)
    if blocks < 2 or scores.n_classes < 2:
        return None
    rows = np.array_split(np.arange(scores.n_known), blocks)
    lost = [at for at in rows if _fell(scores, at)]
    if not lost:
        return None
    count = sum(map(len, lost))
    there = np.isin(np.arange(scores.n_known), np.concatenate(lost))
    inside, outside = scores.correct[there].mean(), scores.correct[~there].mean()
    said = f"accuracy is {inside:.0%} in {count} of {scores.n_known} known samples that follow "
    said += f"each other, as if their labels were drawn, and {outside:.0%} in the others"
    example = f"samples {lost[0][0] + 1} to {lost[0][-1] + 1}"
    return Finding("OS818", Level.WARNING, said, count, example)


def _fell(scores: Scores, rows: NDArray[np.int64]) -> bool:
    """Whether labels of some samples agree by chance alone, unlike their classes elsewhere.

    What is expected is by class: a file may be sorted, and a class be hard.
    """
    mask, label, right = np.ones(scores.n_known, np.bool_), scores.label, scores.correct
    mask[rows] = False
    sizes = np.bincount(label[mask], minlength=scores.n_classes)
    hits = np.bincount(label[mask & right], minlength=scores.n_classes)
    asked = rows[sizes[label[rows]] > 0]
    if len(asked) < _BLOCK:
        return False
    expected = float((hits / np.maximum(sizes, 1))[label[asked]].mean())
    spread = max((expected * (1 - expected) / len(asked)) ** 0.5, 1 / len(asked))
    fall = expected - float(right[asked].mean())
    by_chance = _agree_by_chance(scores.predicted[asked], label[asked], scores.n_classes)
    return by_chance and fall > max(_FALL, _SURE * spread)


def _agree_by_chance(predicted: Labels, label: Labels, classes: int) -> bool:
    chance, spread = _chance(predicted, label, classes)
    return bool((predicted == label).mean() <= chance + _CHANCE * spread)


def _chance(predicted: Labels, label: Labels, classes: int) -> tuple[float, float]:
    """The share of names that are right if they are drawn, and how far it spreads."""
    chance = float(_shares(predicted, classes) @ _shares(label, classes))
    return chance, (chance * (1 - chance) / len(label)) ** 0.5


def _shares(column: Labels, classes: int) -> NDArray[np.float64]:
    return np.bincount(column, minlength=classes) / len(column)
