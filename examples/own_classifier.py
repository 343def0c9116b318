"""Evaluate a classifier of your own on known and unknown samples: open-set recognition.

Change: `logits` to those of your classifier on test samples of the classes it was taught, `label`
to their true classes (0, 1, 2 ...), and `unknown_logits` to its logits on samples of other classes.
"""

import numpy as np

from openset.recognition import Scores, evaluate_recognition

rng = np.random.default_rng(0)
means = rng.normal(0, 2, (8, 16))  # eight classes; the classifier was taught the first six
kind = rng.integers(0, 8, 2000)
samples = means[kind] + rng.normal(0, 1.5, (2000, 16))


def classify(x: np.ndarray) -> np.ndarray:
    """The logits of a nearest-mean classifier."""
    return -((x[:, None] - means[:6]) ** 2).sum(axis=2)


known = kind < 6
logits, label, unknown_logits = classify(samples[known]), kind[known], classify(samples[~known])

scores = Scores.from_logits(logits, label, unknown_logits)  # the largest logit is the confidence
result = evaluate_recognition(scores)
print(result)
print("\nOpenAUC:", result.value("openauc"))
# Another openness of your own: Scores(predicted, label, openness, unknown_openness, ..., classes).
