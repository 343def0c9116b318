"""Confidence: one minus the score, for files of detections that keep nothing else.

What a plain results file can say about unknown objects: the detector's own confidence. For softmax
detectors it is MSP without the background column (`openset.scorers.msp`).
"""

from __future__ import annotations

import numpy as np

from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._spec import scorer


@scorer(
    "confidence",
    title="1 − score",
    paper="Hendrycks and Gimpel, A Baseline for Detecting OOD, ICLR 2017",
    requires=("score",),
)
def confidence(evidence: Evidence) -> Unknownness:
    """One minus the score of a detection, which every file has.

    >>> from openset.tables import Detections
    >>> confidence(Detections([1], [0], [[0, 0, 9, 9]], [0.75], ("dog",))).tolist()
    [0.25]
    """
    return 1.0 - np.asarray(evidence["score"], np.float64)
