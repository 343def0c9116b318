"""Weights & Biases: the numbers of an evaluation in a run, its table, and its curves as plots.

Tables and plots are made with the package that the run comes from, which whoever made the run has
imported; it is not imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from openset.integrations._numbers import numbers
from openset.integrations._shown import curves, table
from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation


class WandbRun(Protocol):
    """What ``wandb.init()`` returns, or the module itself."""

    def log(self, data: Mapping[str, Any], step: int | None = None) -> Any:
        """Log numbers, tables and plots."""


@integration(
    "wandb",
    requires=("wandb",),
    summary="The numbers, the table and the curves of an evaluation in a run of Weights & Biases.",
)
def to_wandb(
    evaluation: Evaluation,
    run: WandbRun,
    step: int | None = None,
    *,
    prefix: str = "val/",
    intervals: bool = False,
) -> None:
    """Log to a Weights & Biases run, all in one call.

    Args:
        evaluation: The numbers.
        run: What ``wandb.init()`` returned.
        step: Epoch or iteration.
        prefix: Put before every name.
        intervals: Also the ends of the intervals.
    """
    shown = _shown(evaluation, prefix, package_of(run))
    run.log({**numbers(evaluation, prefix, intervals=intervals), **shown}, step=step)


def package_of(run: Any) -> Any:
    """The package that a run comes from: the module ``wandb``, if it is one of its runs."""
    if isinstance(run, ModuleType):
        return run
    return sys.modules.get(type(run).__module__.partition(".")[0])


def _shown(evaluation: Evaluation, prefix: str, package: Any) -> dict[str, Any]:
    """Table and plots; none of a stand-in that has no tables."""
    if not hasattr(package, "Table"):
        return {}
    header, rows = table(evaluation)
    found = {f"{prefix}table": package.Table(columns=header, data=rows)}
    for name, curve in curves(evaluation).items():
        x, y = curve.columns
        points = package.Table(columns=[x, y], data=[list(point) for point in curve.points])
        found[f"{prefix}{name}_plot"] = package.plot.line(points, x, y, title=name)
    return found
