"""Learned: what a detector could do after each stage of its chain, and what it had forgotten.

A row per stage: AP of the classes of earlier tasks, of the current one and of both, errors on
unknown objects, and forgetting (`openset.evaluation.across_tasks`). Beside the rows it is said what
became of every class, what those of later tasks were called before they were taught, and on how
many images they then were. The document holds no times and no paths, so that a chain that was
stopped and gone on with ends in the same bytes.

Not the results themselves: each stage has a run of its own, for `openset report`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from openset.evaluation.across_tasks import Forgetting, forgetting
from openset.evaluation.result import Evaluation
from openset.files import load_text, replacing
from openset.findings import Finding, InputError, Level, refuse
from openset.render import Table

SCHEMA = "openset.learned/1"
FILE = "learned.json"
COLUMNS: Mapping[str, str] = {
    "ap_previous": "AP previous",
    "ap_current": "AP current",
    "ap_known": "AP both",
    "wilderness_impact": "WI",
    "a_ose": "A-OSE",
    "unknown_recall": "U-recall",
    "unknown_precision": "U-precision",
    "udr": "UDR",
    "udp": "UDP",
}
"""Metrics of a row, and what their columns are called."""
COUNTS = frozenset({"a_ose"})
"""Metrics that are counts; the others are shares."""
_NONE = "–"


class Number(TypedDict):
    """A metric: its value, the interval of that, and why there is none."""

    value: float | None
    interval: tuple[float, float] | None
    reason: str


@dataclass(frozen=True)
class Row:
    """A stage and its numbers.

    Attributes:
        name: ``t2``, ``t2-ft``.
        task: Its task, from 1.
        finetune: Whether it is the fine-tuning after the task.
        images: Images it was trained on.
        objects: Objects on them, by class.
        images_of: On how many of them each class is.
        numbers: By metric.
        ap: AP of every class so far.
        forgetting: How much AP the classes of earlier tasks have lost; None in the first task.
        drops: The same by class.
        called: What objects of classes that are still unknown were called: class → known class →
            objects.
        test: A hash of the test it was judged on; empty where a file does not say.
    """

    name: str
    task: int
    finetune: bool
    images: int
    objects: Mapping[str, int]
    images_of: Mapping[str, int]
    numbers: Mapping[str, Number]
    ap: Mapping[str, float | None]
    forgetting: float | None = None
    drops: Mapping[str, float | None] = field(default_factory=dict)
    called: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    test: str = ""

    def value(self, metric: str) -> float | None:
        """A number, None where there is none."""
        return self.numbers[metric]["value"] if metric in self.numbers else None


@dataclass(frozen=True)
class Kept:
    """A class through time.

    Attributes:
        label: The class.
        task: The task that taught it.
        ap: Its AP after every stage; None before it was taught.
        drops: What it had lost after every stage; None up to its own task.
    """

    label: str
    task: int
    ap: tuple[float | None, ...]
    drops: tuple[float | None, ...]


@dataclass(frozen=True)
class Taught:
    """A class that was unknown before its task, and what it took to teach it.

    Attributes:
        label: The class.
        task: The task that taught it.
        called: What its objects were called just before, the most frequent first.
        images: Images of the task that show it.
        objects: Its objects on them.
        ap: Its AP after the last stage of the task; None where that is not done yet.
    """

    label: str
    task: int
    called: Mapping[str, int]
    images: int
    objects: int
    ap: float | None


@dataclass(frozen=True)
class Learned:
    """A chain, as far as it has come.

    Attributes:
        benchmark: Its name.
        tasks: The classes that each task adds.
        about: Recipe, method and how exemplars were chosen.
        rows: The stages that are done.
    """

    benchmark: str
    tasks: tuple[tuple[str, ...], ...]
    about: Mapping[str, Any]
    rows: tuple[Row, ...] = ()

    def table(self) -> Table:
        """A row per stage."""
        header = ("stage", "classes", *COLUMNS.values(), "forgetting")
        return Table(header, tuple(map(_cells, self.rows)))

    def lines(self) -> list[str]:
        """What was forgotten, and what later classes were called, in words."""
        return [*self.losses(), *(_in_words(one) for one in self.taught() if one.called)]

    def losses(self) -> list[str]:
        """Of every stage after the first task, the class that has lost most."""
        found = []
        for row in self.rows:
            lost = {name: drop for name, drop in row.drops.items() if drop is not None}
            name = max(lost, key=lambda one: (lost[one], one), default="")
            if lost and lost[name] <= 0:
                found.append(f"after {row.name}, no earlier class has lost AP")
            elif lost:
                points = f"{100 * lost[name]:.1f} points of AP, to {_cell(row.ap.get(name))}"
                found.append(f"after {row.name}, {name} has lost most: {points}")
        return found

    def kept(self) -> list[Kept]:
        """Every class that was taught so far, those that have lost most first."""
        done = max((row.task for row in self.rows), default=0)
        found = [
            Kept(
                name,
                task,
                tuple(row.ap.get(name) for row in self.rows),
                tuple(row.drops.get(name) for row in self.rows),
            )
            for task, names in enumerate(self.tasks[:done], 1)
            for name in names
        ]
        return sorted(found, key=lambda one: -_or(one.drops[-1], -math.inf))

    def taught(self) -> list[Taught]:
        """The classes of the second task and later ones that were taught so far."""
        found = []
        for task, names in enumerate(self.tasks[1:], 2):
            before = [row for row in self.rows if row.task < task]
            stages = [row for row in self.rows if row.task == task]
            found += [_taught(name, before[-1], stages) for name in names if before and stages]
        return found

    def markdown(self) -> str:
        """Table and words."""
        said = [f"- {line}" for line in self.lines()]
        head = f"# {self.benchmark}, learned in {len(self.tasks)} tasks"
        return "\n".join([head, "", self.table().markdown(), "", *said]) + "\n"

    def document(self) -> dict[str, Any]:
        """For programs, and for the figure."""
        return {"schema": SCHEMA, **asdict(self)}

    def save(self, folder: Path) -> None:
        """Write ``learned.json`` and ``learned.md``."""
        texts = {FILE: json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n"}
        for name, text in (texts | {"learned.md": self.markdown()}).items():
            with replacing(folder / name, folder=False) as part:
                part.write_text(text, "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Learned:
        """From ``learned.json``, or the folder that holds it."""
        file = Path(path) / FILE if Path(path).is_dir() else Path(path)
        try:
            held = json.loads(load_text(file))
            if held.pop("schema") != SCHEMA:
                raise ValueError(f"its schema is not {SCHEMA}")
            return msgspec.convert(held, cls)
        except InputError:
            raise
        except json.JSONDecodeError as error:
            raise refuse(
                "OS114",
                f"{file} is damaged: {error}",
                cause="a copy that was stopped, or an edit",
                fix="copy it again; or give the openset learn command of the folder again, which "
                "keeps the stages that are done",
            ) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            fix = "name a folder that openset learn wrote"
            raise refuse("OS114", f"{file} is not of openset learn: {error}", fix=fix) from error


def unlike_chains(chains: Mapping[str, Learned]) -> list[Finding]:
    """A finding for each chain whose stages are not of the first one's classes, or tests."""
    (first, own), *others = chains.items()
    return [
        Finding(
            "OS682",
            Level.WARNING,
            f"{name} and {first} {said}: their numbers are not of the same question",
            example=example,
        )
        for name, other in others
        if (found := _unlike(own, other)) is not None
        for said, example in (found,)
    ]


def _unlike(one: Learned, other: Learned) -> tuple[str, str] | None:
    """What differs in the tasks that both have; a chain may have more of them."""
    for task, (mine, theirs) in enumerate(zip(one.tasks, other.tasks, strict=False), 1):
        if {*mine} != {*theirs}:
            return f"teach other classes in task {task}", f"{', '.join(mine)}; {', '.join(theirs)}"
    tests = {row.name: row.test for row in one.rows if row.test}
    differ = [r.name for r in other.rows if r.test and tests.get(r.name, r.test) != r.test]
    if not differ:
        return None
    return f"are judged on other test files in {len(differ)} stages", f"stage {differ[0]}"


def numbers_of(result: Evaluation) -> dict[str, Number]:
    """The numbers of a row."""
    held = {name: result.values[name] for name in COLUMNS if name in result.values}
    return {
        name: {"value": one.value, "interval": one.interval, "reason": one.reason}
        for name, one in held.items()
    }


def forgotten(before: Sequence[Evaluation], now: Evaluation) -> Forgetting | None:
    """What the classes of earlier tasks have lost, by the last result of each of them."""
    # A chain knows its own test images: a benchmark may have some for each task.
    return forgetting([*before, now], force=True) if before else None


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (_cell(row.value(name), count=name in COUNTS) for name in COLUMNS)
    return (row.name, str(len(row.ap)), *numbers, _cell(row.forgetting))


def _cell(value: float | None, *, count: bool = False) -> str:
    if value is None:
        return _NONE
    return f"{value:.0f}" if count else f"{100 * value:.1f}"


def _taught(name: str, before: Row, stages: Sequence[Row]) -> Taught:
    as_known = before.called.get(name, {})
    by_count = sorted(as_known, key=lambda one: (-as_known[one], one))
    called = {one: as_known[one] for one in by_count}
    shown, last = stages[0], stages[-1]
    images, objects = (counts.get(name, 0) for counts in (shown.images_of, shown.objects))
    return Taught(name, last.task, called, images, objects, last.ap.get(name))


def _in_words(one: Taught) -> str:
    called, count = next(iter(one.called.items()))
    some = f"{count} objects of {one.label} were" if count > 1 else f"an object of {one.label} was"
    then = f"then taught by {one.objects} objects on {one.images} images"
    return f"before task {one.task}, {some} called {called}, {then}"


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
