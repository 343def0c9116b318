"""Run files: one table or figure of a paper as it was measured here, in a few kilobytes of JSON.

A run file is a table with units and intervals, and with what it was made from: commands, checksums
of inputs, and what else it takes to make it again (``data``, ``training``, ``gpu``). It holds what
was measured; how the paper calls it and what it claims stands in `openset.papers.page`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from openset import json_text
from openset.files import load, replacing
from openset.findings import Finding, InputError, Level
from openset.render import Table
from openset.version import __version__
from openset.wording import spaced

FORMAT = "openset paper run 1"
UNITS = ("text", "%", "points", "count", "score")
NEEDS = ("data", "training", "gpu")
NONE = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a run: its name, its unit, and how many digits are shown after the point."""

    name: str
    unit: str = "text"
    digits: int = 1

    @property
    def title(self) -> str:
        """The name, with the unit of numbers that need one."""
        return f"{self.name}, {self.unit}" if self.unit in ("%", "points") else self.name


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


Cell = str | float | Estimate | None


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured for one table or figure.

    Attributes:
        columns: What the cells are; shares are fractions and shown in percent.
        rows: The cells.
        commands: What made it, as one would type it.
        inputs: Files it was made from, by name, with their SHA-256.
        needs: What it takes to make it again beside the repository: of ``data``, ``training``,
            ``gpu``.
        notes: What a reader must know beside the numbers.
        version: The openset that measured.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    commands: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    version: str = __version__

    def __post_init__(self) -> None:
        """Refuse rows that cannot be shown."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row has {len(row)} cells of {len(self.columns)}: {row!r}")
        for column in self.columns:
            if column.unit not in UNITS:
                raise ValueError(f"unit {column.unit!r} is none of {', '.join(UNITS)}")
        if unknown := set(self.needs) - set(NEEDS):
            raise ValueError(f"{sorted(unknown)} is none of {', '.join(NEEDS)}")

    @property
    def numbers(self) -> int:
        """How many cells are numbers."""
        return sum(isinstance(cell, (float, Estimate)) for row in self.rows for cell in row)

    def key(self, row: Sequence[Cell]) -> str:
        """What a row is called: the texts that it begins with."""
        return " / ".join(takewhile(lambda cell: isinstance(cell, str), row))  # type: ignore[arg-type]

    def cell(self, row: str, column: str) -> Cell:
        """The cell of a row and a column, by their names.

        Raises:
            KeyError: There is none; the message lists what there is.
        """
        names = [each.name for each in self.columns]
        by_key = {self.key(each): each for each in self.rows}
        if row not in by_key:
            raise KeyError(f"no row {row!r}; there are: {', '.join(by_key)}")
        if column not in names:
            raise KeyError(f"no column {column!r}; there are: {', '.join(names)}")
        return by_key[row][names.index(column)]

    def shown(self, row: str, column: str) -> str:
        """A cell as it is written, with its unit."""
        of = next((each for each in self.columns if each.name == column), Column(column))
        text = written(self.cell(row, column), of)
        return f"{text} {of.unit}" if of.unit in ("%", "points") and text != NONE else text

    def table(self) -> Table:
        """The run as a table for a page."""
        header = tuple(column.title for column in self.columns)
        rows = [
            tuple(written(cell, of) for cell, of in zip(row, self.columns, strict=True))
            for row in self.rows
        ]
        return Table(header, tuple(rows))

    def save(self, path: Path) -> None:
        """Write the run file."""
        document = {
            "format": FORMAT,
            "version": self.version,
            "commands": list(self.commands),
            "inputs": dict(self.inputs),
            "needs": list(self.needs),
            "notes": list(self.notes),
            "columns": [[each.name, each.unit, each.digits] for each in self.columns],
            "rows": [[_stored(cell) for cell in row] for row in self.rows],
        }
        with replacing(path, folder=False) as draft:
            draft.write_text(_one_row_a_line(document), "utf-8")


def written(cell: Cell, column: Column) -> str:
    """A cell as text, without the unit.

    >>> written(Estimate(0.1234, 0.1, 0.15), Column("AP", "%"))
    '12.3 [10.0, 15.0]'
    >>> written(12345.0, Column("boxes", "count")), written(None, Column("AP", "%"))
    ('12 345', '–')
    """
    if cell is None:
        return NONE
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Estimate):
        ends = ", ".join(_number(end, column) for end in (cell.low, cell.high))
        return f"{_number(cell.value, column)} [{ends}]"
    return _number(cell, column)


def _number(value: float, column: Column) -> str:
    if column.unit == "count":
        return spaced(value)
    scale = 100 if column.unit in ("%", "points") else 1
    rounded = round(scale * value, column.digits) + 0.0  # no minus before zero
    sign = "+" if column.unit == "points" and rounded > 0 else ""
    return f"{sign}{rounded:.{column.digits}f}"


def read_run(path: Path) -> Run:
    """Read a run file.

    Raises:
        InputError: OS953 where it is none, or of another version.
    """
    held = json_text.decode(load(path), str(path))
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        found = held.get("format") if isinstance(held, dict) else None
        raise _no_run(path, f"its format is {found!r}, not {FORMAT!r}")
    try:
        return Run(
            columns=tuple(Column(*each) for each in held["columns"]),
            rows=tuple(tuple(_cell(cell) for cell in row) for row in held["rows"]),
            commands=tuple(held["commands"]),
            inputs=dict(held["inputs"]),
            needs=tuple(held["needs"]),
            notes=tuple(held["notes"]),
            version=str(held["version"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _no_run(path, f"{type(error).__name__}: {error}") from error


def _no_run(path: Path, why: str) -> InputError:
    return InputError([Finding("OS953", Level.ERROR, f"{path} is no run file: {why}")])


def _cell(held: Any) -> Cell:
    if isinstance(held, list):
        value, low, high = held
        return Estimate(float(value), float(low), float(high))
    if held is None or isinstance(held, str):
        return held
    if isinstance(held, bool) or not isinstance(held, (int, float)):
        raise TypeError(f"a cell is {held!r}")
    return float(held)


def _stored(cell: Cell) -> Any:
    return [cell.value, cell.low, cell.high] if isinstance(cell, Estimate) else cell


def _one_row_a_line(document: Mapping[str, Any]) -> str:
    """JSON that shows in a diff which row has changed."""
    parts = []
    for key, value in document.items():
        if key == "rows":
            rows = ",\n  ".join(json_text.compact(row) for row in value)
            parts.append(f'"rows": [\n  {rows}\n ]')
        else:
            parts.append(f'"{key}": {json_text.compact(value)}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"
