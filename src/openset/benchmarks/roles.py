"""Roles: the classes of a benchmark, resolved to labels, task by task.

The definition says *how* classes are chosen (lists, rules); here are the names. A class that is
listed twice, under whichever spelling, is refused: it would be known and unknown at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from openset.benchmarks.definition import Benchmark, ClassSet
from openset.benchmarks.pool import Universe
from openset.benchmarks.rules import class_set
from openset.findings import refuse
from openset.tables import Vocabulary
from openset.tables.vocabulary import SAME_CLASS, Role

Synonyms = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Roles:
    """Who is known from which task on, who is unknown to the end, who is ignored.

    Attributes:
        tasks: The classes that each task adds.
        unknown: Classes stated to be unknown, beside those of later tasks.
        ignored: Classes that do not count.
        rest: Role of every other label.
        synonyms: Groups of names that are one class.
    """

    tasks: tuple[tuple[str, ...], ...]
    unknown: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    rest: Role = Role.UNKNOWN
    synonyms: Synonyms = SAME_CLASS

    @property
    def listed(self) -> tuple[str, ...]:
        """Every label that is named, in order."""
        return (*chain.from_iterable(self.tasks), *self.unknown, *self.ignored)

    def at(self, task: int, name: str = "") -> Vocabulary:
        """Roles at a task: later classes are unknown."""
        later = chain.from_iterable(self.tasks[task:])
        return Vocabulary(
            tasks=self.tasks[:task],
            unknown=frozenset((*later, *self.unknown)),
            ignored=frozenset(self.ignored),
            rest=self.rest,
            synonyms=self.synonyms,
            name=name,
        )

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "tasks": [list(task) for task in self.tasks],
            "unknown": list(self.unknown),
            "ignored": list(self.ignored),
            "rest": str(self.rest),
            "synonyms": [list(group) for group in self.synonyms],
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Roles:
        """From JSON."""
        return cls(
            tasks=tuple(map(tuple, document["tasks"])),
            unknown=tuple(document["unknown"]),
            ignored=tuple(document["ignored"]),
            rest=Role(document["rest"]),
            synonyms=tuple(map(tuple, document["synonyms"])),
        )


def spelling(benchmark: Benchmark) -> Vocabulary:
    """What reduces names to what all spellings of a class share."""
    return Vocabulary(tasks=(), synonyms=SAME_CLASS + tuple(map(tuple, benchmark.synonyms)))


def resolve(benchmark: Benchmark, universe: Universe) -> Roles:
    """The roles that a definition means."""
    classes = benchmark.classes
    tasks = tuple(class_set(universe, step) for step in classes.steps())
    unknown = _left(universe, classes.unknown, chain.from_iterable(tasks))
    roles = Roles(
        tasks=tasks,
        unknown=unknown,
        ignored=_left(universe, classes.ignored, chain(*tasks, unknown)),
        rest=Role(classes.rest),
        synonyms=universe.spelling.synonyms,
    )
    if both := overlaps(roles):
        name, here, there = both[0]
        raise refuse(
            "OS905",
            f"{len(both)} classes of {benchmark.name} have two roles",
            count=len(both),
            example=f"{name!r} is {here} and {there}",
        )
    return roles


def _left(universe: Universe, which: ClassSet, taken: Iterable[str]) -> tuple[str, ...]:
    """A set of classes; of one that a rule describes, those without another role.

    ``unknown = {supercategory = ["animal"]}`` means the animals that are not taught.
    """
    found = class_set(universe, which)
    if isinstance(which, list):
        return found
    others = set(map(universe.spelling.key, taken))
    return tuple(name for name in found if universe.spelling.key(name) not in others)


def overlaps(roles: Roles) -> list[tuple[str, str, str]]:
    """Classes that are listed twice: the name, and where both times."""
    places: list[tuple[str, Sequence[str]]] = [
        *((f"known in task {number}", task) for number, task in enumerate(roles.tasks, 1)),
        ("unknown", roles.unknown),
        ("ignored", roles.ignored),
    ]
    key = Vocabulary(tasks=(), synonyms=roles.synonyms).key
    seen: dict[str, str] = {}
    found = []
    for place, names in places:
        for name in names:
            if key(name) in seen:
                found.append((name, seen[key(name)], place))
            seen.setdefault(key(name), place)
    return found
