"""Closed-set accuracy: how a classifier does on its classes when nothing is rejected."""

from __future__ import annotations

import numpy as np

from openset.metrics import Value, metric
from openset.recognition.metrics._pairs import lacking
from openset.recognition.scores import Scores


@metric(
    "closed_set_accuracy",
    title="closed-set accuracy",
    paper="Vaze et al., Open-Set Recognition: A Good Closed-Set Classifier Is All You Need?, "
    "ICLR 2022",
    headline=True,
)
def closed_set_accuracy(scores: Scores) -> Value:
    """Share of known samples whose class is named correctly when nothing is rejected.

    ``#{h(x) = y} / Nk``. Not an open-set number: unknown samples take no part.
    """
    why = lacking(scores, unknown=False)
    if why:
        return Value.missing(why)
    right = scores.correct
    if scores.weights is not None:
        drawn = scores.weights[0]
        hits = np.einsum("ij,i->j", drawn, right, dtype=np.float64)
        return Value.ratio(hits, drawn.sum(axis=0, dtype=np.float64))
    n = np.bincount(scores.label, minlength=scores.n_classes)
    hit = np.bincount(scores.label[right], minlength=scores.n_classes)
    by_class = zip(scores.classes, hit.tolist(), n.tolist(), strict=True)
    parts = {name: a / b for name, a, b in by_class if b}
    return Value.ratio(int(right.sum()), scores.n_known, parts=parts)
