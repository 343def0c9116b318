"""Scoreboard: models against metrics, with intervals, directions, differences and stars.

The one table of results. A line is a metric, a column a model; the first model is what the others
are compared with. A star marks a difference that the choice of test images does not explain (the
paired interval leaves out 0), a dash a value that does not exist, with a footnote that says why.

It is a value: the terminal (`text`), Markdown and LaTeX (`table`), CSV (`csv`), the comparison of
two (`differences`) and the page (`openset.report`) are renderings of it. Not a ranking: nothing is
added up over metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from openset.evaluation.comparison import Comparison, Difference, against_first
from openset.evaluation.numbers import ARROWS, DIRECTIONS, interval, number
from openset.evaluation.result import Evaluation
from openset.json_text import compact, plain
from openset.metrics import Metric, Value
from openset.render import Table

HEAD = "↑ ↓ better"
COLUMNS = ("metric", "value", "low", "high", "count", "params", "reason")
_UNPAIRED = "no paired interval: a result has no resamples, no value, or another seed"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one model has of one metric.

    Attributes:
        value: The value with its interval, or why there is none.
        difference: How it differs from the first model's; None for the first itself.
        best: Whether no other model has a better value, and some have a worse one.
    """

    value: Value
    difference: Difference | None = None
    best: bool = False

    @property
    def star(self) -> bool:
        """Whether it differs from the first model by more than the choice of images explains."""
        return self.difference is not None and self.difference.significant

    @property
    def verdict(self) -> str:
        """A star in words: better, worse, or different where neither is better."""
        if self.difference is None or not self.star:
            return ""
        return {True: "better", False: "worse", None: "different"}[self.difference.better]


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of all models.

    Attributes:
        name: Name of the metric.
        metric: What is known about it; None for one of another version, read from a file.
        cells: One per model.
    """

    name: str
    metric: Metric | None
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """What people call it."""
        return self.metric.title if self.metric else self.name

    @property
    def label(self) -> str:
        """The title with its unit and its direction."""
        unit = ", %" if self.metric and self.metric.unit == "fraction" else ""
        return f"{self.title}{unit} {self.arrow}".rstrip()

    @property
    def arrow(self) -> str:
        """Where better is."""
        return ARROWS[self.metric.better if self.metric else None]

    @property
    def direction(self) -> str:
        """The arrow in words."""
        return DIRECTIONS[self.metric.better if self.metric else None]

    @property
    def headline(self) -> bool:
        """Whether it is one of the metrics that are shown first."""
        return bool(self.metric and self.metric.headline)

    def number(self, value: float | None, decimals: int) -> str:
        """A number of this line, whose label says the unit."""
        return number(value, self.metric, decimals=decimals, unit=False)

    def interval(self, ends: tuple[float, float] | None, decimals: int) -> str:
        """An interval of this line."""
        return interval(ends, self.metric, decimals=decimals)


@dataclass(frozen=True)
class Scoreboard:
    """Models against metrics.

    Attributes:
        models: Names of the models; the others are compared with the first.
        lines: The metrics, in the order of the results.
    """

    models: tuple[str, ...]
    lines: tuple[Line, ...]

    @classmethod
    def of(
        cls, results: Mapping[str, Evaluation], *, headline: bool = False, force: bool = False
    ) -> Scoreboard:
        """The scoreboard of some results.

        Args:
            results: Results by the name to show; the others are compared with the first.
            headline: Only the metrics that are shown first.
            force: Compare in spite of different ground truth, vocabulary or protocol.
        """
        first = next(iter(results.values()))
        against = against_first(list(results.values()), force=force)
        lines = [
            Line(name, first.metrics.get(name), tuple(_cells(name, first, results, against)))
            for name in first.values
        ]
        return cls(tuple(results), tuple(line for line in lines if line.headline or not headline))

    @classmethod
    def between(
        cls, found: Comparison, models: tuple[str, str], names: Sequence[str] | None = None
    ) -> Scoreboard:
        """The scoreboard of a comparison, of all its metrics or of some; values lack intervals."""
        chosen = found.differences if names is None else names
        lines = []
        for name in chosen:
            d = found[name]
            cells = (Cell(Value(d.first)), Cell(Value(d.second), d))
            lines.append(Line(name, found.metrics.get(name), cells))
        return cls(models, tuple(lines))

    def headline_first(self) -> list[Line]:
        """All lines, those that are shown first before the others."""
        return sorted(self.lines, key=lambda line: not line.headline)

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why values do not exist, each reason once: the footnotes."""
        absent = (
            c.value.reason for line in self.lines for c in line.cells if c.value.value is None
        )
        return tuple(dict.fromkeys(absent))

    def note(self, cell: Cell) -> int:
        """Number of the footnote of a cell without a value; 0 if it has one."""
        return 0 if cell.value.value is not None else 1 + self.reasons.index(cell.value.reason)

    @property
    def notes(self) -> tuple[str, ...]:
        """The footnotes, numbered, and what a star means if there is one."""
        numbered = [f"{at}) {reason}" for at, reason in enumerate(self.reasons, start=1)]
        if any(cell.star for line in self.lines for cell in line.cells):
            excludes = "the 95 % interval of the paired difference excludes 0"
            numbered.append(f"* differs from {self.models[0]}: {excludes}")
        return tuple(numbered)

    def text(self, width: int = 1 << 16, *, decimals: int = 2) -> str:
        """For a terminal: columns below each other where they do not fit beside each other."""
        from openset.evaluation._board_text import laid_out

        return laid_out(self, width, decimals)

    def table(self, *, decimals: int = 2) -> Table:
        """One column per model: number, interval and star, or the mark of a footnote."""
        rows = [
            (line.label, *(self._written(line, cell, decimals) for cell in line.cells))
            for line in self.lines
        ]
        return Table((HEAD, *self.models), tuple(rows), self.notes)

    def _written(self, line: Line, cell: Cell, decimals: int) -> str:
        note = self.note(cell)
        mark = f"{note})" if note else line.interval(cell.value.interval, decimals)
        parts = (line.number(cell.value.value, decimals), mark, "*" * cell.star)
        return " ".join(filter(None, parts))

    def differences(self, model: int = 1, *, decimals: int = 2) -> Table:
        """One model beside the first: both values, the difference with its interval, in words."""
        rows, unpaired = [], False
        for line in self.lines:
            d = line.cells[model].difference
            assert d is not None
            numbers = (line.number(x, decimals) for x in (d.first, d.second, d.difference))
            said = line.cells[model].verdict
            rows.append((line.label, *numbers, line.interval(d.interval, decimals), said))
            unpaired |= d.interval is None
        header = (HEAD, self.models[0], self.models[model], "difference", "95 % interval", "")
        return Table(header, tuple(rows), (_UNPAIRED,) * unpaired)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Every value unrounded: model, then `COLUMNS`."""
        for line in self.lines:
            for model, cell in zip(self.models, line.cells, strict=True):
                v = cell.value
                low, high = v.interval or (None, None)
                params = compact(plain(v.params))
                yield model, line.name, v.value, low, high, v.count, params, v.reason

    def csv(self) -> str:
        """Comma-separated values, unrounded; a column names the model where there are several."""
        start = int(len(self.models) == 1)
        header = ("model", *COLUMNS)[start:]
        return Table(header, tuple(tuple(map(_cell, row[start:])) for row in self.rows())).csv()


def _cells(
    name: str,
    first: Evaluation,
    results: Mapping[str, Evaluation],
    against: Sequence[Comparison | None],
) -> Iterator[Cell]:
    values = [one.values.get(name, Value.missing("not computed")) for one in results.values()]
    metric = first.metrics.get(name)
    best = _best(values, metric.better if metric else None)
    for value, other in zip(values, against, strict=True):
        difference = other.differences.get(name) if other else None
        yield Cell(value, difference, best is not None and value.value == best)


def _best(values: Sequence[Value], better: str | None) -> float | None:
    """The best of several values, unless all are equal."""
    found = [value.value for value in values if value.value is not None]
    if len(set(found)) < 2 or better is None:
        return None
    return float(max(found) if better == "higher" else min(found))


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
