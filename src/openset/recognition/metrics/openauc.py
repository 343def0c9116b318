"""OpenAUC: is a known sample classified correctly, and ranked below an unknown one?

The paper's answer to metrics that can be high while every unknown sample is accepted: one number,
no threshold, and closed-set and open-set errors count in one product.
"""

from __future__ import annotations

from typing import Any

from openset.metrics import Value, metric
from openset.recognition.metrics._pairs import Ties, measure, ordered, share_in
from openset.recognition.ranking import AnswerRanking
from openset.recognition.scores import Scores

PAPER = "Wang et al., OpenAUC: Towards AUC-Oriented Open-Set Recognition, NeurIPS 2022, Eq. 12"


@metric("openauc", title="OpenAUC", paper=PAPER, headline=True)
def openauc(scores: Scores, *, ties: Ties = "half") -> Value:
    """Probability that a known sample is named correctly and ranked below an unknown sample.

    ``E[1[h(x_k) = y_k] · 1[r(x_u) > r(x_k)]]`` over all pairs of a known and an unknown sample. A
    tie counts one half, as in the published code; the equation as printed is ``ties="strict"``.
    At most the closed-set accuracy, and at most the AUC. Equal to the area under the OSCR curve.

    The published code moves wrong samples above all others by adding 1e-5, which is lost where
    openness exceeds about 1e11; pairs are counted here, so nothing is added.
    """
    return measure(scores, lambda r: ordered(r, ties, correct=True), ties=ties)


@metric("partial_openauc", title="OpenAUC, OFPR ≤ 10 %", paper=PAPER + " and Section 6")
def partial_openauc(scores: Scores, *, ofpr: float = 0.1, ties: Ties = "half") -> Value:
    """OpenAUC where few unknown samples are accepted: the mean of COTPR over OFPR from 0 to `ofpr`.

    The area under the OSCR curve up to `ofpr`, divided by it, so that 1 is perfect and ``ofpr=1``
    is OpenAUC. Where equal openness makes the curve rise with a straight line, the line is cut at
    `ofpr`: if all samples look alike, half of `ofpr` is left of the accuracy. The paper proposes it
    for safety-critical use and prints no formula: not a published number.
    """
    limit = share_in("ofpr", ofpr)

    def area(ranking: AnswerRanking) -> Any:
        return ordered(ranking, ties, correct=True, ofpr=limit)

    return measure(scores, area, ofpr=limit, ties=ties)
