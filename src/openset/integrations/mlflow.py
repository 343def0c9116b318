"""MLflow: the numbers of an evaluation in the active run, its table and its curves as tables.

MLflow adds rows to a table of the same name, so each row has its step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from openset.integrations._numbers import numbers
from openset.integrations._shown import curves, table
from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation


class MlflowLike(Protocol):
    """The module ``mlflow``."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> Any:
        """Log numbers."""


@integration(
    "mlflow",
    requires=("mlflow",),
    summary="The numbers, the table and the curves of an evaluation in the active run.",
)
def to_mlflow(
    evaluation: Evaluation,
    mlflow: MlflowLike,
    step: int | None = None,
    *,
    prefix: str = "val/",
    intervals: bool = False,
) -> None:
    """Log to the active MLflow run.

    Args:
        evaluation: The numbers.
        mlflow: The module ``mlflow``, or anything with its ``log_metrics`` and ``log_table``.
        step: Epoch or iteration.
        prefix: Put before every name.
        intervals: Also the ends of the intervals.
    """
    mlflow.log_metrics(numbers(evaluation, prefix, intervals=intervals), step=step)
    if hasattr(mlflow, "log_table"):
        header, rows = table(evaluation)
        columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        mlflow.log_table(_stepped(columns, step), f"{prefix}table.json")
        for name, curve in curves(evaluation).items():
            mlflow.log_table(_stepped(curve.columns, step), f"{prefix}{name}.json")


def _stepped(columns: Mapping[str, list[Any]], step: int | None) -> dict[str, list[Any]]:
    rows = len(next(iter(columns.values())))
    return {"step": [step] * rows, **columns}
