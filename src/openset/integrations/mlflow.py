"""MLflow: the numbers of an evaluation in the active run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from openset.integrations._numbers import numbers
from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation


class MlflowLike(Protocol):
    """The module ``mlflow``."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> Any:
        """Log numbers."""


@integration(
    "mlflow", requires=("mlflow",), summary="The numbers of an evaluation in the active run."
)
def to_mlflow(
    evaluation: Evaluation,
    mlflow: MlflowLike,
    step: int | None = None,
    *,
    prefix: str = "val/",
    intervals: bool = False,
) -> None:
    """Log to the active MLflow run, all numbers in one call.

    Args:
        evaluation: The numbers.
        mlflow: The module ``mlflow``, or anything with its ``log_metrics``.
        step: Epoch or iteration.
        prefix: Put before every name.
        intervals: Also the ends of the intervals.
    """
    mlflow.log_metrics(numbers(evaluation, prefix, intervals=intervals), step=step)
