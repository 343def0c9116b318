"""Open-set recognition: does a classifier name what it knows, and reject what it does not?

`Scores` hold what a classifier said of known and unknown samples; `evaluate_recognition` gives
every metric of the literature with its interval. For whole images, or any samples with one answer
each; detectors, with boxes, have `openset.evaluate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openset.late import late

if TYPE_CHECKING:
    from openset.recognition.evaluation import Recognition, evaluate_recognition
    from openset.recognition.metrics import table
    from openset.recognition.metrics.oscr import oscr_curve
    from openset.recognition.reading import read_scores
    from openset.recognition.scores import Scores

__all__ = [
    "Recognition",
    "Scores",
    "evaluate_recognition",
    "oscr_curve",
    "read_scores",
    "table",
]
__getattr__ = late(
    __name__,
    {
        "Recognition": "evaluation",
        "Scores": "scores",
        "evaluate_recognition": "evaluation",
        "oscr_curve": "metrics.oscr",
        "read_scores": "reading",
        "table": "metrics",
    },
)
