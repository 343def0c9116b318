"""Pages: what a paper shows and claims, and which run file answers it; read from ``page.toml``.

A definition lists *all* tables and figures of its paper. It may type what the paper prints; what
was measured here it only points to: ``[[run | row | column]]`` in a text, ``cells`` of a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from openset.files import load_text, toml
from openset.findings import Finding, InputError, Level
from openset.papers.run_file import Cell, Estimate, Run, read_run

DEFINITION = "page.toml"
POINTER = re.compile(r"\[\[([^\[\]|]+)\|([^\[\]|]+)\|([^\[\]|]+)\]\]")
_EXPECTED = re.compile(r"([<>=]) (-?\d+(?:\.\d+)?)")


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the definition; a misspelt key is an error."""


class Figure(_Strict, frozen=True):
    """How a run is drawn.

    Attributes:
        x: The column along the chart; of a matrix, that of its rows.
        y: The column that is drawn; with `columns`, what they all count.
        by: The column that names lines and bars; with `columns`, what their names are.
        kind: A line or a bar for each ``by``, bars of all of them on top of each other, or a matrix
            of ``x`` and them.
        columns: Columns that are drawn, where one row has them all; ``as *`` is all that begin so.
    """

    x: str
    y: str
    by: str
    kind: Literal["lines", "bars", "stacked", "matrix"] = "lines"
    columns: list[str] = []


class Published(_Strict, frozen=True):
    """What the paper prints, typed from it."""

    header: list[str]
    rows: list[list[str]]


class Element(_Strict, frozen=True):
    """A table or figure of the paper.

    Attributes:
        name: As the paper calls it, ``Table 1``.
        shows: What it shows, in a few words.
        status: Whether it is reproduced from its own inputs, measured again on others, or not here.
        run: The run file that answers it.
        text: What differs from the paper, or why it is not here.
        commands: What someone types who has the data.
        figures: How the run is drawn.
        published: What the paper prints.
    """

    name: str
    shows: str
    status: Literal["reproduced", "re-measured", "not here"]
    text: str
    run: str | None = None
    commands: list[str] = []
    figures: list[Figure] = []
    published: Published | None = None


class Claim(_Strict, frozen=True):
    """What the paper says, and the cells that tell whether it holds: each must be as expected.

    Attributes:
        says: The claim, in one sentence.
        where: Its place in the paper.
        cells: Run, row and column of the numbers that decide.
        expected: ``> 0``, ``< 0.5``: what the claim says of each of them; ``= 0`` an interval can
            contradict, and never confirm.
        why: Why it cannot be told, where there is nothing to look at.
        definition: Whether no measurement could contradict it: the cells only show how much.
    """

    says: str
    where: str
    cells: list[tuple[str, str, str]] = []
    expected: str = "> 0"
    why: str = ""
    definition: bool = False


class Erratum(_Strict, frozen=True):
    """Where measuring again contradicts the paper, its text or its code."""

    where: str
    says: str
    found: str
    command: str


class Definition(_Strict, frozen=True):
    """The whole ``page.toml``; `measured_by` is the command that makes its run files."""

    title: str
    paper: str
    about: str
    measured_by: str
    workflow: list[str]
    element: list[Element]
    claim: list[Claim] = []
    erratum: list[Erratum] = []


@dataclass(frozen=True, slots=True)
class Page:
    """A definition and its run files.

    Attributes:
        name: That of its folder.
        definition: What the paper shows and claims.
        runs: What was measured, by name.
    """

    name: str
    definition: Definition
    runs: Mapping[str, Run]

    def cell(self, run: str, row: str, column: str) -> Cell:
        """A number by its three names.

        Raises:
            InputError: OS954, nothing is called so.
        """
        try:
            return self.runs[run].cell(row, column)
        except KeyError as error:
            what = f"no run {run!r}" if run not in self.runs else error.args[0]
            raise self._points_nowhere(f"[[{run} | {row} | {column}]]", what) from error

    def filled(self, text: str) -> str:
        """A text, its pointers replaced by the numbers."""

        def number(found: re.Match[str]) -> str:
            run, row, column = (part.strip() for part in found.groups())
            self.cell(run, row, column)
            return self.runs[run].shown(row, column)

        return POINTER.sub(number, text)

    def verdict(self, claim: Claim) -> str:
        """Whether a claim holds: ``holds``, ``does not hold`` or ``cannot tell``.

        What is so by definition can do neither, and is called that.
        """
        if claim.definition:
            return "by definition"
        verdicts = [self._one(self.cell(*names), claim) for names in claim.cells]
        if "does not hold" in verdicts:
            return "does not hold"
        return "holds" if verdicts and set(verdicts) == {"holds"} else "cannot tell"

    def _one(self, cell: Cell, claim: Claim) -> str:
        found = _EXPECTED.fullmatch(claim.expected)
        if found is None:
            raise self._points_nowhere(claim.says, f"expected is {claim.expected!r}, not '> 0'")
        if not isinstance(cell, (float, Estimate)):
            return "cannot tell"
        sign, bound = (1 if found[1] == ">" else -1), float(found[2])
        ends = (cell.low, cell.high) if isinstance(cell, Estimate) else (cell, cell)
        above, below = (all(way * sign * (end - bound) > 0 for end in ends) for way in (1, -1))
        if found[1] == "=":
            return "does not hold" if above or below else "cannot tell"
        return "holds" if above else "does not hold" if below else "cannot tell"

    def _points_nowhere(self, what: str, why: str) -> InputError:
        message = f"{self.name}/{DEFINITION}: {what}: {why}"
        return InputError([Finding("OS954", Level.ERROR, message)])


def read_page(folder: Path) -> Page:
    """Read a definition and the run files it names.

    Raises:
        InputError: The definition is wrong (OS954), run files are missing (OS952) or wrong (OS953).
    """
    path = folder / DEFINITION
    try:
        definition = msgspec.convert(toml(load_text(path)), Definition)
    except InputError:
        raise
    except (ValueError, msgspec.ValidationError) as error:
        raise InputError([Finding("OS954", Level.ERROR, f"{path}: {error}")]) from error
    there = {each.stem: each for each in sorted(folder.glob("*.json"))}
    missing = [each for each in definition.element if each.run and each.run not in there]
    if missing:
        raise InputError([_missing(folder, each, definition.measured_by) for each in missing])
    return Page(folder.name, definition, {name: read_run(each) for name, each in there.items()})


def _missing(folder: Path, element: Element, command: str) -> Finding:
    return Finding(
        "OS952",
        Level.ERROR,
        f"{element.name} ({element.shows}) has no rows: {folder / f'{element.run}.json'} is absent",
        example=str(element.run),
        fix="; ".join((*element.commands, command)),
    )


def pages_in(folder: Path) -> Iterator[Path]:
    """The folders below that define a page, by name."""
    return (each.parent for each in sorted(folder.glob(f"*/{DEFINITION}")))
