"""Max logit: the largest class logit, without what a softmax divides away."""

from __future__ import annotations

from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, logits_of
from openset.scorers._spec import scorer


@scorer(
    "max_logit",
    paper="Hendrycks et al., Scaling Out-of-Distribution Detection for Real-World Settings, "
    "ICML 2022",
)
def max_logit(evidence: Evidence, *, background: Background = "drop") -> Unknownness:
    """Minus the largest logit.

    Adding a number to all logits of a box changes this, but not MSP. For sigmoid logits the order
    is that of the largest sigmoid. Background is no class, and is dropped unless asked for.

    Args:
        evidence: Logits.
        background: ``keep`` or ``drop`` the background column.
    """
    return -logits_of(evidence, background).max(axis=1)
