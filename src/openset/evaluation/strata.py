"""Strata: the numbers of a run on groups of its images, each with an interval.

An image column says the group (``tier``: near, far or farther of FMIYC; a camera, day or night).
The matches are restricted to the images of a group, which is exact, and measured as the whole was.
Of two sets (`openset.tables.sets`) the OOD set is taken apart, and every stratum has the whole ID
set. Images with an empty name are in no stratum.

Not a comparison: strata have different images, so that their differences are not paired. Objects
instead of images: `openset.diagnosis.strata`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.numbers import ARROWS, interval, number
from openset.evaluation.result import Evaluation
from openset.evaluation.run import Run
from openset.evaluation.settings import Settings
from openset.evaluation.steps import Matched, evaluation_of
from openset.findings import UsageError
from openset.matching.restricting import restrict_images
from openset.plugins import lookup
from openset.render import Table
from openset.tables.groups import ALONE, group_names
from openset.tables.sets import ID

MOST = 32
_NEAREST_FIRST = ("near", "far", "farther")


@dataclass(frozen=True)
class Strata:
    """The numbers of every detector on every stratum.

    Attributes:
        by: The image column.
        results: By detector, then by stratum.
    """

    by: str
    results: Mapping[str, Mapping[str, Evaluation]]

    def table(self, model: str, *, decimals: int = 2) -> Table:
        """Metrics against strata of one detector: numbers with intervals."""
        found = self.results[model]
        first = next(iter(found.values()))
        rows = [
            (_label(first, name), *(_cell(one, name, decimals) for one in found.values()))
            for name in first.values
        ]
        return Table((f"by {self.by}", *found), tuple(rows))

    def document(self) -> dict[str, Any]:
        """For programs: value, interval and reason by detector, stratum and metric."""
        return {
            model: {name: _numbers(one) for name, one in found.items()}
            for model, found in self.results.items()
        }


def strata_of(run: Run, by: str) -> Strata:
    """The headline numbers of a run, stratum by stratum.

    Args:
        run: Detectors on one ground truth, with their matches.
        by: An image column of the ground truth.
    """
    column = group_names(lookup(run.truth.images.attributes, by, "image column"))
    names = sorted({*column.tolist()} - {ALONE}, key=nearest_first)
    if not 1 <= len(names) <= MOST:
        raise UsageError(f"column {by!r} has {len(names)} values; strata are 1 to {MOST}")
    return Strata(by, {model: _of_model(run, model, column, names) for model in run.names})


def _of_model(
    run: Run, model: str, column: NDArray[Any], names: list[str]
) -> dict[str, Evaluation]:
    whole = run.evaluations[model]
    matches = whole.matches
    assert matches is not None, "a run keeps its matches"
    shown = [name for name in whole.values if _told(whole, name)]
    origin = whole.provenance
    settings = Settings(metrics=shown, seed=run.seed, intervals=bool(origin.resamples))
    of_all = np.zeros(len(column), np.bool_) if matches.ood is None else ~matches.ood
    found = {}
    for name in names:
        part = restrict_images(matches, (column == name) | of_all)
        held = origin.inputs, origin.ledger, origin.minimum_score
        found[name] = evaluation_of(Matched(part, (), *held), settings)
    return found


def _told(whole: Evaluation, name: str) -> bool:
    """Whether a number is shown first, and can differ: the ID set is that of every stratum."""
    metric = whole.metrics[name]
    same = whole.matches is not None and whole.matches.ood is not None
    return metric.headline and not (same and (metric.of == ID or name.endswith(f"@{ID}")))


def nearest_first(name: str) -> tuple[int, str]:
    """Tiers from near to farther, everything else by name."""
    known = name in _NEAREST_FIRST
    return (_NEAREST_FIRST.index(name) if known else len(_NEAREST_FIRST), name)


def _label(one: Evaluation, name: str) -> str:
    metric = one.metrics[name]
    unit = ", %" if metric.unit == "fraction" else ""
    return f"{metric.title}{unit} {ARROWS[metric.better]}".rstrip()


def _cell(one: Evaluation, name: str, decimals: int) -> str:
    value, metric = one.values[name], one.metrics[name]
    shown = number(value.value, metric, decimals=decimals, unit=False)
    return f"{shown} {interval(value.interval, metric, decimals=decimals)}".rstrip()


def _numbers(one: Evaluation) -> dict[str, Any]:
    return {
        name: {"value": value.value, "interval": value.interval, "reason": value.reason}
        for name, value in one.values.items()
    }
