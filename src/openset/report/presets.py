"""Presets: positions of the sliders that are worth a name.

All are chosen on the data that they are shown on, which flatters every detector alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    best = int(np.argmax([_f1(f.known_precision, f.known_recall) for f in flows]))
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
    said = bool((table.boxes[:, 2] & 1).any())
    if not table.by_score:
        return table.rest if said else _keeping(table, i)
    flows = [table.count(i, j) for j in range(len(table.second))]
    return int(np.argmax([_f1(f.unknown_precision, f.unknown_recall) for f in flows]))


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
