"""RankBy: the score of a detection that is called unknown, by which AP_U ranks it.

Every paper takes another number, and AP_U depends on it; a policy has a name, and it is recorded.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.scorers.gamma_ratio import top_scores
from openset.tables import Detections

Array = NDArray[np.float64]
RankBy = Literal["confidence", "unknownness", "product", "top3", "constant"]
RANKINGS: tuple[str, ...] = get_args(RankBy)


def unknown_score(
    detections: Detections, score: Array, unknownness: Array, threshold: float, ranking: RankBy
) -> Array:
    """The score of each detection, were it called unknown.

    Args:
        detections: What the detector said; ``top3`` reads its logits.
        score: Confidence of each detection.
        unknownness: Unknownness of each detection.
        threshold: Where unknown begins.
        ranking: ``confidence`` keeps the detector's score (ORE, FMIYC). ``unknownness`` ranks as
            VOS does: sure background looks most unknown. ``product`` multiplies the two. ``top3``
            is the sum of the three largest class scores (the gamma-ratio rule), for sigmoids their
            mean. ``constant`` is 1 for all (RE-OWOD's calibration): all ties, so that AP_U depends
            on the order in the file.

    Unknownness has no bounds and scores have: it enters as ``1/2 + arctan(unknownness - threshold)
    / pi``, which keeps its order.
    """
    if ranking not in RANKINGS:
        raise UsageError(f"ranking must be one of {', '.join(RANKINGS)}, not {ranking!r}")
    if ranking == "confidence":
        return score
    if ranking == "constant":
        return np.ones(len(score))
    if ranking == "top3":
        layout = detections.layout
        most = 3 if layout is not None and layout.is_sigmoid else 1  # sigmoids may sum to three
        return top_scores(detections) / most
    bounded = 0.5 + np.arctan(unknownness - threshold) / np.pi
    return np.asarray(bounded if ranking == "unknownness" else bounded * score)
