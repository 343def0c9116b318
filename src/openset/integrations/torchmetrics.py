"""TorchMetrics: ``OpenSetMetric``, a ``torchmetrics.Metric`` for loops and for Lightning.

``update(preds, target)`` takes what ``MeanAveragePrecision`` takes; ``compute`` gives a number per
metric, and ``evaluation`` is the whole result. In several processes all states are gathered first,
and the numbers are those of one shot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.integrations._open_set_metric import OpenSetMetric

__all__ = ["OpenSetMetric", "metric"]


@integration(
    "torchmetrics", requires=("torchmetrics",), summary="An evaluation as a torchmetrics.Metric."
)
def metric(**options: Any) -> OpenSetMetric:
    """An `OpenSetMetric` with the options of `openset.evaluate`."""
    from openset.integrations._open_set_metric import OpenSetMetric

    return OpenSetMetric(**options)


def __getattr__(name: str) -> Any:
    """The class itself, which takes the import of torchmetrics."""
    if name != "OpenSetMetric":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from openset.integrations._open_set_metric import OpenSetMetric

    return OpenSetMetric
