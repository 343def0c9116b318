"""Recognition: the section of the page on classifiers, from what `openset recognise -o` keeps.

All metrics with their intervals, and the OSCR curves. The numbers are those of the files: nothing
is computed again. For a page about classifiers alone see `openset.report.alone`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openset.evaluation.result import Evaluation
from openset.evaluation.scoreboard import Scoreboard
from openset.evaluation.trainings import Given, methods_of
from openset.report.charts import Figure, share_curves
from openset.wording import distinct

LONGEST_NAME = 60


@dataclass(frozen=True)
class Recognised:
    """What the section shows.

    Attributes:
        names: The classifiers, as they are shown.
        headlines: What each was evaluated on.
        board: Classifiers against metrics.
        figure: The OSCR curves.
        resamples: How many resamples the intervals come from.
    """

    names: tuple[str, ...]
    headlines: tuple[str, ...]
    board: Scoreboard
    figure: Figure
    resamples: int


def recognised(results: Mapping[str, Given]) -> Recognised:
    """The section on some classifiers.

    Args:
        results: Their results, by name; the others are compared with the first. Of several
            trainings, the curve is that of the first.
    """
    names = distinct(results, LONGEST_NAME)
    methods = methods_of(dict(zip(names, results.values(), strict=True)), force=True)
    firsts = {name: one.results[0] for name, one in methods.items()}
    return Recognised(
        names=tuple(names),
        headlines=tuple(one.headline() for one in firsts.values()),
        board=Scoreboard.of(methods, force=True),
        figure=_oscr(firsts),
        resamples=methods[names[0]].provenance.resamples,
    )


def _oscr(results: Mapping[str, Evaluation]) -> Figure:
    """Correct classification of known samples against accepted unknown ones."""
    rows = [
        {"model": name, "x": float(level), "y": round(float(y), 5)}
        for name, one in results.items()
        if "oscr" in one.values
        for level, y in one.values["oscr"].parts.items()
    ]
    note = "Known samples accepted and named correctly, against unknown samples accepted."
    blank = Figure("recognition-oscr", "OSCR", note, "", None, _why_not(list(results.values())))
    axes = ("unknown samples accepted", "known samples named correctly")
    return share_curves(blank, rows, axes, list(results))


def _why_not(results: Sequence[Evaluation]) -> str:
    found = [one.values["oscr"].reason for one in results if "oscr" in one.values]
    return next(filter(None, found), "the results do not hold the metric oscr")
