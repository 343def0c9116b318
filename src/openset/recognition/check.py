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
from openset.recognition._copies import both_kinds, repeated
from openset.recognition._drawn import as_if_drawn, drawn, partly_drawn
from openset.recognition._names import (
    nearly_spelt,
    of_absent_classes,
    spelt_twice,
    unknown_in_disguise,
)
from openset.recognition._only_right import wrong_left_out
from openset.recognition._sorted import sorted_by_itself
from openset.recognition._tied import often_tied
from openset.recognition._two_scales import on_two_scales
from openset.recognition.scores import Scores
from openset.tables.misnaming import MOST_LABELS, mended, misnamed

_SHOWN = 3
_LISTED = 20
_TOLD = 8  # times that a class is named, fewer of which tell little
_EXPLAINED, _MANY = 0.6, 0.4  # share that is right once classes are read so: of few, of many
_FEWEST = 20  # samples of a kind, fewer of which may have one openness


def check(scores: Scores) -> list[Finding]:
    """Findings about scores, the most serious first."""
    wrong = spelt_twice(scores) or _permuted(scores) or drawn(scores)
    found = [unknown_in_disguise(scores), wrong, of_absent_classes(scores), *scores.said]
    found += [_empty(scores), both_kinds(scores), repeated(scores), partly_drawn(scores)]
    ranked = sorted_by_itself(scores) or on_two_scales(scores) or _upside_down(scores)
    found += [ranked, _one_answer(scores)]
    found += [_tied(scores) or _decided(scores) or often_tied(scores), wrong_left_out(scores)]
    found += [_classes(scores), _absent(scores), nearly_spelt(scores)]
    return [finding for finding in found if finding is not None]


def _permuted(scores: Scores) -> Finding | None:
    """Classes that are named as one other class, sample after sample."""
    n = scores.n_classes
    if not 1 < n <= MOST_LABELS or not scores.n_known:
        return None
    cells = scores.predicted.astype(np.int64) * n + scores.label
    counts = np.bincount(cells, minlength=n * n).reshape(n, n)
    means = misnamed(counts)
    if not means or not _explains(means, counts):
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


def _explains(means: dict[int, int], counts: NDArray[np.int64]) -> bool:
    """Whether a classifier is right once classes are read so; one that knows nothing is not.

    A network that was never taught prefers some classes for others, now and then both ways.
    """
    own = np.arange(len(counts))
    read = np.array([means.get(at, at) for at in own.tolist()])
    right, said = counts[own, read], counts.sum(axis=1)
    rows = np.isin(own, list(means))
    told = rows | (said >= _TOLD)  # of classes that are rarely named, little is known
    least = min(_EXPLAINED, _MANY + 2 / len(counts))  # chance makes fewer right of many classes
    misread = right[rows].sum() >= least * said[rows].sum()
    return bool(misread and right[told].sum() >= least * said[told].sum())


def _upside_down(scores: Scores) -> Finding | None:
    """Unknown samples that look less unknown than known ones, and whether these are what is not."""
    if not scores.n_known or not scores.n_unknown:
        return None
    area = float(area_under_roc(scores.ranking))
    if not clearly_below_half(area, scores.n_known, scores.n_unknown):
        return None
    exchanged = scores.n_classes > 1 and as_if_drawn(scores)
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


def _decided(scores: Scores) -> Finding | None:
    """Openness of two values, which is a decision, or of one value for all of one kind."""
    n = scores.n_known + scores.n_unknown
    if min(scores.n_known, scores.n_unknown) < _FEWEST:
        return None
    levels = scores.thresholds()[1:]
    kinds = {"known": scores.openness, "unknown": scores.unknown_openness}
    if len(levels) == 2:
        said = f"the openness of all {n} samples is {levels[0]:g} or {levels[1]:g}: a decision, not"
        said += " a score; there is one threshold, and AUC and FPR are of its two ends"
        return Finding("OS824", Level.WARNING, said, n, f"openness {levels[0]:g}")
    for kind, values in kinds.items():
        if values.min() == values.max():
            said = f"the openness of all {len(values)} {kind} samples is {values[0]:g}"
            return Finding("OS824", Level.WARNING, said, len(values), f"openness {values[0]:g}")
    return None


def _one_answer(scores: Scores) -> Finding | None:
    """A threshold that was given and rejects no sample, or every one."""
    at, n = scores.threshold, scores.n_known + scores.n_unknown
    if at is None or np.isinf(at):  # which is meant so
        return None
    every = np.concatenate([scores.openness, scores.unknown_openness])
    above, low, high = int((every > at).sum()), float(every.min()), float(every.max())
    if 0 < above < n:
        return None
    said = f"the openness of {above} of {n} samples exceeds the threshold {at:g}: "
    said += "none is rejected" if not above else "all are rejected"
    lies = f"openness goes from {low:g} to {high:g}"
    inside = (
        f"a threshold in between, such as {float(np.quantile(scores.openness, 0.95)):g}, which "
    )
    inside += "accepts 95 % of these known samples; choose it on held-out known ones"
    return Finding("OS829", Level.WARNING, f"{said}; {lies}", n, lies, fix=inside)


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
