"""Lean: what metrics alone read of matches, in few bytes.

Diagnosis and a report look at every overlap, box and row. Metrics ask which detections reach the
thresholds of the protocol, so that of an evaluation that is not kept a quarter is enough: what
travels from a worker and what the process that joins them holds. All numbers are the same, and so
are the findings.

Only under rules that are decided image by image (``coco``): others claim objects anew from all
overlaps at any threshold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.kernels import MatchColumns
from openset.matching.digest import BITS
from openset.matching.matches import Matches
from openset.matching.near import FITS, KINDS, Near
from openset.matching.protocol import Protocol
from openset.matching.sizes import size_codes
from openset.matching.trend import Trend

MOST = np.iinfo(np.uint16).max  # a place beyond is this one
_DROPPED = ("area", *(f"{what}_{kind}" for what in ("iou", "object") for kind in KINDS))


class Lean(NamedTuple):
    """What stands for overlaps, areas and rows.

    Attributes:
        place: As `Matches.place`, `MOST` and beyond as one.
        size: Codes of areas (`openset.matching.sizes`).
        apart: Detections that touch no object at all.
        same: Detections near objects of their class: those that reach `least`.
        known: Near objects of other classes, likewise.
        unknown: Near unknown objects, likewise.
        least: The overlap down to which `same`, `known` and `unknown` go.
        digest: As `openset.matching.digest`.
        trend: Whether scores are in order in the input.
    """

    place: NDArray[np.uint16]
    size: NDArray[np.uint8]
    apart: NDArray[np.bool_]
    same: Near
    known: Near
    unknown: Near
    least: float
    digest: int
    trend: Trend

    def then(self, after: Lean) -> Lean:
        """With what is no column of these detections and of others that come after them."""
        digest = (self.digest + after.digest) % (1 << BITS)
        return self._replace(digest=digest, trend=self.trend.then(after.trend))


def can_be_lean(rules: Protocol) -> bool:
    """Whether metrics under a protocol need no more."""
    return rules.rule == "coco" and (rules.max_detections or 0) <= MOST


def as_lean(matches: Matches) -> Matches:
    """Matches without what no metric reads, under a protocol that `can_be_lean`."""
    columns, least = matches.columns, min(FITS, matches.protocol.iou[0])
    near = {}
    for kind in KINDS:
        iou, best = matches.overlapped(kind)
        near[kind] = Near.of(iou, best, iou >= least)
    return replace(
        matches,
        row=matches.row[:0],
        tie=None,
        columns=_bare(columns),
        lean=Lean(
            place=_short(matches.place),
            size=size_codes(columns.area),
            apart=matches.apart,
            least=least,
            digest=matches.digest,
            trend=matches.trend,
            **near,
        ),
        _outcomes={},
        _parts={},
    )


def _bare(columns: MatchColumns) -> MatchColumns:
    """Columns without those that `Lean` stands for; of claims, those at the first threshold."""
    bare: dict[str, Any] = {name: getattr(columns, name)[:0] for name in _DROPPED}
    bare |= {"iou_similar": None, "rank": _short(columns.rank)}
    return columns._replace(object=columns.object[:, :1].copy(), **bare)


def _short(place: NDArray[np.integer]) -> NDArray[np.uint16]:
    return np.minimum(place, MOST).astype(np.uint16)
