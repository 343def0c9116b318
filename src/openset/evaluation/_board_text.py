"""The scoreboard on a terminal: numbers below numbers, intervals below intervals, in blocks.

As many models beside each other as fit, at least one; the others follow below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openset.evaluation.scoreboard import HEAD
from openset.render import Table
from openset.wording import COLUMN, short

if TYPE_CHECKING:
    from openset.evaluation.scoreboard import Cell, Line, Scoreboard

_GAP = 2


@dataclass(frozen=True)
class _Column:
    """One model: its name and, per line, a number, an interval or a footnote, and a star."""

    head: str
    cells: tuple[tuple[str, str, str], ...]

    def lines(self) -> list[str]:
        number, mark, star = (
            max((len(cell[part]) for cell in self.cells), default=0) for part in range(3)
        )
        gap, far = " " * bool(mark), " " * bool(star)
        return [f"{n:>{number}}{gap}{m:<{mark}}{far}{s:<{star}}" for n, m, s in self.cells]

    @property
    def width(self) -> int:
        return max(map(len, (self.head, *self.lines()))) + _GAP


def laid_out(board: Scoreboard, width: int, decimals: int) -> str:
    """The table as text, at most `width` columns wide where one model fits."""
    columns = [_column(board, at, decimals) for at in range(len(board.models))]
    labels = [line.label for line in board.lines]
    left = max(map(len, (HEAD, *labels)))
    blocks = [
        Table(
            (HEAD, *(column.head for column in block)),
            tuple(zip(labels, *(column.lines() for column in block), strict=True)),
        ).text()
        for block in _blocks(columns, width - left)
    ]
    notes = [textwrap.fill(note, width, subsequent_indent="   ") for note in board.notes]
    return "\n".join(["\n\n".join(blocks), *notes])


def _column(board: Scoreboard, at: int, decimals: int) -> _Column:
    cells = (_parts(board, line, line.cells[at], decimals) for line in board.lines)
    return _Column(short(board.models[at], COLUMN), tuple(cells))


def _parts(board: Scoreboard, line: Line, cell: Cell, decimals: int) -> tuple[str, str, str]:
    mark = board.mark(line, cell, decimals)
    return line.number(cell.value.value, decimals), mark, "*" if cell.star else ""


def _blocks(columns: Sequence[_Column], room: int) -> list[list[_Column]]:
    """As many columns beside each other as fit, at least one."""
    blocks: list[list[_Column]] = [[]]
    left = room
    for column in columns:
        if blocks[-1] and column.width > left:
            blocks.append([])
            left = room
        blocks[-1].append(column)
        left -= column.width
    return blocks
