"""Every example in the documentation runs and gives what it says; every link leads somewhere."""

from __future__ import annotations

import ast
import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
AT_ROOT = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)]*))?\)")
BLOCK = re.compile(r"^```.*?^```$", flags=re.M | re.S)


def imported(page):
    """Module and name of all that the plain code of a page takes from openset."""
    for code in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), flags=re.M | re.S):
        if ">>>" not in code:
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.ImportFrom) and node.module.startswith("openset"):
                    yield from ((node.module, alias.name) for alias in node.names)


def anchors(page):
    """What the headings of a page are called in links, as GitHub and the site make it."""
    titles = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text("utf-8")), flags=re.M)
    plain = [re.sub(r"\]\([^)]*\)|[^\w\s-]", "", title.strip().lower()) for title in titles]
    return {title.replace(" ", "-") for title in plain}


def nav(entries):
    """The pages of a list of the site, and of the lists in it."""
    for entry in entries:
        (value,) = entry.values()
        yield from nav(value) if isinstance(value, list) else [value]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS)
    assert report.failed == 0


# The code of the page on inputs is run, by a test of its own.
PLAIN = [page for page in PAGES if page.name != "inputs.md" and any(imported(page))]


@pytest.mark.parametrize("page", PLAIN, ids=lambda page: page.name)
def test_what_plain_code_imports_is_there(page):
    pytest.importorskip("torch")
    for module, name in imported(page):
        assert hasattr(import_module(module), name), f"{module}.{name}"


@pytest.mark.parametrize("page", PAGES + AT_ROOT, ids=lambda page: page.name)
def test_links_within_the_documentation(page):
    for target, anchor in LINK.findall(BLOCK.sub("", page.read_text("utf-8"))):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_every_page_has_a_place_on_the_site():
    """Beside those of docs/ it has those that docs/hooks.py brings."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    brought = {"index.md", "contributing.md", "changelog.md"}
    ours = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES}
    assert sorted(nav(site["nav"])) == sorted(ours | brought)


def test_the_page_on_evaluation_has_examples():
    text = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    assert len(doctest.DocTestParser().get_examples(text)) > 20
