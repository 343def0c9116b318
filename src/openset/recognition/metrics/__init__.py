"""Recognition metrics: pure functions from `Scores` to a `Value`, one family a file, discovered.

`table()` lists all of them, built in or from third parties (entry points in the group
``openset.recognition.metrics``). Adding a metric is adding a file. The decorator and the value are
those of detection metrics (`openset.metrics`); what they are computed from is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from openset.metrics import Metric, Value, metric
from openset.plugins import records

if TYPE_CHECKING:
    from openset.recognition.scores import Scores

__all__ = ["Metric", "Value", "compute", "metric", "table"]


def table() -> Mapping[str, Metric]:
    """Every recognition metric, by name, in the order of the files they live in."""
    return records(__name__, "metric")


def compute(metric: Metric, scores: Scores, **params: Any) -> Value:
    """A metric of some scores."""
    function: Callable[..., Value] = metric.compute
    return function(scores, **params)
