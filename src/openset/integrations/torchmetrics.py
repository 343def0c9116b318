"""TorchMetrics: ``OpenSetMetric``, a ``torchmetrics.Metric`` for loops and for Lightning.

``update(preds, target)`` takes what ``MeanAveragePrecision`` takes; ``compute`` gives a number per
metric, and ``evaluation`` is the whole result. In several processes all states are gathered first,
and the numbers are those of one shot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openset.integrations._spec import integration
from openset.late import late

if TYPE_CHECKING:
    from openset.integrations._open_set_metric import OpenSetMetric

__all__ = ["OpenSetMetric", "metric"]
__getattr__ = late("openset.integrations", {"OpenSetMetric": "_open_set_metric"})


@integration(
    "torchmetrics", requires=("torchmetrics",), summary="An evaluation as a torchmetrics.Metric."
)
def metric(**options: Any) -> OpenSetMetric:
    """An `OpenSetMetric` with the options of `openset.evaluate`."""
    from openset.integrations._open_set_metric import OpenSetMetric

    return OpenSetMetric(**options)
