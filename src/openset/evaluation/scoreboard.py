"""Scoreboard: models against metrics, with intervals, directions, differences and stars.

The one table of results. A line is a metric, a column a model; the first model is what the others
are compared with. A star marks a difference that the choice of test images does not explain: its
p-value, corrected for all comparisons of its family (Benjamini & Hochberg 1995), is below 0.05. The
headline metrics of all models are one family and the other metrics another, whatever of them is
shown, so that a number has its star everywhere or nowhere. A dash is a value that does not exist.
Footnotes say why, what was left out, and which values are biased or often undefined.

A model may be a method that was trained several times (`openset.evaluation.trainings`): its value
is the mean, its interval and its stars hold the chance of training, too, and beside it stands how
much either chance does.

It is a value: the terminal (`text`), Markdown and LaTeX (`table`), CSV (`csv`), the comparison of
two (`differences`) and the page (`openset.report`) are renderings of it. Not a ranking: nothing is
added up over metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from openset.evaluation.comparison import Comparison, Difference, against_first
from openset.evaluation.numbers import (
    ARROWS,
    DIRECTIONS,
    deviation,
    interval,
    number,
    p_text,
    signed,
)
from openset.evaluation.trainings import NOT_COMPUTED, Chance, Given, Trainings, methods_of
from openset.json_text import compact, plain
from openset.metrics import Left, Metric, Value
from openset.render import Table
from openset.resampling.intervals import ALPHA, false_discovery, holm
from openset.wording import percent

HEAD = "↑ ↓ better"
HEADLINES, OTHERS = "headline metrics", "other metrics"  # the families of comparisons
COLUMNS = ("metric", "value", "low", "high", "count", "params", "reason")
FLAGGED = 0.05  # share of resamples without a value that is pointed out
TWO_CHANCES = (
    "± is one deviation of the mean over trainings, by the choice of test images and by training; "
    "intervals and p hold both, and a question mark is a method with one training"
)
HOW = "Benjamini-Hochberg"
NOTABLE = 0.25  # of half the interval: a bias that is pointed out


@dataclass(frozen=True, slots=True)
class Cell:
    """What one model has of one metric.

    Attributes:
        value: The value with its interval, or why there is none.
        difference: How it differs from the first model's; None for the first itself.
        best: Whether no other model has a better value, and some have a worse one.
        p: That of the difference, corrected for all comparisons of its family, so that few stars
            are false.
        p_holm: The same, corrected so that hardly any is.
        chance: What chance does to the value, by where it comes from.
    """

    value: Value
    difference: Difference | None = None
    best: bool = False
    p: float | None = None
    p_holm: float | None = None
    chance: Chance = field(default_factory=Chance)

    @property
    def star(self) -> bool:
        """Whether it differs from the first model by more than the choice of images explains."""
        return self.p is not None and self.p < ALPHA

    def document(self) -> dict[str, Any]:
        """The difference for programs: with p as it is, and corrected for its family."""
        assert self.difference is not None, "the first model differs from none"
        return {
            **asdict(self.difference),
            "significant": self.difference.significant,
            "corrected_p": self.p,
            "holm_p": self.p_holm,
            "star": self.star,
        }

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

    @property
    def family(self) -> str:
        """Together with which its p-values are corrected."""
        return HEADLINES if self.headline else OTHERS

    def remarks(self, cell: Cell) -> tuple[str, ...]:
        """What a footnote says of a cell: why it has no value, or what its resamples show."""
        if cell.value.value is None:
            return (cell.value.reason,)
        said = [str(left) for left in cell.value.left_out if left.of]
        said += self.basis(cell)
        if cell.value.undefined > FLAGGED:
            worst = max(c.value.undefined for c in self.cells)
            said.append(f"{self.title} has no value in up to {percent(worst)} of the resamples")
        if _biased(cell.value):
            off = max((c.value.bias for c in self.cells if _biased(c.value)), key=abs)
            size = signed(abs(off), self.metric).lstrip("+")
            way = "high" if off > 0 else "low"
            said.append(
                f"{self.title} comes out too {way} in a set of this size, by about {size}; "
                "the interval allows for it"
            )
        return tuple(said)

    def basis(self, cell: Cell) -> tuple[str, ...]:
        """On what the difference of a cell rests, if not on all that its values rest on."""
        d = cell.difference
        if d is None or d.common is None:
            return ()
        one, other = (number(value, self.metric) for value in d.common)
        return (f"the difference in {self.title} is {d.basis}; there they are {one} and {other}",)

    def number(self, value: float | None, decimals: int) -> str:
        """A number of this line, whose label says the unit."""
        return number(value, self.metric, decimals=decimals, unit=False)

    def interval(self, ends: tuple[float, float] | None, decimals: int) -> str:
        """An interval of this line."""
        return interval(ends, self.metric, decimals=decimals)

    def deviations(self, chance: Chance | Difference, decimals: int) -> str:
        """How much either chance does; a question mark where one training does not tell."""
        if chance.sd_images is None and chance.sd_training is None:
            return ""
        sizes = (chance.sd_images, chance.sd_training)
        images, training = (deviation(size, self.metric, decimals=decimals) for size in sizes)
        return f"± images {images} ± training {training}"


@dataclass(frozen=True)
class Scoreboard:
    """Models against metrics.

    Attributes:
        models: Names of the models; the others are compared with the first.
        lines: The metrics, in the order of the results.
        families: How many comparisons the p-values of each family are corrected for.
    """

    models: tuple[str, ...]
    lines: tuple[Line, ...]
    families: Mapping[str, int]

    @classmethod
    def of(
        cls,
        results: Mapping[str, Given],
        *,
        headline: bool = False,
        force: bool = False,
        paired: bool = False,
    ) -> Scoreboard:
        """The scoreboard of some results.

        Args:
            results: Results by the name to show, or those of several trainings of a method; the
                others are compared with the first.
            headline: Only the metrics that are shown first.
            force: Compare in spite of different ground truth, vocabulary or protocol.
            paired: Whether the trainings of all methods belong together, place by place.
        """
        methods = list(methods_of(results, force=force).values())
        against = against_first(methods, force=force, paired=paired)
        first = methods[0]
        lines = [
            Line(name, first.metrics.get(name), tuple(_cells(name, methods, against)))
            for name in first.values
        ]
        board = cls(tuple(results), *_corrected(lines))
        return board.only([line.name for line in lines if line.headline or not headline])

    @classmethod
    def between(cls, found: Comparison, models: tuple[str, str]) -> Scoreboard:
        """The scoreboard of a comparison."""
        against = [None, found]
        lines = [
            Line(name, found.metrics.get(name), tuple(_cells(name, found.methods, against)))
            for name in found.differences
        ]
        return cls(models, *_corrected(lines))

    @cached_property
    def trained_again(self) -> bool:
        """Whether a method was trained several times."""
        return any(len(cell.chance.runs) > 1 for line in self.lines for cell in line.cells)

    def only(self, names: Sequence[str]) -> Scoreboard:
        """Some of the lines, in the order of the names; p-values stay as they are."""
        lines = {line.name: line for line in self.lines}
        return replace(self, lines=tuple(lines[name] for name in names))

    def gates(self, names: Sequence[str]) -> Scoreboard:
        """Some of the lines as a family of their own: they were chosen before anything was seen."""
        lines, families = _corrected(self.only(names).lines, family="gates")
        return replace(self, lines=lines, families=families)

    def headline_first(self) -> list[Line]:
        """All lines, those that are shown first before the others."""
        return sorted(self.lines, key=lambda line: not line.headline)

    def cell(self, name: str, model: int) -> Cell | None:
        """What a model has of a metric, if the board has it."""
        return next((line.cells[model] for line in self.lines if line.name == name), None)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What footnotes say, each once."""
        said = (text for line in self.lines for cell in line.cells for text in line.remarks(cell))
        return tuple(dict.fromkeys(said))

    def marks(self, line: Line, cell: Cell) -> tuple[int, ...]:
        """Numbers of the footnotes of a cell."""
        return tuple(1 + self.remarks.index(text) for text in line.remarks(cell))

    def pair(self, model: int) -> Scoreboard:
        """The lines that are shown first, of the first model and another, with their stars."""
        lines = [
            replace(line, cells=(line.cells[0], line.cells[model]))
            for line in self.lines
            if line.headline
        ]
        return replace(self, models=(self.models[0], self.models[model]), lines=tuple(lines))

    def document(self, model: int) -> dict[str, Any]:
        """Every difference of a model for programs, and how many its p is corrected for."""
        return {
            line.name: line.cells[model].document() | {"corrected_for": self.families[line.family]}
            for line in self.lines
        }

    @property
    def two_chances(self) -> str:
        """What the deviations beside a mean over trainings are; nothing without trainings."""
        return TWO_CHANCES * self.trained_again

    @property
    def chance_explains(self) -> str:
        """What a difference without a star is explained by."""
        if self.trained_again:
            return "the choice of images and training explain"
        return "the choice of images explains"

    @property
    def star_means(self) -> str:
        """What a star says."""
        corrected = f", {self.correction}" if self.correction else ""
        return "p < 0.05 of no difference" + corrected

    @property
    def correction(self) -> str:
        """What the p-values that are shown are corrected for; nothing if for themselves alone."""
        shown = dict.fromkeys(line.family for line in self.lines)
        sizes = {name: n for name, n in self.families.items() if name in shown and n > 1}
        said = [f"the {n} comparisons of {name}" for name, n in sizes.items()]
        return f"corrected for {' and, apart, for '.join(said)} ({HOW})" if said else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The footnotes, numbered, and what a star means if there is one."""
        said = [f"{at}) {text}" for at, text in enumerate(self.remarks, start=1)]
        if any(cell.star for line in self.lines for cell in line.cells):
            said.append(f"* differs from {self.models[0]}: {self.star_means}")
        some = [(line.title, max(c.value.undefined for c in line.cells)) for line in self.lines]
        rare = [f"{title} {percent(share)}" for title, share in some if 0 < share <= FLAGGED]
        if rare:
            said.append(f"resamples without a value: {', '.join(rare)}")
        said += filter(None, [self.two_chances, self.left_out])
        return (*said, *self._of_differences(range(1, len(self.models)), with_interval=True))

    @property
    def left_out(self) -> str:
        """What took no part in some numbers beside classes, which have footnotes; in one line.

        Which number lacks which is in JSON.
        """
        found: dict[tuple[str, str], list[Left]] = {}
        for line in self.lines:
            for left in (left for cell in line.cells for left in cell.value.left_out):
                found.setdefault((left.what, left.why), []).append(left)
        said = []
        for same in (every for every in found.values() if not every[0].of):
            most = max(same, key=lambda left: left.number)
            up_to = "up to " if any(left != most for left in same) else ""
            said.append(f"{up_to}{most.amount} ({most.why})")
        return f"left out of some numbers: {', '.join(said)}" if said else ""

    def _of_differences(self, models: Iterable[int], *, with_interval: bool) -> tuple[str, ...]:
        """Remarks about differences, each once; maybe only about those that have an interval."""
        found = (line.cells[model].difference for line in self.lines for model in models)
        known = (d for d in found if d is not None)
        said = (d.remark for d in known if (d.difference if d.interval else not with_interval))
        return tuple(filter(None, dict.fromkeys(said)))

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
        best = frozenset(
            (row, column)
            for row, line in enumerate(self.lines)
            for column, cell in enumerate(line.cells, start=1)
            if cell.best
        )
        return Table((HEAD, *self.models), tuple(rows), self.notes, best)

    def _written(self, line: Line, cell: Cell, decimals: int) -> str:
        mark = self.mark(line, cell, decimals)
        parts = (line.number(cell.value.value, decimals), mark, "*" * cell.star)
        return " ".join(filter(None, parts))

    def mark(self, line: Line, cell: Cell, decimals: int) -> str:
        """The interval of a cell, what either chance does, and the numbers of its footnotes."""
        notes = (f"{number})" for number in self.marks(line, cell))
        ends = line.interval(cell.value.interval, decimals)
        return " ".join(filter(None, (ends, self.deviations(line, cell, decimals), *notes)))

    def deviations(self, line: Line, cell: Cell, decimals: int) -> str:
        """What either chance does to a cell, where a method was trained several times."""
        shown = self.trained_again and cell.value.value is not None
        return line.deviations(cell.chance, decimals) if shown else ""

    def differences(self, model: int = 1, *, decimals: int = 2) -> Table:
        """One model beside the first: both values, the difference with interval and p, in words."""
        rows = []
        for line in self.lines:
            cell = line.cells[model]
            d = cell.difference
            assert d is not None
            numbers = (line.number(x, decimals) for x in (d.first, d.second, d.difference))
            ends = line.interval(d.interval, decimals)
            if self.trained_again:
                ends = f"{ends} {line.deviations(d, decimals)}".strip()
            rows.append((line.label, *numbers, ends, p_text(cell.p), cell.verdict))
        header = (HEAD, self.models[0], self.models[model], "difference", "95 % interval", "p", "")
        notes = self._of_differences([model], with_interval=False)
        if self.two_chances:
            notes = (self.two_chances, *notes)
        notes += tuple(text for line in self.lines for text in line.basis(line.cells[model]))
        if self.correction:
            how = f"p is {self.correction}"
            notes = (f"{how}; each interval is of its difference alone", *notes)
        return Table(header, tuple(rows), notes)

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
    name: str, methods: Sequence[Trainings], against: Sequence[Comparison | None]
) -> Iterator[Cell]:
    values = [one.values.get(name, NOT_COMPUTED) for one in methods]
    metric = methods[0].metrics.get(name)
    best = _best(values, metric.better if metric else None)
    for method, value, other in zip(methods, values, against, strict=True):
        difference = other.differences.get(name) if other else None
        leads = best is not None and value.value == best
        yield Cell(value, difference, leads, chance=method.chance(name))


def _corrected(
    lines: Sequence[Line], family: str | None = None
) -> tuple[tuple[Line, ...], dict[str, int]]:
    """Lines whose p-values are corrected for their families, and how much each compares.

    The one place where that is decided: each line belongs to its own family, or all to one, of
    gates, which must not fall without cause.
    """
    found, sizes = {line.name: line for line in lines}, {}
    for name in dict.fromkeys(family or line.family for line in lines):
        members = [line for line in lines if family or line.family == name]
        raw = [cell.difference.p if cell.difference else None for x in members for cell in x.cells]
        strict = holm(raw)
        p = iter(zip(strict if family else false_discovery(raw), strict, strict=True))
        for line in members:
            pairs = ((cell, *next(p)) for cell in line.cells)
            cells = tuple(replace(cell, p=own, p_holm=strictly) for cell, own, strictly in pairs)
            found[line.name] = replace(line, cells=cells)
        sizes[name] = len(raw) - raw.count(None)
    return tuple(found.values()), sizes


def _biased(value: Value) -> bool:
    """Whether a value is off by a notable part of its interval."""
    if value.interval is None:
        return False
    low, high = value.interval
    return abs(value.bias) > NOTABLE * (high - low) / 2 > 0


def _best(values: Sequence[Value], better: str | None) -> float | None:
    """The best of several values, unless all are equal."""
    found = [value.value for value in values if value.value is not None]
    if len(set(found)) < 2 or better is None:
        return None
    return float(max(found) if better == "higher" else min(found))


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
