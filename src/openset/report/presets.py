"""Presets: positions of the sliders that are worth a name.

The best F1 is that of the known classes. Where boxes are labelled unknown and one score decides on
all of them, it is the mean of that F1 and of the unknown's: the score that is best for known
classes alone may drop every box that is called unknown.

All are chosen on the data that they are shown on, which flatters every detector alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openset.report.flow import Flow
from openset.report.sliders import Sliders

TPR = 0.95


@dataclass(frozen=True, slots=True)
class Preset:
    """A named position of the sliders; None leaves a slider where it is."""

    name: str
    title: str
    i: int | None
    j: int | None


def presets(table: Sliders) -> tuple[Preset, ...]:
    """Where to start looking: best F1, 95 % of knowns kept, one false alarm per image."""
    flows = table.along_score
    shared = not table.by_score and table.labels_unknown
    best = int(np.argmax([_known_f1(f) + shared * _unknown_f1(f) for f in flows]))
    start = best_second(table, best)
    found = [Preset("max-f1", "max F1", best, start)]
    if not table.by_score:
        found.append(Preset("tpr-95", "95 % of knowns stay known", None, _keeping(table, best)))
    calm = [i for i, f in enumerate(flows) if f.false_alarms is not None and f.false_alarms <= 1]
    if calm:
        found.append(Preset("one-alarm", "1 false alarm / image", calm[0], None))
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
    found = table.count(i, table.rest).known_right
    low, high = 0, table.rest
    while low < high:  # the number that stays right grows with the position
        middle = (low + high) // 2
        if table.count(i, middle).known_right >= TPR * found:
            high = middle
        else:
            low = middle + 1
    return low
