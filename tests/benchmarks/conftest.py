"""Where official files lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def official():
    """The folder with official files, for tests that compare with published numbers."""
    folder = os.environ.get("OPENSET_DATA")
    if not folder:
        pytest.skip("OPENSET_DATA is not set: official annotation files are not in the repository")
    return Path(folder)
