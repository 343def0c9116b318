"""Embedded examples: ground truth with unknown objects, and detectors' outputs on it. No download.

`TRUTH` and `DETECTIONS`: closed-set and wilderness images with boxes only, an energy score as
unknownness, and its tail called "unknown" (experiments/make_example.py): small, for every metric.

`DIGITS`: the first test images of the digits world, and what four small detectors that were
trained on it found there, with logits, five scorers' columns, and the tail of kNN called "unknown"
(experiments/make_digits.py). The images themselves are drawn again from the seed.
"""

from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
TRUTH = _HERE / "truth.json.gz"
DETECTIONS = _HERE / "detections.json.gz"
DIGITS = _HERE / "digits"
DIGITS_TRUTH = DIGITS / "truth.json.gz"
DIGITS_WORLD: dict[str, Any] = {"seed": 0, "images": 4000}
