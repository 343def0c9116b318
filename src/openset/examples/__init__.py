"""A small embedded example: ground truth with unknown objects, and a detector's output on it.

Closed-set and wilderness images with boxes only, an energy score as unknownness, and its tail
called "unknown" (see examples/make_example.py): enough for every metric, no download.
"""

from pathlib import Path

TRUTH = Path(__file__).with_name("truth.json.gz")
DETECTIONS = Path(__file__).with_name("detections.json.gz")
