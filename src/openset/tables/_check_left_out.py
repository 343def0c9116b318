"""Checks of objects that the ground truth lacks, by class or by size, as sure boxes tell.

A class whose annotations were lost has no average precision, and a filter that dropped small
objects makes right boxes wrong: either gives a number. Whether these objects were lost or never
annotated cannot be told; that a detector which is right elsewhere finds them can.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import SURE, Case, first, object_at, share
from openset.tables._check_not_annotated import not_annotated
from openset.tables._look import Array
from openset.tables._sure import Sure
from openset.tables.annotations import Annotations
from openset.wording import listed, spaced

_LIKELY = 0.3  # a score; those of small objects are lower by nature
_FEWEST = 30  # detections
_FOUND = 20  # sure boxes of a class without objects
# Objects that are looked at, and how many there must be; the share of them that may be smaller than
# where they end; the share just above, up to a tenth of a side; and pixels of a side, at least.
_OBJECTS, _MANY, _FEW, _EDGE, _ABOVE, _LEAST = 5_000, 200, 1e-3, 0.015, 1.1, 8.0
_SMALLER, _BOXES, _PART = 0.7, 20, 0.01  # of that side; boxes, and their share of the sure ones


def left_out(case: Case) -> Iterator[Finding]:
    """Findings about objects that a detector finds and the ground truth does not have."""
    if len(case.detections) >= _FEWEST and len(case.truth):
        yield from _classes(case)
        yield from not_annotated(case)
        yield from _small(case)


def _classes(case: Case) -> Iterator[Finding]:
    """Known classes without any object that are named surely, and as often as most others."""
    classes, k = case.vocabulary.classes(case.truth.labels), len(case.vocabulary.known)
    objects = np.bincount(classes[case.truth.label] + 1, minlength=k + 2)[1 : k + 1]
    there = objects > 0
    if there.all() or not there.any():
        return
    sure = case.joined.klass[case.detections.score >= SURE]
    times = np.bincount(sure[(sure >= 0) & (sure < k)], minlength=k)
    often = ~there & (times >= max(_FOUND, float(np.median(times[there]))))
    if not often.any():
        return
    seen = Sure.of(case, SURE)
    found = [at for at in np.flatnonzero(often) if seen.on_nothing(seen.klass == at)]
    if not found or not seen.mostly_right(there[seen.klass]):
        return
    names = [f"{case.vocabulary.known[at]} ({spaced(int(times[at]))})" for at in found]
    fewer = int(np.count_nonzero(times[there] <= times[found].min()))
    rows = np.isin(case.joined.klass, found) & (case.detections.score >= SURE)
    yield Finding(
        "OS335",
        Level.WARNING,
        f"boxes that score {SURE:g} or more are called {listed(names)} where no object is, and no "
        f"object is; {share(fewer, int(there.sum()), 'other known classes')} have no more of them",
        count=int(times[found].sum()),
        example=case.where(first(rows)),
    )


def _small(case: Case) -> Iterator[Finding]:
    """Objects whose sizes end as if cut, where a detector surely finds smaller ones."""
    name, side = _ending(case.truth)
    if not name:
        return
    sure = case.detections.score >= _LIKELY
    small = sure & (_sides(case.detections.box)[name] < _SMALLER * side)
    count, total = int(np.count_nonzero(small)), int(np.count_nonzero(sure))
    if count < max(_BOXES, _PART * total):
        return
    seen = Sure.of(case, _LIKELY)
    if not seen.mostly_right(_sides(seen.box)[name] >= side):
        return
    least = object_at(case.truth, _smallest(case.truth, name, side))
    yield Finding(
        "OS455",
        Level.WARNING,
        f"objects end, as if cut, at {_MEANING[name].format(f'{side:.3g}')}, and "
        f"{share(count, total, f'boxes that score {_LIKELY:g} or more')} are clearly smaller",
        count=count,
        example=f"{case.where(first(small))}; the smallest object: {least}",
    )


_MEANING = {
    "area": "an area of {0} x {0} pixels",
    "shorter": "a shorter side of {0} pixels",
    "width": "a width of {0} pixels",
    "height": "a height of {0} pixels",
}


def _sides(box: Array) -> dict[str, Array]:
    """Measures of boxes, each as the length of a side."""
    wide, high = np.maximum(box[:, 2], 0), np.maximum(box[:, 3], 0)
    sides = {"area": np.sqrt(wide * high), "shorter": np.minimum(wide, high)}
    return sides | {"width": wide, "height": high}


def _ending(truth: Annotations) -> tuple[str, float]:
    """By which measure objects end as if cut, and where; sizes by nature thin out."""
    assert truth.crowd is not None
    rows = np.flatnonzero(~truth.crowd)
    rows = rows[:: max(1, len(rows) // _OBJECTS)]
    if len(rows) < _MANY:
        return "", 0.0
    best = _EDGE, "", 0.0
    for name, side in _sides(truth.box[rows]).items():
        least = float(np.partition(side, at := int(_FEW * len(side)))[at])
        near = float(((side >= least) & (side <= _ABOVE * least)).mean())
        if least >= _LEAST and near >= best[0]:
            best = near, name, least
    return best[1:]


def _smallest(truth: Annotations, name: str, side: float) -> int:
    """The object where sizes end."""
    return int(np.abs(_sides(truth.box)[name] - side).argmin())
