"""Measure what the page about OpenAUC (Wang et al. 2022) shows; see `record`.

    python experiments/papers/openauc.py

From the repository's root; nothing else is needed: the digits are scikit-learn's, all small models
are enumerated, and trainings on CIFAR (`cifar`) are rows that the repository keeps.
"""

from __future__ import annotations

import cifar
from record import Recorder, started

from openset.papers import Column
from openset.recognition import claims
from openset.render import Table

HERE = "python experiments/papers/openauc.py"


def main() -> None:
    """Write all run files of the page."""
    to = started("openauc", data=False)
    for name in ("properties", "figure-1", "bound", "small-cases"):
        table(to, name, claims.TABLES[name]())
    cifar.tables(to)


def table(to: Recorder, name: str, made: Table) -> None:
    """A table of `openset.recognition.claims` as a run file."""
    to.commands = [HERE]
    numbers = [_numbers([row[at] for row in made.rows]) for at in range(len(made.header))]
    columns = [
        Column(title or "metric", _unit([row[at] for row in made.rows]) if numbers[at] else "text")
        for at, title in enumerate(made.header)
    ]
    rows = [
        [_value(cell) if numbers[at] else (cell or "–") for at, cell in enumerate(row)]
        for row in made.rows
    ]
    to.save(name, columns, rows)


def _numbers(cells: list[str]) -> bool:
    return all(
        cell.removesuffix(" %").replace(",", "").replace(".", "").isdigit() for cell in cells
    )


def _unit(cells: list[str]) -> str:
    return "%" if cells[0].endswith(" %") else "count"


def _value(cell: str) -> float:
    value = float(cell.removesuffix(" %").replace(",", ""))
    return value / 100 if cell.endswith(" %") else value


if __name__ == "__main__":
    main()
