"""check: what is worth knowing about scores before their numbers are believed.

What cannot be counted at all (not a number, another length, a label out of range) is refused when
`Scores` are made. Everything here still has a defined result, which the finding tells; but labels
that mean other classes are an error, since a weak classifier does not look like that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.ranking import area_under_roc, clearly_below_half
from openset.recognition.scores import Scores
from openset.tables.misnaming import MOST_LABELS, mended, misnamed

_SHOWN = 3
_LISTED = 20
_FEWEST, _COPIED = 20, 0.9  # unknown samples, and the share of them that are known ones again
_SOME, _BY_CHANCE = 0.1, 5.0  # a lesser share, if it is so many times what rounding makes equal
_BLOCKS, _BLOCK = 10, 50  # stretches of a file that are held against the others, and their samples
_FALL, _SURE = 0.3, 5.0  # how much accuracy is lost in one, and in how many standard deviations
_CHANCE = 3.0  # standard deviations within which names are as good as drawn


def check(scores: Scores) -> list[Finding]:
    """Findings about scores, the most serious first."""
    found = [_permuted(scores), _empty(scores), _same(scores), _partly_drawn(scores)]
    found += [_upside_down(scores)]
    found += [_tied(scores), _classes(scores), _absent(scores)]
    return [finding for finding in found if finding is not None]


def _permuted(scores: Scores) -> Finding | None:
    """Classes that are named as one other class, sample after sample."""
    n = scores.n_classes
    if not 1 < n <= MOST_LABELS or not scores.n_known:
        return None
    cells = scores.predicted.astype(np.int64) * n + scores.label
    counts = np.bincount(cells, minlength=n * n).reshape(n, n)
    means = misnamed(counts)
    if not means:
        return None
    names = scores.classes
    said = [
        f"{names[a]} is {names[b]} in {counts[a, b]} of {counts[a].sum()} samples"
        for a, b in means.items()
    ]
    steps = {(b - a) % n for a, b in means.items()}
    cause = "labels and predictions go by different lists, or orders, of classes"
    if len(steps) == 1:
        high = steps.pop()
        off = f"{high} too high" if 2 * high <= n else f"{n - high} too low"
        cause = f"labels are {off}: counted from another number"
    pairs = [f"{names[a]} = {names[b]}" for a, b in mended(means, counts)[0].items()]
    whole = ", ".join(pairs[:_LISTED]) + (" ..." if len(pairs) > _LISTED else "")
    return Finding(
        "OS814",
        Level.ERROR,
        f"{len(means)} of {n} predicted classes are one other class: {', '.join(said[:_SHOWN])}"
        + (f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""),
        len(means),
        said[0],
        cause,
        f"name classes alike in both columns ({whole} would fit); force=True measures as it is",
    )


def _upside_down(scores: Scores) -> Finding | None:
    """Unknown samples that look less unknown than known ones, and whether these are what is not."""
    if not scores.n_known or not scores.n_unknown:
        return None
    area = float(area_under_roc(scores.ranking))
    if not clearly_below_half(area, scores.n_known, scores.n_unknown):
        return None
    exchanged = scores.n_classes > 1 and _as_if_drawn(scores)
    less = f"an unknown sample looks less unknown than a known one in {1 - area:.0%} of pairs"
    also = ", and known samples are named as if by chance: the two look exchanged"
    return Finding(
        "OS813" if exchanged else "OS812",
        Level.WARNING,
        less + (also if exchanged else ""),
        scores.n_known + scores.n_unknown,
        f"means of openness: {scores.openness.mean():g} of known, "
        f"{scores.unknown_openness.mean():g} of unknown samples",
    )


def _same(scores: Scores) -> Finding | None:
    """Unknown samples that are known ones: the same numbers, to the last digit."""
    openness = scores.unknown_openness
    copies = openness[np.isin(openness, scores.openness)]
    distinct = len(np.unique(copies))  # numbers that saturate are equal by themselves
    if distinct < max(_FEWEST, _SOME * len(openness)):
        return None
    ties = max(map(_tied_share, (openness, scores.openness)))
    if distinct < _COPIED * len(openness) and len(copies) < _BY_CHANCE * ties * len(openness):
        return None
    said = f"{len(copies)} of {len(openness)} unknown samples have exactly the openness of a known"
    return Finding("OS817", Level.WARNING, f"{said} one", len(copies), f"openness {copies[0]:g}")


def _tied_share(values: NDArray[np.float64]) -> float:
    """The share of values that another one equals, as rounding makes them."""
    _, times = np.unique(values, return_counts=True)
    return float(times[times > 1].sum() / max(len(values), 1))


def _partly_drawn(scores: Scores) -> Finding | None:
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
    drawn = _agree_by_chance(scores.predicted[asked], label[asked], scores.n_classes)
    return drawn and fall > max(_FALL, _SURE * spread)


def _as_if_drawn(scores: Scores) -> bool:
    """Whether predicted classes agree with the labels no more often than by chance."""
    return _agree_by_chance(scores.predicted, scores.label, scores.n_classes)


def _agree_by_chance(predicted: NDArray[np.int32], label: NDArray[np.int32], classes: int) -> bool:
    shares = [np.bincount(one, minlength=classes) / len(one) for one in (predicted, label)]
    chance = float(shares[0] @ shares[1])
    spread = (chance * (1 - chance) / len(label)) ** 0.5
    return bool((predicted == label).mean() <= chance + _CHANCE * spread)


def _empty(scores: Scores) -> Finding | None:
    if scores.n_known and scores.n_unknown:
        return None
    which = "unknown" if scores.n_known else "known"
    message = f"there is no {which} sample: metrics that need one have no value"
    return Finding("OS804", Level.WARNING, message)


def _tied(scores: Scores) -> Finding | None:
    n = scores.n_known + scores.n_unknown
    if len(scores.ranking) > 1 or n < 2:
        return None
    message = f"all {n} samples have the same openness: AUC is 0.5, ties counted one half"
    return Finding("OS805", Level.WARNING, message, n)


def _classes(scores: Scores) -> Finding | None:
    if scores.n_classes > 1:
        return None
    message = "there is one known class: the closed-set accuracy is 1 by construction"
    return Finding("OS806", Level.WARNING, message)


def _absent(scores: Scores) -> Finding | None:
    size = np.bincount(scores.label, minlength=scores.n_classes)
    absent = np.flatnonzero(size == 0)
    if not len(absent) or not scores.n_known:
        return None
    message = f"{len(absent)} of {scores.n_classes} known classes have no sample"
    return Finding("OS808", Level.WARNING, message, len(absent), scores.classes[absent[0]])
