"""The pages made from the code are current: run ``python docs/build.py`` after a change."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("docs_build", DOCS / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = {"metrics.md", "glossary.md", "protocols.md", "checks.md"}
PAGES |= {"recognition.md", "metrics-flaws.md"}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_is_current(build, name):
    made = build.pages()[name]
    assert (DOCS / name).read_text("utf-8") == made, "run python docs/build.py"


def test_every_page_is_tested(build):
    assert set(build.pages()) == PAGES


def test_a_block_is_replaced_and_the_rest_stays(build):
    page = "# Title\n<!-- a -->\nold\n<!-- end -->\nrest\n<!-- b -->\nold\n"
    once = build.filled(build.filled(page, "a", "new\n"), "b", "newer")
    assert once == "# Title\n<!-- a -->\nnew\n<!-- end -->\nrest\n<!-- b -->\nnewer\n"
    with pytest.raises(SystemExit, match="'c'"):
        build.filled(page, "c", "new")
