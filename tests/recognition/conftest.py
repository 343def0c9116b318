"""Scores and slow twins live in modules beside the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for recognition_scenes
