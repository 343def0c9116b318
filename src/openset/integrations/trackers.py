"""Trackers: log an evaluation to TensorBoard, Weights & Biases or MLflow.

Each function formats and calls a writer or run that you made; none of the packages is imported.
Metrics without a number are left out: a tracker would draw them as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from openset.evaluation.result import Evaluation


class ScalarWriter(Protocol):
    """A TensorBoard ``SummaryWriter``, of torch or tensorboardX."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> Any:
        """Log one number."""


class WandbRun(Protocol):
    """What ``wandb.init()`` returns, or the module itself."""

    def log(self, data: Mapping[str, float], step: int | None = None) -> Any:
        """Log numbers."""


class MlflowLike(Protocol):
    """The module ``mlflow``."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> Any:
        """Log numbers."""


def numbers(
    evaluation: Evaluation, prefix: str = "val/", *, intervals: bool = False
) -> dict[str, float]:
    """What the functions below log.

    Args:
        evaluation: The numbers.
        prefix: Put before every name.
        intervals: Also the ends of the intervals, as ``<name>/low`` and ``<name>/high``.
    """
    flat = evaluation.flat(prefix)
    if intervals:
        for name, value in evaluation.values.items():
            if value.interval is not None:
                low, high = value.interval
                flat |= {f"{prefix}{name}/low": float(low), f"{prefix}{name}/high": float(high)}
    return flat


def to_tensorboard(
    evaluation: Evaluation,
    writer: ScalarWriter,
    step: int | None = None,
    *,
    prefix: str = "val/",
    intervals: bool = False,
) -> None:
    """Log to a TensorBoard writer.

    Args:
        evaluation: The numbers.
        writer: A ``SummaryWriter``.
        step: Epoch or iteration.
        prefix: Put before every name.
        intervals: Also the ends of the intervals.
    """
    for name, value in numbers(evaluation, prefix, intervals=intervals).items():
        writer.add_scalar(name, value, step)


def to_wandb(
    evaluation: Evaluation,
    run: WandbRun,
    step: int | None = None,
    *,
    prefix: str = "val/",
    intervals: bool = False,
) -> None:
    """Log to a Weights & Biases run, all numbers in one call.

    Args:
        evaluation: The numbers.
        run: What ``wandb.init()`` returned.
        step: Epoch or iteration.
        prefix: Put before every name.
        intervals: Also the ends of the intervals.
    """
    run.log(numbers(evaluation, prefix, intervals=intervals), step=step)


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
