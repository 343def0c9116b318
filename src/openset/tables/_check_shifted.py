"""Check that scores stand beside their own image: a column of a table may have slipped by a row.

Most files have the boxes of an image together, the surest first, so that scores rise where an image
begins and nowhere else. In a column that slipped by a row they rise a row before, or after.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case
from openset.wording import spaced

_IMAGES, _SEVERAL = 20, 4  # images, and rows of each, on average: of two, either rises in any order
_THERE = 0.95  # of all rises are a row beside the beginning of an image


def slipped(case: Case) -> Iterator[Finding]:
    """The finding that scores rise a row before, or after, most images begin, and only there."""
    score, start = case.detections.score, case.runs[1]
    begins = start[start > 0]
    if len(begins) < _IMAGES or len(score) < _SEVERAL * len(start):
        return
    at = begins[:: -(-len(begins) // 200)]
    if 2 * np.count_nonzero(score[at] > score[at - 1]) > len(at):
        return  # as nearly always: images begin where scores rise
    rises = np.flatnonzero(score[1:] > score[:-1]) + 1
    of_image = np.isin(rises, begins)
    for by, where in ((-1, "before"), (1, "after")):
        beside = int(np.count_nonzero(np.isin(rises[~of_image], begins + by)))
        if beside >= max(_IMAGES, _THERE * len(rises), len(begins) / 2):
            row = int(begins[0]) + by
            yield Finding(
                "OS250",
                Level.WARNING,
                f"scores fall from row to row, and rise a row {where} an image begins: on "
                f"{spaced(beside)} of {spaced(len(begins))} images",
                count=beside,
                example=f"{case.where(row)}, score {score[row]:g}",
            )
            return
