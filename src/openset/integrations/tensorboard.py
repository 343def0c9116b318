"""TensorBoard: the numbers of an evaluation as scalars, its table as text, its curves.

Precision and recall are a curve of TensorBoard's own; it has no others, so the rest are pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from openset.integrations._numbers import numbers
from openset.integrations._shown import RECALL, curves
from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation
    from openset.matching import Matches


class ScalarWriter(Protocol):
    """A ``SummaryWriter``, of torch or tensorboardX."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> Any:
        """Log one number."""


@integration(
    "tensorboard",
    requires=("tensorboard",),
    summary="The numbers of an evaluation as scalars, its table as text, and its curves.",
)
def to_tensorboard(
    evaluation: Evaluation,
    writer: ScalarWriter,
    step: int | None = None,
    *,
    prefix: str = "val/",
    intervals: bool = False,
) -> None:
    """Log to a TensorBoard writer; one that only writes scalars gets these alone.

    Args:
        evaluation: The numbers.
        writer: A ``SummaryWriter``.
        step: Epoch or iteration.
        prefix: Put before every name.
        intervals: Also the ends of the intervals.
    """
    for name, value in numbers(evaluation, prefix, intervals=intervals).items():
        writer.add_scalar(name, value, step)
    if hasattr(writer, "add_text"):
        writer.add_text(f"{prefix}table", evaluation.to_markdown(), step)
    if hasattr(writer, "add_image"):
        for name, curve in curves(evaluation).items():
            if name != RECALL or not hasattr(writer, "add_pr_curve_raw"):
                writer.add_image(f"{prefix}{name}", curve.picture(), step, dataformats="HWC")
    if hasattr(writer, "add_pr_curve_raw") and evaluation.matches is not None:
        _add_recall(writer, f"{prefix}{RECALL}", evaluation.matches, step)


def _add_recall(writer: Any, tag: str, matches: Matches, step: int | None) -> None:
    """Precision and recall of known classes along the score, as TensorBoard counts them."""
    from openset.diagnosis.rates import along_score

    flows = along_score(matches).along_score
    right = np.array([flow.known_right for flow in flows])
    boxes = np.array([flow.boxes_known for flow in flows])
    known = np.array([flow.known for flow in flows])
    writer.add_pr_curve_raw(
        tag,
        true_positive_counts=right,
        false_positive_counts=boxes - right,
        true_negative_counts=np.zeros(len(flows)),
        false_negative_counts=known - right,
        precision=right / np.maximum(boxes, 1),
        recall=right / np.maximum(known, 1),
        global_step=step,
        num_thresholds=len(flows),
    )
