"""Presets: positions of the sliders that are worth a name.

The best F1 is that of the known classes. Where boxes are labelled unknown and one score decides on
all of them, it is the mean of that F1 and of the unknown's: the score that is best for known
classes alone may drop every box that is called unknown.

A preset is a position of both sliders at once, and true there: what it says of one depends on the
other. All but the second also depend on the wilderness ratio, and are those of the data's.

All are chosen on the data that they are shown on, which flatters every detector alike.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from openset.diagnosis.flow import Flow
from openset.diagnosis.sliders import Sliders

TPR = 0.95


@dataclass(frozen=True, slots=True)
class Preset:
    """A named position of the sliders, and whether it holds at the data's wilderness ratio only."""

    name: str
    title: str
    i: int
    j: int
    own_ratio: bool = True


def presets(table: Sliders) -> tuple[Preset, ...]:
    """Where to start looking: best F1, 95 % of knowns kept, one false alarm per image."""
    flows = table.along_score
    shared = not table.by_score and table.labels_unknown
    best = int(np.argmax([_known_f1(f) + shared * _unknown_f1(f) for f in flows]))
    start = best_second(table, best)
    found = [Preset("max-f1", "operating point", best, start)]
    if not table.by_score:
        kept = _keeping(table, best)
        found.append(Preset("tpr-95", "95 % of knowns stay known", best, kept, own_ratio=False))
    calm = _calm(table, start)
    if calm < len(table.score):
        found.append(Preset("one-alarm", "1 false alarm / image", calm, start))
    return tuple(found)


def best_second(table: Sliders, i: int) -> int:
    """Of unknown scores the one with the best F1; an unknownness only if nothing is called unknown.

    Boxes that are labelled unknown already are taken as given.
    """
    if not table.by_score:
        return table.rest if table.labels_unknown else _keeping(table, i)
    flows = [table.count(i, j) for j in range(len(table.second))]
    return int(np.argmax([_unknown_f1(f) for f in flows]))


def _known_f1(flow: Flow) -> float:
    return _f1(flow.known_precision, flow.known_recall)


def _unknown_f1(flow: Flow) -> float:
    return _f1(flow.unknown_precision, flow.unknown_recall)


def _f1(precision: float | None, recall: float | None) -> float:
    if not precision or not recall:
        return 0.0
    return 2 * precision * recall / (precision + recall)


def _keeping(table: Sliders, i: int) -> int:
    """The lowest second position at which 95 % of the known objects found at `i` stay right."""
    least = TPR * table.count(i, table.rest).known_right

    def keeps(j: int) -> bool:  # the number that stays right grows with the position
        return table.count(i, j).known_right >= least

    return bisect_left(range(table.rest), True, key=keeps)


def _calm(table: Sliders, j: int) -> int:
    """The lowest score position with one false alarm per image at most; past the end if none."""

    def calm(i: int) -> bool:  # a box that goes takes at most one right object along
        alarms = table.count(i, j).false_alarms
        return alarms is not None and alarms <= 1

    return bisect_left(range(len(table.score)), True, key=calm)
