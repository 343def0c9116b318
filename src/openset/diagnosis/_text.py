"""Text: rows of a result as an aligned table, for `str()` of the results of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = dict[str, Any]


def aligned(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same keys as columns of text, numbers to the right.

    >>> print(aligned([{"class": "dog", "count": 3}, {"class": "cow", "count": 12}]))
    class  count
    dog        3
    cow       12
    """
    if not rows:
        return "(nothing)"
    head = list(rows[0])
    numeric = [any(isinstance(row[name], int | float) for row in rows) for name in head]
    lines = [head, *([_cell(row[name]) for name in head] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(_line(line, widths, numeric) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    pairs = zip(cells, widths, numeric, strict=True)
    placed = (cell.rjust(w) if right else cell.ljust(w) for cell, w, right in pairs)
    return "  ".join(placed).rstrip()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
