"""The page on formats runs, names every format, and lists every code."""

import doctest
import re
from pathlib import Path

import pytest

import openset.formats
from openset.formats import formats

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
FORMATS = Path(openset.formats.__file__).parent
SHARED = [FORMATS.parent / name for name in ("json_text.py", "refusals.py")]
SHARED += (FORMATS.parent / "files").glob("*.py")


def test_examples():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    outcome = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert outcome.attempted > 8
    assert outcome.failed == 0


@pytest.mark.parametrize("name", formats())
def test_format_is_listed(name):
    assert f"| `{name}` |" in PAGE.read_text()


def test_codes_are_listed():
    sources = [*FORMATS.glob("*.py"), *SHARED]
    used = {code for path in sources for code in re.findall("OS1..", path.read_text())}
    assert used == set(re.findall(r"^\| (OS1..) ", PAGE.read_text(), re.M))
