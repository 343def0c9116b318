"""What an engine is: a function that applies another to many items, and what fails on the way.

Failures are the same under every engine because no engine handles them: it is handed a function
that gives bad input back as a value, and `Engine.map` raises what was gathered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from openset.findings import InputError, UsageError, raise_all
from openset.plugins import tag

T = TypeVar("T")
R = TypeVar("R")
Done = Callable[[int], None]
F = TypeVar("F", bound=Callable[..., Iterable[Any]])


@dataclass(frozen=True, slots=True)
class _Failed:
    """What is wrong with one item; a type of its own, since a result may be an error, too."""

    error: InputError


@dataclass(frozen=True, slots=True)
class Engine:
    """A place where work runs.

    Attributes:
        name: How it is asked for.
        apply: From a function, a list of items and a number of workers to the results, in the order
            of the items; any iterable of them.
        doc: What it does.
        workers: How many at a time; None leaves it to the engine.
    """

    name: str
    apply: Callable[..., Iterable[Any]]
    doc: str
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"there must be at least 1 worker, not {self.workers}")

    @property
    def summary(self) -> str:
        """The first line of what it does."""
        return self.doc.partition("\n")[0]

    def map(
        self, function: Callable[[T], R], items: Iterable[T], done: Done | None = None
    ) -> list[R]:
        """The results of a function on each of some items, in their order; see `each`."""
        return list(self.each(function, items, done))

    def each(
        self, function: Callable[[T], R], items: Iterable[T], done: Done | None = None
    ) -> Iterator[R]:
        """The same, each when it is there, so that nobody need hold all of them.

        Args:
            function: What to do with an item. It may run at the same time as others.
            items: The items, independent of each other.
            done: Called with the number of results that are there.

        Raises:
            InputError: Some inputs cannot be used. Every item was tried; each finding is named
                once, in the order of the items, behind the results of the others.
            Exception: Any other, of the first item that has one; later items may not be tried.
        """
        failures: list[InputError] = []
        results = self.apply(partial(_tried, function), list(items), self.workers)
        for number, one in enumerate(results, start=1):
            if done is not None:
                done(number)
            if isinstance(one, _Failed):
                failures.append(one.error)
            else:
                yield one
        raise_all(failures)


def _tried(function: Callable[[Any], Any], item: Any) -> Any:
    try:
        return function(item)
    except InputError as error:
        return _Failed(error)


def engine(name: str) -> Callable[[F], F]:
    """Make a function an engine, under a name.

    It takes a function, a list and a number of workers or None, and gives the results in the order
    of the list. It leaves exceptions alone; of several, that of the first item must come out.
    """

    def mark(apply: F) -> F:
        return tag("engine", Engine(name, apply, inspect.cleandoc(apply.__doc__ or "")))(apply)

    return mark
