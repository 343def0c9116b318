"""Open-set F-score: precision and recall of the known classes when some samples are rejected.

Unknown samples count through the false positives of known classes only: what is rejected rightly
never shows (the paper's inconsistency property I, `docs/metrics-flaws.md`).
"""

from __future__ import annotations

from typing import Any

from openset.metrics import Value, metric
from openset.recognition.answers import Answers, ratio
from openset.recognition.metrics._threshold import at_threshold
from openset.recognition.scores import Scores

PAPER = "Mendes Júnior et al., Nearest Neighbors Distance Ratio Open-Set Classifier, 2017"


@metric("f_score_macro", title="open-set F-score (macro)", paper=PAPER)
def f_score_macro(scores: Scores, *, threshold: float | None = None) -> Value:
    """Harmonic mean of macro precision and macro recall of the known classes.

    ``2 P R / (P + R)``, P and R being means over the C known classes, 0 for a class without
    answers or samples. Not scikit-learn's macro F1, which is the mean of the classes' F1. Published
    code calls this one "micro" (the two names are swapped there) and reports the best threshold.
    """
    return at_threshold(scores, threshold, _macro, needs_names=True)


@metric("f_score_micro", title="open-set F-score (micro)", paper=PAPER)
def f_score_micro(scores: Scores, *, threshold: float | None = None) -> Value:
    """Harmonic mean of pooled precision and pooled recall of the known classes.

    ``2 ΣTP / (Σ(TP + FP) + Σ(TP + FN))``, sums over the C known classes. Not an accuracy:
    "unknown" is no class here, and rejecting unknown samples shows only in fewer false positives.
    """
    return at_threshold(scores, threshold, _micro)


def _macro(answers: Answers) -> Any:
    precision, recall = answers.macro_precision(), answers.macro_recall()
    return ratio(2 * precision * recall, precision + recall)


def _micro(answers: Answers) -> Any:
    return ratio(2 * answers.true, answers.true + answers.false + answers.n_known)
