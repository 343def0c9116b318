"""Evaluation: from two inputs to all numbers, with their protocol, provenance and intervals.

`evaluate` is one shot, `Evaluator` streams, `compare` asks whether two results differ. The latter
two are imported on first use: most evaluations need neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from openset.evaluation.one_shot import evaluate
from openset.evaluation.provenance import Provenance
from openset.evaluation.result import Evaluation

if TYPE_CHECKING:
    from openset.evaluation.comparison import Comparison, compare
    from openset.evaluation.streaming import Evaluator

__all__ = ["Comparison", "Evaluation", "Evaluator", "Provenance", "compare", "evaluate"]
_LATER = {"Comparison": "comparison", "compare": "comparison", "Evaluator": "streaming"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
