"""A small embedded example: ground truth with unknown objects, and a detector's output on it.

500 closed-set and wilderness images with boxes only: enough for every metric, no download.
"""

from pathlib import Path

TRUTH = Path(__file__).with_name("truth.json.gz")
DETECTIONS = Path(__file__).with_name("detections.json.gz")
