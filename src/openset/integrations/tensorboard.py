"""TensorBoard: the numbers of an evaluation as scalars, and its table as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from openset.integrations._numbers import numbers
from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation


class ScalarWriter(Protocol):
    """A ``SummaryWriter``, of torch or tensorboardX."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> Any:
        """Log one number."""


@integration(
    "tensorboard",
    requires=("tensorboard",),
    summary="The numbers of an evaluation as scalars, and its table as text.",
)
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
    if hasattr(writer, "add_text"):  # whoever writes scalars alone need not have it
        writer.add_text(f"{prefix}table", evaluation.to_markdown(), step)
