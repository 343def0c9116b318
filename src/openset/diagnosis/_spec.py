"""Questions: what can be asked of a detector at its operating point, found by discovery.

A file of this package answers a question: a function of a `Deployed` with the decorator `question`.
Its docstring says in a line what it is. What it returns is a `Diagnosis`: rows that show as a
table, in an order that may be cut, and notes that belong below them.

Not a metric: an answer has no direction and no interval.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from openset.plugins import tag
from openset.render import Table
from openset.wording import short

if TYPE_CHECKING:
    from openset.diagnosis.deployed import Deployed

Row = dict[str, Any]
LONGEST_CELL = 40


class Diagnosis(ABC):
    """An answer: rows with the same keys, the most telling first, and what to know beside them."""

    __slots__ = ()

    @abstractmethod
    def rows(self) -> Sequence[Row]:
        """The rows, as values."""

    def notes(self) -> Sequence[str]:
        """What belongs below the rows."""
        return ()

    def table(self, most: int | None = None) -> Table:
        """The first `most` rows, all by default; a note counts those that are left out."""
        rows = self.rows()
        shown, head = rows[:most], tuple(rows[0]) if rows else ("",)
        cells = tuple(tuple(_cell(row[name]) for name in head) for row in shown)
        hidden = len(rows) - len(shown)
        more = [f"and {hidden} more row{'s' if hidden > 1 else ''}"] if hidden else []
        titles = tuple(name.replace("_", " ") for name in head)
        return Table(titles, cells or (("(nothing)",),), (*more, *self.notes()))

    def __str__(self) -> str:
        return self.table().text()


def _cell(value: object) -> str:
    if value is None:
        return "–"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_CELL else short(text, LONGEST_CELL)


class Question(NamedTuple):
    """What is known about a question beside its answer.

    Attributes:
        name: How it is asked for.
        ask: The function.
        title: How it is shown.
        paper: Where it was defined.
        reads: The fields of the `View` that change its answer.
    """

    name: str
    ask: Callable[[Deployed], Diagnosis]
    title: str
    paper: str
    reads: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        return (self.ask.__doc__ or "").strip().partition("\n")[0]


F = TypeVar("F", bound=Callable[..., Diagnosis])


def question(
    name: str, *, title: str = "", paper: str = "", reads: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Make a function of a `Deployed` a question, under a name."""

    def mark(function: F) -> F:
        record = Question(name, function, title or name.replace("_", " "), paper, reads)
        return tag("question", record)(function)

    return mark
