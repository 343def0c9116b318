"""Weights & Biases: the numbers of an evaluation in a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from openset.integrations._numbers import numbers
from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation


class WandbRun(Protocol):
    """What ``wandb.init()`` returns, or the module itself."""

    def log(self, data: Mapping[str, float], step: int | None = None) -> Any:
        """Log numbers."""


@integration(
    "wandb",
    requires=("wandb",),
    summary="The numbers of an evaluation in a run of Weights & Biases.",
)
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
