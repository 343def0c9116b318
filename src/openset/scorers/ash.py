"""ASH: keep the strongest activations of each detection, and look at the energy."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import Background, activation_of, head_of
from openset.scorers._spec import scorer
from openset.tables.logits import Activation, free_energy

Array = NDArray[np.float64]
Variant = Literal["s", "p", "b"]


@scorer(
    "ash",
    title="ASH",
    paper="Djurisic et al., Extremely Simple Activation Shaping for OOD Detection, ICLR 2023",
    requires=("embedding", "head"),
    rectified=True,
)
def ash(
    evidence: Evidence,
    *,
    variant: Variant = "s",
    percentile: float = 90.0,
    background: Background = "keep",
    activation: Activation | None = None,
) -> Unknownness:
    """Free energy of the head on embeddings whose smaller activations are removed.

    Made for activations that are not negative (after a ReLU). Where the ones that stay do not sum
    to more than zero, the published scale has no value or explodes, and nothing is scaled.

    Args:
        evidence: Embeddings and the head.
        variant: What becomes of the activations that stay: ``s`` scales them by
            ``exp(sum before / sum after)``, ``p`` leaves them, ``b`` makes them equal, keeping the
            sum of all.
        percentile: Share of the activations removed, in percent: 90 in FMIYC, 65 to 95 elsewhere.
        background: ``keep`` or ``drop`` the head's background row.
        activation: For sigmoid heads: ``sigmoid`` or ``softmax``.
    """
    if not 0 <= percentile < 100:
        raise UsageError(f"percentile must be in [0, 100), not {percentile}")
    shaped = _shaped(evidence["embedding"].astype(np.float64), variant, percentile)
    chosen = activation_of(evidence.head.layout, activation)
    return free_energy(head_of(evidence, background).logits(shaped), chosen)


def _shaped(data: Array, variant: Variant, percentile: float) -> Array:
    width = data.shape[1]
    kept = max(width - round(width * percentile / 100), 1)
    top = np.argpartition(data, width - kept, axis=1)[:, width - kept :]
    strong = np.take_along_axis(data, top, axis=1)
    before = data.sum(axis=1, keepdims=True)
    if variant == "b":
        strong = np.broadcast_to(before / kept, strong.shape)
    elif variant == "s":
        after = strong.sum(axis=1, keepdims=True)
        scale = np.divide(before, after, out=np.zeros_like(before), where=after > 0)
        strong = strong * np.exp(scale)
    shaped = np.zeros_like(data)
    np.put_along_axis(shaped, top, strong, axis=1)
    return shaped
