"""Every command line in the documentation is one that today's verbs understand.

Those in blocks are parsed whole: verb, arguments, options and the kinds of their values. Those
within a sentence are often a part of a command: their verb and the names of their options are
looked up. Those of most pages are run, too: `tests/cli/test_pages_run` and `test_inputs_page`.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from openset.cli._app import build

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.M | re.S)
INLINE = re.compile(r"`openset ([a-z]+)\b([^`]*)`")
FLAG = re.compile(r"(?<!\S)--[a-z][a-z-]*")
EVERYWHERE = {"--help", "--version"}


def commands(page):
    """The command lines of its blocks, continued ones joined, without the program's name."""
    for language, block in BLOCK.findall(page.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            said = line.removeprefix("$ ")
            if language in ("", "bash") and said.startswith("openset "):
                yield shlex.split(said, comments=True)[1:]


def mentions(page):
    """Verb and options of every command within a sentence."""
    text = BLOCK.sub("", page.read_text("utf-8"))
    return [(verb, FLAG.findall(rest)) for verb, rest in INLINE.findall(text)]


WITH_COMMANDS = [page for page in PAGES if any(commands(page))]


@cache
def app():
    return build()


@cache
def options(verb):
    """All flags of a verb, as they are written."""
    found = app()[verb].assemble_argument_collection()
    return EVERYWHERE | {name for argument in found for name in argument.names}


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_command_lines_are_understood(page):
    for words in commands(page):
        app().parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_mentioned_verbs_and_options_are_there(page):
    for verb, flags in mentions(page):
        assert verb in app(), verb
        assert set(flags) <= options(verb), (verb, flags)


def test_every_verb_is_in_the_table_of_the_command_line():
    table = (ROOT / "docs" / "cli.md").read_text("utf-8")
    rows = set(re.findall(r"^\| `([a-z]+)\b", table, flags=re.M))
    assert rows - {"verb"} == {name for name in app() if not name.startswith("-")}


def test_most_pages_have_commands():
    assert len(WITH_COMMANDS) > 15
    assert sum(len(list(commands(page))) for page in WITH_COMMANDS) > 120
    assert sum(len(mentions(page)) for page in PAGES) > 60
