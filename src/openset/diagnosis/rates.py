"""Rates: curves of one rate against another along the score slider, the second slider at rest.

Known classes by precision and recall, all boxes pooled, a duplicate being a wrong box; and OSCR,
the curve of open-set recognition (Dhamija et al., Reducing Network Agnostophobia, NeurIPS 2018) on
matched objects: boxes labelled unknown accept nothing. Not the curves whose areas metrics are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from openset.diagnosis.flow import Flow
from openset.diagnosis.sliders import Sliders, score_levels, sliders
from openset.matching import Matches


class Point(NamedTuple):
    """A point of a curve, and the minimum score there."""

    x: float
    y: float
    level: float


def along_score(matches: Matches) -> Sliders:
    """The boxes of one detector on a ladder of its own scores."""
    return sliders(matches, score_levels(matches.score))


def known_precision_recall(table: Sliders) -> list[Point]:
    """Precision of known boxes against the recall of known objects."""
    return [
        Point(flow.known_recall, flow.known_precision, level)
        for level, flow in _flows(table)
        if flow.known_recall is not None and flow.known_precision is not None
    ]


def oscr(table: Sliders) -> list[Point]:
    """Known objects called right against unknown objects under a known name."""
    return [
        Point(flow.unknown_as_known, flow.known_recall, level)
        for level, flow in _flows(table)
        if flow.unknown_as_known is not None and flow.known_recall is not None
    ]


def _flows(table: Sliders) -> Iterator[tuple[float, Flow]]:
    return zip(table.score.tolist(), table.along_score, strict=True)
