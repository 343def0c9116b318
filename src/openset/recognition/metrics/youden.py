"""Youden's index of the known classes: recall plus specificity minus one.

Like the F-score it never looks at samples that are rejected rightly (inconsistency property I).
"""

from __future__ import annotations

from typing import Any

from openset.metrics import Value, metric
from openset.recognition.answers import Answers
from openset.recognition.metrics._threshold import at_threshold
from openset.recognition.scores import Scores

PAPER = "Scherreik and Rigling, Open Set Recognition for Automatic Target Classification, 2016"


@metric("youden_macro", title="Youden's index (macro)", range=(-1, 1), paper=PAPER)
def youden_macro(scores: Scores, *, threshold: float | None = None) -> Value:
    """Mean recall plus mean specificity of the known classes, minus one.

    ``J = TPR + TNR - 1``, both means over the C known classes; a class without samples has a
    recall of 0. A negative of a class is any sample of another class or of none.
    """
    return at_threshold(scores, threshold, _macro, needs_names=True)


@metric("youden_micro", title="Youden's index (micro)", range=(-1, 1), paper=PAPER)
def youden_micro(scores: Scores, *, threshold: float | None = None) -> Value:
    """Pooled recall plus pooled specificity of the known classes, minus one.

    ``J = ΣTP / Σ(TP + FN) + ΣTN / Σ(TN + FP) - 1``. Every sample is a negative of at least C - 1
    classes, so that the specificity is near one whatever is accepted: not a balance of two errors.
    """
    return at_threshold(scores, threshold, _micro)


def _macro(answers: Answers) -> Any:
    return answers.macro_recall() + answers.macro_tnr() - 1


def _micro(answers: Answers) -> Any:
    total = answers.n_known + answers.n_unknown
    negatives = answers.n_classes * total - answers.n_known
    return answers.true / answers.n_known - answers.false / negatives
