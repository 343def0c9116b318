"""Evaluation: from two inputs to all numbers, with their protocol, provenance and intervals.

`evaluate` is one shot, `Evaluator` streams, `compare` asks whether two results differ.
"""

from openset.evaluation.comparison import Comparison, compare
from openset.evaluation.one_shot import evaluate
from openset.evaluation.result import Evaluation, Provenance
from openset.evaluation.streaming import Evaluator

__all__ = ["Comparison", "Evaluation", "Evaluator", "Provenance", "compare", "evaluate"]
