"""MSP: the maximum softmax probability, the baseline of all baselines."""

from __future__ import annotations

from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, logits_of
from openset.scorers._spec import scorer
from openset.tables.logits import Activation, probabilities


@scorer("msp", title="MSP", paper="Hendrycks and Gimpel, A Baseline for Detecting OOD, ICLR 2017")
def msp(
    evidence: Evidence, *, background: Background = "keep", activation: Activation | None = None
) -> Unknownness:
    """One minus the largest class probability.

    Two numbers go by this name: VOS drops the background logit before the softmax, FMIYC keeps it,
    and then background itself can be the largest. Sigmoid detectors have two more: the largest
    sigmoid, and FMIYC's softmax over the sigmoids' logits.

    Args:
        evidence: Logits.
        background: ``keep`` or ``drop`` the background column before the softmax.
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.

    >>> from openset.tables import Detections, LogitLayout
    >>> boxes = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog", "cat"),
    ...     logits=[[2.0, 0.0, 2.0]], layout=LogitLayout.SOFTMAX_BACKGROUND_LAST)
    >>> msp(boxes).round(4).tolist(), msp(boxes, background="drop").round(4).tolist()
    ([0.5317], [0.1192])
    """
    chosen = activation_of(evidence.layout, activation)
    return 1.0 - probabilities(logits_of(evidence, background), chosen).max(axis=1)
