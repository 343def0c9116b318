"""Markdown: a page as it is read, from its definition and run files. Pure functions of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_lowercase

from openset.papers.figures import points
from openset.papers.page import Claim, Element, Figure, Page
from openset.render import Table

ERRATA = """# Errata

{made}

Where a paper contradicts itself, or measuring again, its text or its code. Each was verified by the
command or the reading beside it; what a paper prints is typed from it, what was measured comes from
the run files. What words in capitals stand for is on the page of the paper.
"""
WHOLE = """A line of `openset` shows what fits a terminal; with `--json` it prints all of it:
curves, every row of a list, every digit. The numbers below are taken from there, or by the script
that is named."""


READ = "read "
"""How the check of an erratum begins that no command can make."""


def made_from(where: str) -> str:
    """The line by which a page names its source."""
    return f"<!-- made from {where} by `openset verify --write`; do not edit -->"


def markdown(page: Page, where: str) -> str:
    """The page of a paper.

    Args:
        page: What it says.
        where: Its source, as seen from the folder of the page.
    """
    held = page.definition
    parts = [
        f"# {held.title}",
        made_from(where),
        held.paper,
        page.filled(held.about.strip()),
        "## From the official files to the main table",
        _block(held.workflow),
        *_trained(page),
        *_named(page),
        "## What the paper claims, and what is seen here",
        _claims(page),
        "## All tables and figures",
        *_whole(page),
        _overview(page),
        *(_element(page, each) for each in held.element),
    ]
    return "\n\n".join(parts) + "\n"


def errata(pages: Sequence[Page], where: str) -> str:
    """The page of what is wrong in the papers."""
    parts = [ERRATA.format(made=made_from(where)).rstrip()]
    for page in pages:
        if not page.definition.erratum:
            continue
        parts.append(f"## [{page.definition.title}]({page.name}.md)")
        for each in page.definition.erratum:
            says, found = page.filled(each.says), page.filled(each.found)
            lines = [
                f"- **{each.where}** says: {says}",
                f"Found: {found}",
                f"Check: {each.command if each.command.startswith(READ) else f'`{each.command}`'}",
            ]
            parts.append("\n  ".join(lines))
    return "\n\n".join(parts) + "\n"


def pictures(page: Page, element: Element) -> dict[str, Figure]:
    """The figures of an element, by the names of their files; of rows yet to measure, none."""
    if element.run is None:
        return {}
    words = re.findall(r"\w+", element.name.lower())
    few = len(element.figures) == 1
    names = [
        "-".join([page.name, *words, *([] if few else [letter])]) for letter in ascii_lowercase
    ]
    named = zip(names, element.figures, strict=False)
    return {f"{name}.svg": each for name, each in named if points(page.runs[element.run], each)}


def _block(commands: Sequence[str]) -> str:
    return "\n".join(["```bash", *commands, "```"])


def _trained(page: Page) -> list[str]:
    """What made the detectors that were measured, where that is not at hand."""
    held = page.definition
    if not held.training:
        return []
    about = page.filled(held.trained_from.strip())
    return ["## What was trained for the numbers here", about, _block(held.training)]


def _named(page: Page) -> list[str]:
    """What the words in capitals stand for that its commands have."""
    lines = [f"- `{word}`: {what}" for word, what in page.named().items()]
    return ["## What the words in capitals stand for", "\n".join(lines)] if lines else []


def _whole(page: Page) -> list[str]:
    """Where the numbers are that a terminal does not show, if any is of a line of openset."""
    lines = [line for run in page.runs.values() for line in run.commands]
    return [WHOLE] if any(line.startswith("openset ") for line in lines) else []


def _claims(page: Page) -> str:
    rows = [
        (each.says, each.where, _seen(page, each), _verdict(page, each))
        for each in page.definition.claim
    ]
    return _of_texts(("claim", "where", "here", "verdict"), rows)


def _verdict(page: Page, claim: Claim) -> str:
    """The verdict, and on what, where that is not what the paper looked at."""
    return f"**{page.verdict(claim)}** {page.filled(claim.setting)}".rstrip()


def _seen(page: Page, claim: Claim) -> str:
    why = page.filled(claim.why)
    if not claim.cells:
        return why
    seen = [
        f"{row}, {column}: {page.runs[run].shown(row, column)}"
        for run, row, column in page.cells(claim)
        if page.cell(run, row, column) is not None
    ]
    more = [why, f"left out: {page.filled(claim.left_out)}" if claim.left_out else ""]
    said = "; ".join(filter(None, more))
    return "<br>".join(seen or ["not measured"]) + (f" ({said})" if said else "")


def _overview(page: Page) -> str:
    rows = [(each.name, each.shows, each.status) for each in page.definition.element]
    return _of_texts(("", "shows", "here"), rows)


def _of_texts(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return Table(header, tuple(rows)).markdown().replace("---:", "---")


def _element(page: Page, element: Element) -> str:
    parts = [f"### {element.name}: {element.shows}", page.filled(element.text.strip())]
    if element.published is not None:
        held = element.published
        table = Table(tuple(held.header), tuple(tuple(row) for row in held.rows))
        parts += ["The paper prints:", table.markdown()]
    if element.run is not None:
        run = page.runs[element.run]
        parts += ["Here:"] if element.published is not None else []
        parts += [run.table().markdown()]
        parts += ["\n".join(f"- {note}" for note in run.notes)] if run.notes else []
        for name, figure in pictures(page, element).items():
            parts.append(f"![{figure.y} against {figure.x}]({name})")
        parts.append(_block(run.commands))
    if element.commands:
        parts += ["Of one's own detector:"] if element.run is not None else []
        parts.append(_block(element.commands))
    return "\n\n".join(parts)
