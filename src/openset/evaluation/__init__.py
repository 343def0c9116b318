"""Evaluation: from two inputs to all numbers, with their protocol, provenance and intervals.

`evaluate` is one shot, `Evaluator` streams, `compare` asks whether two results differ, `forgetting`
what later tasks cost earlier classes. All but the first are imported on first use; `evaluate`
imports what it needs while it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openset.evaluation.one_shot import evaluate
from openset.late import late

if TYPE_CHECKING:
    from openset.evaluation.across_tasks import forgetting
    from openset.evaluation.comparison import Comparison, compare
    from openset.evaluation.provenance import Provenance
    from openset.evaluation.result import Evaluation
    from openset.evaluation.streaming import Evaluator

__all__ = [
    "Comparison",
    "Evaluation",
    "Evaluator",
    "Provenance",
    "compare",
    "evaluate",
    "forgetting",
]
__getattr__ = late(
    __name__,
    {
        "Comparison": "comparison",
        "Evaluation": "result",
        "Evaluator": "streaming",
        "Provenance": "provenance",
        "compare": "comparison",
        "forgetting": "across_tasks",
    },
)
