"""The gamma-ratio rule: unknown is what has two classes of nearly the same score.

The simple baseline of OSOD-III. As a scorer it is the ratio of the second-largest class score to
the largest, so that "top-1 / top-2 < gamma" reads "unknownness > 1 / gamma". The published rule
works on regions *before* non-maximum suppression: `openset.scorers.gamma_rule` is that procedure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence, gather
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import class_probabilities
from openset.scorers._spec import scorer
from openset.tables import Detections
from openset.tables.logits import LogitLayout, class_columns

PAPER = (
    "Hosoya et al., Rectifying Open-Set Object Detection: Proper Evaluation and a Simple Baseline"
)


@scorer("gamma_ratio", title="γ-ratio", paper=PAPER)
def gamma_ratio(evidence: Evidence, *, temperature: float = 1.0) -> Unknownness:
    """Second-largest class score over the largest: 1 when two classes tie, 0 when one has it all.

    Scores are a softmax over all logits, background dropped after it, or sigmoids. Under a softmax
    the ratio is ``exp(-(l1 - l2) / T)``: a temperature changes no order, and gamma and temperature
    are one parameter. For FCOS compute it from the logits, as here: torchvision's scores are square
    roots, which would turn a ratio r into the root of r.

    Args:
        evidence: Logits of two or more classes.
        temperature: T, which divides the logits.
    """
    _check_temperature(temperature)
    logits = _two_or_more(evidence["logits"][:, class_columns(evidence.layout)])
    top = np.partition(logits.astype(np.float64), -2, axis=1)[:, -2:] / temperature
    if evidence.layout is LogitLayout.SIGMOID:
        # The ratio of two sigmoids, through logarithms: both may be too small for a float.
        top = -np.logaddexp(0.0, -top)
    return np.exp(top[:, 0] - top[:, 1])


def class_scores(detections: Detections, *, temperature: float = 1.0) -> NDArray[np.float64]:
    """The score of each class: background takes part in the softmax and is dropped after it."""
    _check_temperature(temperature)
    evidence = gather("gamma_ratio", detections, ("logits",))
    return class_probabilities(evidence, temperature)


def top_scores(
    detections: Detections, *, temperature: float = 1.0, top: int = 3
) -> NDArray[np.float64]:
    """The sum of the largest class scores: how OSOD-III ranks unknowns (above 1 for sigmoids)."""
    scores = class_scores(detections, temperature=temperature)
    count = min(top, scores.shape[1])
    return np.asarray(np.partition(scores, -count, axis=1)[:, -count:].sum(axis=1))


def _two_or_more(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    if logits.shape[1] < 2:
        raise refuse("OS503", "a ratio of class scores needs two classes; the logits have one")
    return logits


def _check_temperature(temperature: float) -> None:
    if not temperature > 0:
        raise UsageError(f"temperature must be positive, not {temperature}")
