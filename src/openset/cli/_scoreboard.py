"""Scoreboard: models and metrics as one table, with intervals, directions and stars.

A row is a metric, a column a model; where the models do not fit beside each other the table goes on
below. A star says that a model differs from the first one by more than the choice of test images
explains (paired image bootstrap); a dash says that there is no number, and a footnote why.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openset.evaluation.comparison import Comparison, compare
from openset.evaluation.result import number
from openset.evaluation.run import Run
from openset.metrics import Metric, Value, table
from openset.render import Table

ARROW = {"higher": "↑", "lower": "↓", None: ""}
_HEAD = "↑ ↓ better"
_NAME = 24  # longer names of models are cut in the middle
_GAP = 2


@dataclass(frozen=True, slots=True)
class Cell:
    """A number, its interval (or the mark of a footnote), and a star."""

    number: str
    interval: str
    star: bool


@dataclass(frozen=True)
class Column:
    """One model."""

    head: str
    cells: tuple[Cell, ...]
    stars: bool

    def lines(self) -> list[str]:
        """The cells as text: numbers below numbers, intervals below intervals."""
        wide = max((len(cell.number) for cell in self.cells), default=0)
        far = max((len(cell.interval) for cell in self.cells), default=0)
        tail = "  " if self.stars else ""
        return [
            f"{c.number:>{wide}}{' ' if far else ''}{c.interval:<{far}}{' *' if c.star else tail}"
            for c in self.cells
        ]


def chosen(run: Run, names: Sequence[str]) -> list[Metric]:
    """The metrics to show: those asked for, else the headline ones."""
    metrics, held = table(), next(iter(run.evaluations.values())).values
    if names:
        return [metrics[name] for name in held]
    return [metrics[name] for name in held if metrics[name].headline]


def scoreboard(run: Run, metrics: Sequence[Metric], width: int) -> str:
    """The table as text, at most `width` columns wide where one model fits."""
    notes = _Notes()
    columns = [_column(run, name, metrics, notes) for name in run.names]
    titles = [title(metric) for metric in metrics]
    left = max(map(len, (_HEAD, *titles)))
    blocks = [
        Table(
            (_HEAD, *(column.head for column in block)),
            tuple(zip(titles, *(column.lines() for column in block), strict=True)),
        ).text()
        for block in _blocks(columns, width - left)
    ]
    if any(cell.star for column in columns for cell in column.cells):
        name = short(run.names[0])
        notes.add(f"* differs from {name}: the 95 % interval of the paired difference excludes 0")
    return "\n".join(["\n\n".join(blocks), *notes.wrapped(width)])


def title(metric: Metric) -> str:
    """What a row is called, with its unit and its direction."""
    unit = ", %" if metric.unit == "fraction" else ""
    return f"{metric.title}{unit} {ARROW[metric.better]}".rstrip()


def shown(value: float | None, metric: Metric | None, decimals: int = 1) -> str:
    """A number in a row whose title says the unit.

    >>> shown(-0.0001, table()["ap_known"])
    '0.0'
    """
    if value is not None and metric is not None and metric.unit == "fraction":
        return f"{round(100 * value, decimals) + 0.0:.{decimals}f}"  # + 0.0: no minus before zero
    return number(value, metric)


def interval(ends: tuple[float, float] | None, metric: Metric | None, decimals: int = 1) -> str:
    """An interval, likewise."""
    low, high = ends or (None, None)
    return f"[{shown(low, metric, decimals)}, {shown(high, metric, decimals)}]" if ends else ""


class _Notes:
    """Footnotes, numbered; the same reason for two models is one."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._plain: list[str] = []

    def mark(self, text: str) -> str:
        return self._marks.setdefault(text, f"{len(self._marks) + 1})")

    def add(self, text: str) -> None:
        self._plain.append(text)

    def wrapped(self, width: int) -> list[str]:
        numbered = [f"{mark} {text}" for text, mark in self._marks.items()]
        return [textwrap.fill(t, width, subsequent_indent="   ") for t in numbered + self._plain]


def _column(run: Run, name: str, metrics: Sequence[Metric], notes: _Notes) -> Column:
    first, here = run.evaluations[run.names[0]], run.evaluations[name]
    beside = compare(first, here) if here is not first else None
    cells = [_cell(here.values[metric.name], metric, beside, notes) for metric in metrics]
    return Column(short(name), tuple(cells), beside is not None)


def _cell(value: Value, metric: Metric, beside: Comparison | None, notes: _Notes) -> Cell:
    if value.value is None:
        return Cell("–", notes.mark(value.reason), False)
    star = beside is not None and beside[metric.name].significant
    return Cell(shown(value.value, metric), interval(value.interval, metric), star)


def _blocks(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """As many columns beside each other as fit, at least one."""
    blocks: list[list[Column]] = [[]]
    left = room
    for column in columns:
        wide = max(map(len, (column.head, *column.lines()))) + _GAP
        if blocks[-1] and wide > left:
            blocks.append([])
            left = room
        blocks[-1].append(column)
        left -= wide
    return blocks


def short(name: str) -> str:
    """A name that fits over a column.

    >>> short("a" * 20 + "b" * 20)
    'aaaaaaaaaaaa…bbbbbbbbbbb'
    """
    return name if len(name) <= _NAME else f"{name[: _NAME // 2]}…{name[1 - _NAME // 2 :]}"


def protocol_line(run: Run) -> str:
    """What the numbers were computed under, in one line."""
    protocol, one = run.protocol, next(iter(run.evaluations.values())).provenance
    overlaps = protocol.iou
    iou = f"{overlaps[0]:g}" if len(overlaps) == 1 else f"{overlaps[0]:.2f}:{overlaps[-1]:.2f}"
    parts = [
        f"protocol {one.protocol}"
        + (f" with {len(one.deviations)} deviations" * bool(one.deviations)),
        f"IoU {iou}",
        f"known: {one.counts['known_classes']} classes"
        + f" ({one.vocabulary})" * bool(one.vocabulary),
        f"95 % intervals from {one.resamples} image resamples, seed {one.seed}"
        if one.resamples
        else "no intervals",
    ]
    return " · ".join(parts)


def ledger_lines(run: Run, width: int) -> list[str]:
    """What was fitted on which data, as the models' files say; models that say the same share."""
    said: dict[str, list[str]] = {}
    for name, one in run.evaluations.items():
        said.setdefault(one.provenance.ledger, []).append(short(name))
    lines = [f"{', '.join(names)}: {text}" for text, names in said.items() if text]
    return [textwrap.fill(line, width, subsequent_indent="   ") for line in lines]


def counts_line(counts: Mapping[str, int]) -> str:
    """What is in the ground truth."""
    return (
        f"{_n(counts['images'])} images · {_n(counts['known_objects'])} known and "
        f"{_n(counts['unknown_objects'])} unknown objects"
    )


def _n(count: int) -> str:
    return f"{count:,}".replace(",", " ")
