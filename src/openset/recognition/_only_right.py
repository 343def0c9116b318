"""Only right ones: a file from which misnamed samples were left out (`predicted == label`).

That no sample is misnamed is no fault. But where the two largest logits are equal, either class is
as likely as the other: a classifier that is always right has few samples near there, and one whose
wrong samples were left out as many as next to it. How large logits are plays no part.
"""

from __future__ import annotations

import numpy as np

from openset.findings import Finding, Level
from openset.recognition.scores import Scores

_FEWEST = 40  # samples, of which half are looked at
# Of 2 500 honest test sets of 40 to 900 samples without an error (digits and drawn clusters, ten
# kinds of classifiers) the farthest was at 3.1.
_SURE = 4.0
_RISING = 0.25  # of a density that rises evenly from zero, what is in the lower half of its range


def wrong_left_out(scores: Scores) -> Finding | None:
    """OS832, if no sample is misnamed, and many were as good as undecided."""
    margin = scores.margin
    if margin is None or scores.n_classes < 2 or len(margin) < _FEWEST:
        return None
    if not scores.correct.all():
        return None
    smaller = np.sort(margin)[: len(margin) // 2]
    near = int((smaller < smaller[-1] / 2).sum())
    n = len(smaller)
    if near <= _RISING * n + _SURE * (n * _RISING * (1 - _RISING)) ** 0.5:
        return None
    at = int(margin.argmin())
    said = f"all {scores.n_known} known samples are named rightly, though for many the two largest "
    said += f"logits are close: of the {n} that are closest, {near} are in the nearer half of the "
    said += f"range (a classifier that is never wrong has about {n / 4:.0f} there)"
    example = f"sample {at + 1}: its two largest logits differ by {margin[at]:.3g}"
    return Finding("OS832", Level.WARNING, said, scores.n_known, example)
