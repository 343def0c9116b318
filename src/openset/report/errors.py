"""Errors: the section of the page on kinds of errors, those of Dhamija et al. and of TIDE.

Two tables, a column per detector, and a third on calibration: errors of the scores. The numbers are
those of `openset diagnose`: nothing is counted here, and nothing follows the sliders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openset.diagnosis.calibration import VIEWS, Calibrated, calibration
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.errors import ERROR_TYPES, ErrorTypes
from openset.diagnosis.errors import errors as error_types
from openset.diagnosis.tide import ERRORS, Tide, cost_of_errors
from openset.findings import InputError
from openset.wording import grouped, listed, percent, short

NAMES = (*ERROR_TYPES, *ERRORS, "FalsePos", "FalseNeg")  # what the glossary explains
MOST_CLASSES = 5


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """A kind of error: for every detector a number, and a smaller one below it."""

    name: str
    part: bool
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Errors:
    """What the section shows.

    Attributes:
        recall: The recall at which the types are counted.
        types: Kept detections by type, and their share.
        unreached: Detectors of which classes never reach the recall, and those classes.
        costs: What kinds of errors cost, and how many there are; parts stand below their kind.
        ap: Average precision per detector, which the costs are of.
        calibration: Expected calibration errors, and the largest gap of a bin.
    """

    recall: str
    types: tuple[ErrorLine, ...]
    unreached: tuple[tuple[str, str], ...]
    costs: tuple[ErrorLine, ...]
    ap: tuple[str, ...]
    calibration: tuple[ErrorLine, ...]


def errors(models: Sequence[Deployed]) -> Errors:
    """The section on some detectors."""
    types = [error_types(model.matches) for model in models]
    tides = [cost_of_errors(model) for model in models]
    return Errors(
        recall=percent(types[0].recall),
        types=tuple(_type(name, types) for name in ERROR_TYPES),
        unreached=tuple(
            (model.title, _unreached(one))
            for model, one in zip(models, types, strict=True)
            if one.unreached
        ),
        costs=_costs(tides),
        ap=tuple(_points(tide.ap) for tide in tides),
        calibration=_calibration(models),
    )


def _type(name: str, found: Sequence[ErrorTypes]) -> ErrorLine:
    cells = ((grouped(one.totals[name]), percent(one.shares.get(name, 0.0))) for one in found)
    return ErrorLine(name, False, tuple(cells))


def _calibration(models: Sequence[Deployed]) -> tuple[ErrorLine, ...]:
    found = [_calibrated(model) for model in models]
    return tuple(ErrorLine(name, False, tuple(_gaps(one, name) for one in found)) for name in VIEWS)


def _calibrated(model: Deployed) -> Calibrated | None:
    """Nothing where scores are no probabilities."""
    try:
        return calibration(model.matches)
    except InputError:
        return None


def _gaps(found: Calibrated | None, name: str) -> tuple[str, str]:
    """The error and the largest gap of a view."""
    ece, largest = (None, None) if found is None else (found[name].ece, found[name].largest)
    return ("–", "") if ece is None or largest is None else (percent(ece), percent(largest))


def _unreached(found: ErrorTypes) -> str:
    """The first classes that are in no count, and how many more."""
    names = [short(name, 24) for name in found.unreached]
    more = len(names) - MOST_CLASSES
    return listed([*names[:MOST_CLASSES], *([f"{more} more"] if more > 0 else [])])


def _costs(found: Sequence[Tide]) -> tuple[ErrorLine, ...]:
    rows = zip(*(tide.rows() for tide in found), strict=True)
    return tuple(
        ErrorLine(
            name=row[0]["error"].strip(),
            part=row[0]["error"].startswith(" "),
            cells=tuple((_points(one["dAP"]), _count(one["count"])) for one in row),
        )
        for row in rows
    )


def _points(value: float) -> str:
    return f"{100 * value:.2f}".replace("-", "−")


def _count(count: int | None) -> str:
    return "" if count is None else grouped(count)
