"""Energy: the free energy of a softmax."""

from __future__ import annotations

from openset.findings import UsageError
from openset.scorers._logits import Background, logsumexp, softmax_logits
from openset.scorers._spec import Unknownness, scorer
from openset.tables import Detections


@scorer("energy", paper="Liu et al., Energy-based Out-of-distribution Detection, NeurIPS 2020")
def energy(
    detections: Detections, *, temperature: float = 1.0, background: Background = "keep"
) -> Unknownness:
    """Free energy of the logits: ``-T log sum exp(logit / T)``.

    Papers report the negative, where larger is more known. VOS drops the background logit first,
    FMIYC keeps it.

    Args:
        detections: Detections with logits of a softmax layout.
        temperature: T; large values approach the mean logit, small ones the largest.
        background: ``keep`` or ``drop`` the background column.

    >>> from openset.tables.detections import LogitLayout
    >>> boxes = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog", "cat"),
    ...     logits=[[1000.0, 1000.0]], layout=LogitLayout.SOFTMAX)
    >>> energy(boxes).round(4).tolist()
    [-1000.6931]
    """
    if not temperature > 0:
        raise UsageError(f"temperature must be positive, not {temperature}")
    return -temperature * logsumexp(softmax_logits(detections, background) / temperature)
