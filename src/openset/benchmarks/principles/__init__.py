"""Principles: what a benchmark must hold to, one file each, checked by machine.

Five are those of RE-OWOD (Zhao et al., "Revisiting Open World Object Detection"); that detectors
may not be trained on unknown classes beforehand is from Dhamija et al. (WACV 2020), and that no
known class may hide among the unknown ones from FMIYC. A principle is a function under `principle`
from a `Bundle` to checks; a file here, or an entry point in the group
``openset.benchmarks.principles``, is all it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from openset.plugins import discover, record_of, tag

if TYPE_CHECKING:
    from openset.benchmarks.bundle import Bundle

_EXAMPLES = 5


class Verdict(StrEnum):
    """What a check found."""

    PASS = "PASS"  # noqa: S105 - not a password
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer.

    Attributes:
        what: The question, as a statement that should hold.
        where: The split that it is asked of, or empty for all.
        verdict: Whether it holds; a note decides nothing.
        said: What was found, with counts.
        count: How many records are wrong.
        examples: The first of them.
        images: All images that it concerns, where they are to be looked at.
        fix: What to do, where it is not what the principle says.
    """

    what: str
    verdict: Verdict
    said: str
    count: int = 0
    examples: tuple[str, ...] = ()
    where: str = ""
    images: tuple[str, ...] = ()
    fix: str = ""


Checker = Callable[["Bundle"], Iterable[Check]]


@dataclass(frozen=True, slots=True)
class Principle:
    """What is known about a principle.

    Attributes:
        name: How it is asked for.
        title: A few words.
        order: Place in reports.
        fix: What to do where it is broken.
        check: The function.
    """

    name: str
    title: str
    order: int
    fix: str
    check: Checker

    @property
    def summary(self) -> str:
        """The first line of its definition."""
        return (self.check.__doc__ or "").strip().partition("\n")[0]


def principle(name: str, title: str, order: int, *, fix: str) -> Callable[[Checker], Checker]:
    """Make a function a principle, under a name, with what to do where it is broken."""
    return lambda check: tag("principle", Principle(name, title, order, fix, check))(check)


def principles() -> Mapping[str, Principle]:
    """All principles by name, in the order of reports."""
    records = [record_of(target) for target in discover(__name__, "principle").values()]
    return {record.name: record for record in sorted(records, key=lambda r: (r.order, r.name))}


def passed(what: str, said: str) -> Check:
    """It holds."""
    return Check(what, Verdict.PASS, said)


def unknown(what: str, said: str) -> Check:
    """It cannot be told."""
    return Check(what, Verdict.UNKNOWN, said)


def note(what: str, said: str, count: int = 0) -> Check:
    """Worth knowing."""
    return Check(what, Verdict.NOTE, said, count)


def failed(what: str, said: str, count: int, examples: Sequence[Any] = ()) -> Check:
    """It does not hold, for so many records."""
    return Check(what, Verdict.FAIL, said, count, tuple(map(str, examples[:_EXAMPLES])))


def of_split(split: str, checks: Iterable[Check]) -> Iterator[Check]:
    """Checks that were asked of one split."""
    return (replace(check, where=split) for check in checks)
