"""Openness that was sorted by itself: it rises, or falls, from row to row, and the rows do not.

A file may well be in order of openness: then its ids are in none, and what is misnamed is at its
open end. Where ids or labels are in order as well, or openness tells nothing of what is misnamed
though classes are named well, the numbers are those of other samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.ranking import area_under_roc
from openset.recognition._drawn import as_if_drawn
from openset.recognition.ranking import rank_answers
from openset.recognition.scores import Scores

_FEWEST = 20  # samples of each kind: of fewer, chance may have made an order
_WRONG = 10  # misnamed samples, of which their openness can be told
_CHANCE = 2.0  # standard deviations


def sorted_by_itself(scores: Scores) -> Finding | None:
    """OS828, if openness is in order and something says that its rows were not moved with it."""
    columns = scores.openness, scores.unknown_openness
    if min(map(len, columns)) < _FEWEST:
        return None
    rises = all((np.diff(column) >= 0).all() for column in columns)
    falls = all((np.diff(column) <= 0).all() for column in columns)
    if rises == falls or min(len(np.unique(column)) for column in columns) < _FEWEST:
        return None
    n, why = scores.n_known + scores.n_unknown, _rows_stayed(scores)
    if not why:
        return None
    said = f"openness {'rises' if rises else 'falls'} from row to row of each kind of samples"
    first = f"{columns[0][0]:g}, {columns[0][1]:g}, {columns[0][2]:g} ..."
    return Finding("OS828", Level.WARNING, f"{said}, and {why}", n, first)


def _rows_stayed(scores: Scores) -> str:
    """What says that the other columns are in their own order, in words; nothing if none does."""
    if scores.ids is not None and all(map(_in_order, scores.ids)):
        return "so do the ids"
    steps = np.diff(scores.label)
    if np.count_nonzero(steps) + 1 == scores.n_classes > 2 and (steps >= 0).all():
        return "labels are in the order of their classes"
    right, wrong = scores.openness[scores.correct], scores.openness[~scores.correct]
    if min(len(right), len(wrong)) < _WRONG or as_if_drawn(scores):
        return ""
    area = float(area_under_roc(rank_answers(right, np.ones(len(right), np.bool_), wrong)))
    spread = ((len(right) + len(wrong) + 1) / (12 * len(right) * len(wrong))) ** 0.5
    if area > 0.5 + _CHANCE * spread:
        return ""
    named = f"{scores.correct.mean():.0%} of known samples are named rightly"
    return f"{named}, yet a misnamed one looks more unknown in {area:.0%} of pairs only"


def _in_order(ids: NDArray[Any]) -> bool:
    """Whether ids count upwards, as text or by the numbers in them."""
    names = [str(one) for one in ids.tolist()]
    return len(set(names)) == len(names) and (_rising(names) or _rising([*map(_natural, names)]))


def _natural(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _rising(values: Sequence[Any]) -> bool:
    return all(one < other for one, other in pairwise(values))
