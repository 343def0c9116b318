"""Energy: the free energy of a softmax."""

from __future__ import annotations

from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, logits_of
from openset.scorers._spec import scorer
from openset.tables.logits import Activation, free_energy


@scorer("energy", paper="Liu et al., Energy-based Out-of-distribution Detection, NeurIPS 2020")
def energy(
    evidence: Evidence,
    *,
    temperature: float = 1.0,
    background: Background = "keep",
    activation: Activation | None = None,
) -> Unknownness:
    """Free energy of the logits: ``-T log sum exp(logit / T)``.

    Papers report the negative, where larger is more known. VOS drops the background logit first,
    FMIYC keeps it. For sigmoids the analogue is the joint energy, the sum of each class's own
    ``-T log(1 + exp(logit / T))`` (Wang et al., NeurIPS 2021).

    Args:
        evidence: Logits.
        temperature: T; large values approach the mean logit, small ones the largest.
        background: ``keep`` or ``drop`` the background column.
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.

    >>> from openset.tables import Detections, LogitLayout
    >>> boxes = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog", "cat"),
    ...     logits=[[1000.0, 1000.0]], layout=LogitLayout.SOFTMAX)
    >>> energy(boxes).round(4).tolist()
    [-1000.6931]
    """
    chosen = activation_of(evidence.layout, activation)
    return free_energy(logits_of(evidence, background), chosen, temperature)
