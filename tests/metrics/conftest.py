"""The scenes of these tests live beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for metric_scenes
