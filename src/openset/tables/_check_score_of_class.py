"""Check that the scores of one class are as those of the others: not cut alone, not scaled apart.

A threshold that was chosen for persons is left in, or each class was divided by its best score. The
numbers of that class, and all that rank boxes of several classes, are then of another detector.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case
from openset.tables._check_numbers import names_of
from openset.wording import some, spaced

_SAMPLE = 200_000  # rows, of which lowest scores are known well enough to look closer
# Boxes of a class, of which a detector that says less of others at all has some that score less;
# the lowest score of a cut, as of whole files, and that of the others.
_BOXES, _CUT, _UNCUT = 100, 0.25, 0.12
_NEAR, _EDGE = 0.1, 0.05  # of the range above it, and the share of boxes there: it is an edge
_CLASSES, _EACH, _ONCE = 10, 20, 1.1  # classes with so many boxes, and times that one has its best
_VALUES = 5  # that differ: a decision has two or three


def scores_of_classes(case: Case) -> Iterator[Finding]:
    """Findings about scores of single classes."""
    if len(case.detections) and np.isfinite(case.detections.score).all():
        yield from _cut_alone(case)
        yield from _scaled(case)


def _cut_alone(case: Case) -> Iterator[Finding]:
    """Few classes of many boxes have none of a low score, and most classes have."""
    step = -(-len(case.detections) // _SAMPLE)
    rows = np.flatnonzero(_known(case)[::step]) * step
    label, score = case.detections.label[rows], case.detections.score[rows]
    used, at, times = np.unique(label, return_inverse=True, return_counts=True)
    lowest = np.full(len(used), np.inf)
    np.minimum.at(lowest, at, score)
    often = times >= _BOXES
    high, low = often & (lowest >= _CUT), often & (lowest < _UNCUT)
    if not high.any() or np.count_nonzero(low) <= np.count_nonzero(high):
        return
    said, count = {}, 0
    for name, value in zip(_names(case, used[high]), used[high].tolist(), strict=True):
        own = case.detections.score[case.detections.label == value]
        near = np.count_nonzero(own <= own.min() + _NEAR * np.ptp(own))
        if own.min() >= _CUT and near >= _EDGE * len(own):
            said[name] = float(own.min())
            count += len(own)
    if said:
        first = int(np.isin(case.detections.label, used[high]).argmax())
        cuts = some(f"{name} ({value:.2g})" for name, value in said.items())
        yield Finding(
            "OS226",
            Level.WARNING,
            f"no score of {len(said)} of {len(used)} classes is low, and those of the others are: "
            f"the lowest is that of a threshold, {cuts}",
            count=count,
            example=f"{case.where(first)}, score {case.detections.score[first]:g}",
        )


def _known(case: Case) -> NDArray[np.bool_]:
    """Detections of known classes: unknown ones may be scored in another way."""
    return (case.joined.klass >= 0) & (case.joined.klass < len(case.vocabulary.known))


def _scaled(case: Case) -> Iterator[Finding]:
    """The largest score of each class is one and the same, which hardly any has twice."""
    values, (labels, times) = case.detections.score, case.per_label
    best = np.flatnonzero(values == values.max())
    several = labels[times >= _EACH]
    own = best[np.isin(case.detections.label[best], several)] if len(best) >= _CLASSES else best[:0]
    there = len(np.unique(case.detections.label[own]))
    if len(several) < _CLASSES or there < len(several) or len(own) > _ONCE * there:
        return
    if len(np.unique(values[:: -(-len(values) // _SAMPLE)])) < _VALUES:
        return
    row = int(own[0])
    yield Finding(
        "OS227",
        Level.WARNING,
        f"the largest score is {values[row]:g} in each of {spaced(there)} classes with several "
        "boxes, of which hardly one has it twice",
        count=len(values),
        example=f"{case.where(row)}, score {values[row]:g}",
    )


def _names(case: Case, labels: NDArray[np.int64]) -> list[str]:
    """Names of some labels, or their numbers where the ground truth has none of them."""
    names = dict(zip(case.per_label[0].tolist(), names_of(case), strict=True))
    return [names[label] or str(label) for label in labels.tolist()]
