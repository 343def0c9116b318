"""Objectness: is it that of known objects, as detectors promise, or that of any object?

Dhamija et al. (WACV 2020, section 2) hold that the objectness of the YOLO family, presented as the
probability of a known object, is high on unknown objects too: "generic objectness". Here the
detector's own column ``objectness`` is read for boxes on known objects, on unknown objects and on
nothing that is labelled, as Hoiem's overlap of 0.1 tells them apart. If it were known objectness,
boxes on unknown objects would look like those on nothing; if it is generic, like those on known.

Nothing is rejected by it here, and what is "on nothing" may be an object that nobody labelled.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._points import TOUCH, within_limit
from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.findings import refuse
from openset.matching import Matches
from openset.ranking import area_under_roc, rank
from openset.tables import Detections

COLUMN = "objectness"
KNOWN, UNKNOWN, NOTHING = "on known objects", "on unknown objects", "on nothing"


@dataclass(frozen=True, slots=True)
class Spread:
    """How a column is distributed over some boxes; None without any.

    Attributes:
        boxes: Which.
        count: How many.
        mean: Mean.
        lower: A quarter is below.
        median: Half is below.
        upper: A quarter is above.
        above_nothing: How often such a box has more of it than one on nothing.
    """

    boxes: str
    count: int
    mean: float | None
    lower: float | None
    median: float | None
    upper: float | None
    above_nothing: float | None


@dataclass(frozen=True)
class Objectness(Diagnosis):
    """Objectness by what boxes are on."""

    spreads: tuple[Spread, ...]
    touch: float

    def rows(self) -> list[Row]:
        """Boxes on known objects, on unknown ones, and on nothing."""
        return [asdict(one) for one in self.spreads]

    def notes(self) -> list[str]:
        """What is on an object."""
        return [f"a box is on the object that it overlaps most, by at least {self.touch:g}"]


def objectness(matches: Matches, detections: Detections, *, touch: float = TOUCH) -> Objectness:
    """The objectness of boxes on known objects, on unknown ones, and on nothing.

    Args:
        matches: Matched detections.
        detections: The same detections, with a column ``objectness``.
        touch: Least overlap (inclusive) with which a box is on an object.

    Raises:
        InputError: There is no such column, or it has no numbers.
    """
    held = detections.attributes.get(COLUMN)
    if held is None or not np.issubdtype(held.dtype, np.number):
        have = "there is none" if held is None else "it has no numbers"
        fix = "a detector of the YOLO family that keeps it: openset run --evidence objectness"
        raise refuse("OS501", f"the column {COLUMN!r} is read, but {have}", fix=fix)
    values = held[matches.row].astype(np.float64)
    overlap, best = matches.best_any
    counts = within_limit(matches) & np.isfinite(values)
    near = counts & (overlap >= touch) & (best >= 0)
    unknown = near & (matches.objects.klass[best] == matches.n_known)
    nothing = values[counts & ~near]
    parts = {KNOWN: values[near & ~unknown], UNKNOWN: values[unknown], NOTHING: nothing}
    return Objectness(tuple(_spread(k, v, nothing) for k, v in parts.items()), touch)


@question(
    "objectness",
    title="Objectness",
    paper="Dhamija et al., WACV 2020, section 2",
    reads=("touch",),
)
def known_or_any(one: Deployed) -> Objectness:
    """Objectness of boxes on known objects, on unknown ones and on nothing, where it was kept."""
    return objectness(one.matches, one.detections, touch=one.view.touch)


def _spread(boxes: str, values: NDArray[np.float64], nothing: NDArray[np.float64]) -> Spread:
    if not len(values):
        return Spread(boxes, 0, None, None, None, None, None)
    lower, median, upper = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    above = None
    if len(nothing) and boxes != NOTHING:
        above = float(area_under_roc(rank(nothing, values)))
    return Spread(boxes, len(values), float(values.mean()), lower, median, upper, above)
