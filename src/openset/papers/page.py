"""Pages: what a paper shows and claims, and which run file answers it; read from ``page.toml``.

A definition lists *all* tables and figures of its paper. It may type what the paper prints; what
was measured here it only points to: ``[[run | row | column]]`` in a text, ``cells`` of a claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from openset.files import load_text, toml
from openset.findings import Finding, InputError, Level
from openset.papers.run_file import Cell, Estimate, Run, read_run

DEFINITION, PLACES = "page.toml", "places.toml"
POINTER = re.compile(r"\[\[([^\[\]|]+)\|([^\[\]|]+)\|([^\[\]|]+)\]\]")
_EXPECTED = re.compile(r"([<>=]|within) (-?\d+(?:\.\d+)?)")
PLACE = re.compile(r"(?<![\w/.])\$?[A-Z]{4,}(?:\.json)?(?=[/\s]|$)")
"""A word in capitals where a path is typed: ``PICTURES``, ``$DATA/coco``."""
ALL = "*"
T = TypeVar("T")


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
        status: Whether it is reproduced from its own inputs (all of it, or in part), measured again
            on others, or not here.
        run: The run file that answers it.
        text: What differs from the paper, or why it is not here.
        commands: What someone types who has the data.
        figures: How the run is drawn.
        published: What the paper prints.
    """

    name: str
    shows: str
    status: Literal["reproduced", "in part", "re-measured", "not here"]
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
        cells: Run, row and column of the numbers that decide. A part of a row that is ``*`` stands
            for all that have a number there: ``digits / * / 0.3``, or ``*`` alone.
        expected: ``> 0``, ``< 0.5``: what the claim says of each of them; ``within 0.05`` is no
            farther from 0, ``= 0`` an interval can contradict, and never confirm.
        why: Why it cannot be told, where there is nothing to look at.
        setting: On what it was measured, where that is not what the paper has: ``on digits``; it
            stands behind the verdict.
        left_out: Why rows of a run file that have such a number are not among the cells.
        definition: Whether no measurement could contradict it: the cells only show how much.
    """

    says: str
    where: str
    cells: list[tuple[str, str, str]] = []
    expected: str = "> 0"
    why: str = ""
    setting: str = ""
    left_out: str = ""
    definition: bool = False


class Erratum(_Strict, frozen=True):
    """Where measuring again contradicts the paper, its text or its code.

    Attributes:
        where: The place.
        says: What stands there.
        found: What is so.
        command: What verifies it, or ``read from ...`` where that is reading alone.
    """

    where: str
    says: str
    found: str
    command: str


class Definition(_Strict, frozen=True):
    """The whole ``page.toml``.

    Attributes:
        measured_by: The command that makes the run files.
        workflow: From the official files to the main table of the paper.
        training: What made the detectors and classifiers that were measured here, and `measured_by`
            takes for granted.
        trained_from: What that takes, and where it comes from.
    """

    title: str
    paper: str
    about: str
    measured_by: str
    workflow: list[str]
    element: list[Element]
    training: list[str] = []
    trained_from: str = ""
    claim: list[Claim] = []
    erratum: list[Erratum] = []


@dataclass(frozen=True, slots=True)
class Page:
    """A definition and its run files.

    Attributes:
        name: That of its folder.
        definition: What the paper shows and claims.
        runs: What was measured, by name.
        places: What words of commands stand for, ``PICTURES``; of all pages beside it, too.
    """

    name: str
    definition: Definition
    runs: Mapping[str, Run]
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def commands(self) -> list[str]:
        """Every command that stands on the page, in its order."""
        held = self.definition
        lines = [*held.workflow, *held.training]
        for each in held.element:
            lines += [*(self.runs[each.run].commands if each.run else ()), *each.commands]
        return list(dict.fromkeys(lines))

    def named(self) -> dict[str, str]:
        """The words of its commands that stand for something, and for what."""
        words = {word for line in self.commands for word in PLACE.findall(line)}
        return {word: what for word, what in self.places.items() if word in words}

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

    def cells(self, claim: Claim) -> list[tuple[str, str, str]]:
        """The numbers of a claim by their three names, those that ``*`` stands for spelt out."""
        found = [
            (run, row, column)
            for run, asked, column in claim.cells
            for row in self._rows(run, asked, column)
        ]
        return list(dict.fromkeys(found))

    def _rows(self, run: str, asked: str, column: str) -> list[str]:
        """The rows that are asked for: one by its name, or all with a number that fit."""
        parts = asked.split(" / ")
        if ALL not in parts:
            return [asked]
        there = [row for row in self._named(run) if asked == ALL or _fits(row.split(" / "), parts)]
        if not there:
            raise self._points_nowhere(f"[[{run} | {asked} | {column}]]", "no row is called so")
        return [row for row in there if self._is_number(run, row, column)] or there

    def not_taken(self, claim: Claim) -> list[tuple[str, str, str]]:
        """Numbers beside those of a claim, in the same columns of its run files."""
        taken = self.cells(claim)
        columns = dict.fromkeys((run, column) for run, _, column in taken)
        return [
            (run, row, column)
            for run, column in columns
            for row in self._numbers(run, column)
            if (run, row, column) not in taken
        ]

    def _numbers(self, run: str, column: str) -> list[str]:
        """The rows of a run that have a number in a column."""
        return [row for row in self._named(run) if self._is_number(run, row, column)]

    def _named(self, run: str) -> list[str]:
        """The rows of a run, by their names."""
        if run not in self.runs:
            raise self._points_nowhere(f"[[{run} | {ALL}]]", f"no run {run!r}")
        return [self.runs[run].key(row) for row in self.runs[run].rows]

    def _is_number(self, run: str, row: str, column: str) -> bool:
        return isinstance(self.cell(run, row, column), (float, Estimate))

    def verdict(self, claim: Claim) -> str:
        """Whether a claim holds: ``holds``, ``does not hold`` or ``cannot tell``.

        What is so by definition can do neither, and is called that.
        """
        if claim.definition:
            return "by definition"
        verdicts = [self._one(self.cell(*names), claim) for names in self.cells(claim)]
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
        if found[1] == "within":
            farther = ends[0] > bound or ends[1] < -bound
            inside = -bound < ends[0] and ends[1] < bound
            return "holds" if inside else "does not hold" if farther else "cannot tell"
        above, below = (all(way * sign * (end - bound) > 0 for end in ends) for way in (1, -1))
        if found[1] == "=":
            return "does not hold" if above or below else "cannot tell"
        return "holds" if above else "does not hold" if below else "cannot tell"

    def _points_nowhere(self, what: str, why: str) -> InputError:
        message = f"{self.name}/{DEFINITION}: {what}: {why}"
        return InputError([Finding("OS954", Level.ERROR, message)])


def _fits(row: list[str], asked: list[str]) -> bool:
    return len(row) == len(asked) and all(
        of in (ALL, part) for part, of in zip(row, asked, strict=True)
    )


def read_page(folder: Path) -> Page:
    """Read a definition and the run files it names.

    Raises:
        InputError: The definition or what words stand for is wrong (OS954), run files are missing
            (OS952) or wrong (OS953).
    """
    path = folder / DEFINITION
    try:
        definition = msgspec.convert(toml(load_text(path)), Definition)
    except InputError:
        raise
    except (ValueError, msgspec.ValidationError) as error:
        raise InputError([Finding("OS954", Level.ERROR, f"{path}: {error}")]) from error
    there = {each.stem: each for each in sorted(folder.glob("*.json"))}
    makes = definition.measured_by
    if definition.training:
        makes += f", where the trainings are at hand; else first: {'; '.join(definition.training)}"
    missing = [each for each in definition.element if each.run and each.run not in there]
    wrong = [_missing(folder, each, makes) for each in missing]
    read = partial(_read_run, definition, makes)
    runs = dict(zip(there, _every(read, there.values(), wrong), strict=False))
    return Page(folder.name, definition, runs, _places(folder.parent / PLACES))


def _read_run(definition: Definition, makes: str, path: Path) -> Run:
    """A run file; what cannot be read names the tables that lack their rows, and what makes it."""
    try:
        return read_run(path)
    except InputError as error:
        tables = ", ".join(each.name for each in definition.element if each.run == path.stem)
        lacking = f"{tables}: no rows" if tables else path.name
        said = [replace(each, example=lacking, fix=makes) for each in error.findings]
        raise InputError(said) from error


def _places(path: Path) -> dict[str, str]:
    try:
        return msgspec.convert(toml(load_text(path)), dict[str, str]) if path.is_file() else {}
    except InputError:
        raise
    except (ValueError, msgspec.ValidationError) as error:
        raise InputError([Finding("OS954", Level.ERROR, f"{path}: {error}")]) from error


def read_pages(runs: Path) -> list[Page]:
    """Every page that is defined below a folder.

    Raises:
        InputError: What is missing or wrong, of all of them.
    """
    return _every(read_page, pages_in(runs), [])


def _every(read: Callable[[Path], T], paths: Iterable[Path], wrong: list[Finding]) -> list[T]:
    """What all files hold, or all that is wrong with them, and what was before."""
    found = []
    for path in paths:
        try:
            found.append(read(path))
        except InputError as error:
            wrong += error.findings
    if wrong:
        raise InputError(wrong)
    return found


def _missing(folder: Path, element: Element, command: str) -> Finding:
    return Finding(
        "OS952",
        Level.ERROR,
        f"{element.name} ({element.shows}) has no rows: {folder / f'{element.run}.json'} is absent",
        example=str(element.run),
        fix=command,
    )


def pages_in(folder: Path) -> Iterator[Path]:
    """The folders below that define a page, by name."""
    return (each.parent for each in sorted(folder.glob(f"*/{DEFINITION}")))
