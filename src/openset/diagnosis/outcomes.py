"""Outcomes: what every box, and every object, is at an operating point, in a word each.

What pictures are painted by, and what other tools browse by. Counted they are the `flow`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.flow import IGNORED, MISSED, RIGHT, UNKNOWN, WRONG, Called, Targets, fates
from openset.matching import Matches

FATES = {
    RIGHT: "right",
    WRONG: "called another class",
    UNKNOWN: "called unknown",
    MISSED: "missed",
    IGNORED: "ignored",
}


def kinds_of_boxes(matches: Matches, call: Called, target: Targets) -> NDArray[np.str_]:
    """``known`` and ``unknown`` (right), ``confused``, ``false`` (on nothing), or "" (no part)."""
    objects = matches.objects
    aim = np.where(call.unknown, target.unknown, target.known)
    drawn = (call.known | call.unknown) & (aim >= -1)
    klass = np.where(aim >= 0, objects.klass[np.maximum(aim, 0)], -1) if len(objects) else aim
    mine = np.where(call.unknown, matches.n_known, matches.klass)
    right = np.where(mine == matches.n_known, "unknown", "known")
    kind = np.select([~drawn, aim < 0, klass == mine], ["", "false", right], "confused")
    return np.asarray(kind)


def fates_of(matches: Matches, call: Called, target: Targets) -> NDArray[Any]:
    """What became of every object, in the words of `FATES`."""
    words = np.array([FATES[fate] for fate in sorted(FATES)])
    return np.asarray(words[fates(matches, call, target)])
