"""Metrics: pure functions from `Matches` to a `Value`, one family a file, found by discovery.

`table()` lists all of them, built in or from third parties (entry points in the group
``openset.metrics``). Adding a metric is adding a file.
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.metrics._by_class import ByClass, on_all
from openset.metrics._levels import at_each, checked, levels_of, named, of_pair
from openset.metrics._spec import Left, Metric, Value, metric
from openset.plugins import records

__all__ = [
    "ByClass",
    "Left",
    "Metric",
    "Value",
    "at_each",
    "checked",
    "levels_of",
    "metric",
    "named",
    "of_pair",
    "on_all",
    "table",
]


def table() -> Mapping[str, Metric]:
    """Every metric, by name, in the order of the files they live in."""
    return records(__name__, "metric")
