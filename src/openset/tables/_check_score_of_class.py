"""Check that the scores of one class are as those of the others: not cut alone, not scaled apart.

A threshold that was chosen for persons is left in, or each class was divided by its best score. The
numbers of that class, and all that rank boxes of several classes, are then of another detector.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case
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
    """Few classes of many boxes have none of a low score, and most classes have.

    Of known classes alone: unknown boxes may be scored in another way.
    """
    known, all_of_them = case.vocabulary.known, case.detections.score
    step = -(-len(case.detections) // _SAMPLE)
    klass, score = case.joined.klass[::step], all_of_them[::step]
    here = (klass >= 0) & (klass < len(known))
    klass, score = klass[here], score[here]
    lowest = np.full(len(known), np.inf)
    np.minimum.at(lowest, klass, score)
    often = np.bincount(klass, minlength=len(known)) >= _BOXES
    high, low = often & (lowest >= _CUT), often & (lowest < _UNCUT)
    if not high.any() or np.count_nonzero(low) <= np.count_nonzero(high):
        return
    said, rows = {}, []
    for at in np.flatnonzero(high).tolist():
        mine = np.flatnonzero(case.joined.klass == at)
        own = all_of_them[mine]
        near = np.count_nonzero(own <= own.min() + _NEAR * np.ptp(own))
        if own.min() >= _CUT and near >= _EDGE * len(own):
            said[known[at]] = float(own.min())
            rows.append(mine)
    if said:
        row = int(rows[0][0])
        cuts = some(f"{name} ({value:.2g})" for name, value in said.items())
        yield Finding(
            "OS226",
            Level.WARNING,
            f"no score of {len(said)} of {np.count_nonzero(lowest < np.inf)} classes is low, and "
            f"those of the others are: the lowest is that of a threshold, {cuts}",
            count=sum(map(len, rows)),
            example=f"{case.where(row)}, score {all_of_them[row]:g}",
        )


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
