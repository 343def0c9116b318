"""MSP: the maximum softmax probability, the baseline of all baselines."""

from __future__ import annotations

from openset.scorers._logits import Background, max_softmax, softmax_logits
from openset.scorers._spec import Unknownness, scorer
from openset.tables import Detections


@scorer("msp", title="MSP", paper="Hendrycks and Gimpel, A Baseline for Detecting OOD, ICLR 2017")
def msp(detections: Detections, *, background: Background = "keep") -> Unknownness:
    """One minus the largest softmax probability.

    Two numbers go by this name: VOS drops the background logit before the softmax, FMIYC keeps it,
    and then background itself can be the largest.

    Args:
        detections: Detections with logits of a softmax layout.
        background: ``keep`` or ``drop`` the background column before the softmax.

    >>> from openset.tables.detections import LogitLayout
    >>> boxes = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog", "cat"),
    ...     logits=[[2.0, 0.0, 2.0]], layout=LogitLayout.SOFTMAX_BACKGROUND_LAST)
    >>> msp(boxes).round(4).tolist(), msp(boxes, background="drop").round(4).tolist()
    ([0.5317], [0.1192])
    """
    return 1.0 - max_softmax(softmax_logits(detections, background))
