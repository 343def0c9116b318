"""Render: one table of cells, as text, Markdown, LaTeX or CSV.

Knows nothing of metrics. Cells are strings already; numbers are aligned right.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
_LATEX |= {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "–": "--"}
_GAP = "  "


@dataclass(frozen=True, slots=True)
class Table:
    """Header, rows and footnotes.

    >>> print(Table(("metric", "value"), (("a", "1"), ("long name", "20"))).text())
    metric     value
    a              1
    long name     20
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    best: frozenset[tuple[int, int]] = frozenset()  # row and column of cells that LaTeX has in bold

    def text(self, width: int | None = None) -> str:
        """For a terminal: columns aligned, the first left, the others right.

        Columns that do not fit into `width` go on below, beside the first one again.
        """
        cells = [[_one_line(cell) for cell in row] for row in (self.header, *self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.header))]
        blocks = [
            [_aligned([row[i] for i in block], [widths[i] for i in block]) for row in cells]
            for block in _blocks(widths, width)
        ]
        return "\n".join(["\n\n".join("\n".join(lines) for lines in blocks), *self.notes])

    def markdown(self) -> str:
        """A Markdown table."""
        rule = ["---", *["---:"] * (len(self.header) - 1)]
        lines = [_piped(self.header), _piped(rule), *(_piped(row) for row in self.rows)]
        notes = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join([*lines, *notes])

    def latex(self) -> str:
        """A LaTeX tabular (booktabs)."""
        columns = "l" + "r" * (len(self.header) - 1)
        body = [
            _ampersands(row, {column for at, column in self.best if at == place})
            for place, row in enumerate(self.rows)
        ]
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _ampersands(self.header)]
        notes = [f"% {_one_line(note)}" for note in self.notes]
        return "\n".join([*lines, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", *notes])

    def csv(self) -> str:
        """Comma-separated values, notes left out."""
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([self.header, *self.rows])
        return stream.getvalue()


def _blocks(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Columns that stand beside each other, the first in every block, at least one more with it."""
    blocks = [[0]]
    for column in range(1, len(widths)):
        room = sum(widths[i] + len(_GAP) for i in blocks[-1]) + widths[column]
        if width is not None and room > width and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1].append(column)
    return blocks


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first = row[0].ljust(widths[0])
    rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
    return _GAP.join([first, *rest]).rstrip()


def _one_line(cell: str) -> str:
    return " ".join(cell.splitlines())


def _piped(row: Sequence[str]) -> str:
    return "| " + " | ".join(_one_line(cell).replace("|", r"\|") for cell in row) + " |"


def _ampersands(row: Sequence[str], bold: Collection[int] = ()) -> str:
    pattern = re.compile("|".join(map(re.escape, _LATEX)))
    cells = (pattern.sub(lambda found: _LATEX[found.group()], _one_line(cell)) for cell in row)
    shown = (rf"\textbf{{{cell}}}" if at in bold else cell for at, cell in enumerate(cells))
    return " & ".join(shown) + r" \\"
