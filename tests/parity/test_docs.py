"""The page on protocols runs, and names every preset and every field of a protocol it explains."""

import doctest
import re
from pathlib import Path

from openset.matching.protocol import PRESETS

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"


def test_examples():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    outcome = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert outcome.attempted > 15
    assert outcome.failed == 0


def test_every_preset_has_a_row():
    assert set(re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text(), re.M)) == set(PRESETS)
