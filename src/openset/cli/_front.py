"""The front page: ``openset --help``, or ``openset`` alone: every verb, and what it is for.

Whoever asks for it wants to begin, so it is there at once: no verb is imported, nor the parser. The
files of our verbs say what they are for in two places, ``verb(..., panel=...)`` and the docstring
of the function below ``@app.default``; these are read as text. A verb of another package, or of
another shape, is imported and asked.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from openset.plugins import modules

EXIT_CODES = "Exit codes: 0 computed, 1 computed and the answer is no, 2 could not compute."
PANELS = ("Measure", "Understand", "Data", "Models", "Other")
STYLES = {r"^Usage: .*": "bold", r"(?<=^[│|] )[\w-]+( \(-h\))?": "cyan"}
_ASKED = {"--help", "-h"}
_INTRODUCTION = """What does an object detector do with objects it was never taught?

Start with: openset demo
Options may also be given in openset.toml, or under [tool.openset] in pyproject.toml."""
_OPTIONS = {
    "--help (-h)": "Display this message and exit.",
    "--version": "Display application version.",
}
_FACTS = re.compile(
    r'^app = verb\("\w+", panel="(\w+)"\)$.+?^@app\.default$.+?^    """(.+?)(?:\n\n|""")',
    re.MULTILINE | re.DOTALL,
)
_ASCII = str.maketrans("╭╮╰╯─│", "++++-|")


@cache
def verbs() -> Mapping[str, Sequence[str]]:
    """All verbs by name, and the module of each; more than one where packages disagree."""
    return modules(__package__)


def is_asked_for(tokens: Sequence[str]) -> bool:
    """Whether a command line is a question for the front page; nothing typed is one, too."""
    return not tokens or (
        not _ASKED.isdisjoint(tokens) and all(token.startswith("-") for token in tokens)
    )


def front_page(columns: int, *, encoding: str = "utf-8") -> str:
    """The front page, for a terminal of so many columns that can show so many characters."""
    panels: dict[str, dict[str, str]] = {name: {} for name in PANELS}
    for name, places in verbs().items():
        panel, summary = _facts(name, places)
        panels[panel][name] = summary
    lines = ["Usage: openset COMMAND", ""]
    for paragraph in _INTRODUCTION.splitlines():
        lines += textwrap.wrap(paragraph, columns) or [""]
    lines.append("")
    for title, rows in {**panels, "Options": _OPTIONS}.items():
        lines += _panel(title, rows, columns) if rows else ()
    text = "\n".join([*lines, "", *textwrap.wrap(EXIT_CODES, columns)])
    return text if encoding.lower().startswith("utf") else text.translate(_ASCII)


def _facts(name: str, places: Sequence[str]) -> tuple[str, str]:
    """The panel of a verb, and what the verb is for."""
    if places == [f"{__package__}.{name}"]:
        path = Path(__file__).with_name(f"{name}.py")
        found = _FACTS.search(path.read_text("utf-8")) if path.is_file() else None
        if found:
            return found[1], " ".join(found[2].split())
    from openset.cli._app import facts

    return facts(name)


def _panel(title: str, rows: Mapping[str, str], columns: int) -> Iterator[str]:
    """A frame around names and what they mean."""
    inside, deep = columns - 4, max(map(len, rows)) + 2
    yield f"╭─ {title} {'─' * (inside - len(title) - 1)}╮"
    for name, text in rows.items():
        for place, line in enumerate(textwrap.wrap(text, inside - deep) or [""]):
            head = "" if place else name
            yield f"│ {head:<{deep}}{line:<{inside - deep}} │"
    yield f"╰{'─' * (columns - 2)}╯"
