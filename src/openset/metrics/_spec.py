"""What a metric is, and what it returns.

A `Value` is a number, or None with the reason why there is none; it carries what it was counted on
and the parameters it was computed with. Nothing is ever -1, and nothing is silently 0.

Under resampling (`Matches.weights`) the number is an array with one entry per resample, NaN where
it does not exist; metrics need not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from openset.matching import Matches
from openset.matching.restricting import part
from openset.metrics._by_class import ByClass
from openset.plugins import tag
from openset.tables.sets import SETS, Which
from openset.wording import spaced

Of = Which | Literal["both", "each"]


@dataclass(frozen=True, slots=True)
class Left:
    """Something that took no part in a number.

    Attributes:
        number: How much of it.
        what: Classes, or one object, image or detection.
        why: Why not.
        of: How many classes there are; 0 of anything else.

    >>> print(Left(12, "known classes", "have no object", of=20))
    rests on 8 of 20 known classes: the others have no object
    >>> print(Left(2, "unknown object", "ignored"))
    2 unknown objects take no part: ignored
    """

    number: int
    what: str
    why: str
    of: int = 0

    def __str__(self) -> str:
        if self.of:
            return (
                f"rests on {self.of - self.number} of {self.of} {self.what}: the others {self.why}"
            )
        return f"{self.amount} {'takes' if self.number == 1 else 'take'} no part: {self.why}"

    @property
    def amount(self) -> str:
        """So many of what."""
        return f"{spaced(self.number)} {self.what}{'s' * (self.number != 1)}"


@dataclass(frozen=True, slots=True, repr=False)
class Value:
    """The outcome of a metric.

    Attributes:
        value: The number as a fraction or count, or None.
        reason: Why there is no number.
        count: What it was counted on: the first count of `rests_on`, which names it.
        params: Parameters it was computed with.
        parts: The same number broken down, by class or by level.
        interval: Ends of the 95 % interval, when one was computed.
        bias: How far the value lies too high on average in a set of this size, by its resamples;
            of resamples, what of it their mean hides.
        undefined: Share of the resamples that have no value.
        rests_on: Counts that it was made from, by name.
        left_out: What took no part in it; empty if everything did.
        step: By how much one object, detection or sample more (in groups: as many as a group has
            images) would have changed a count or a share, which says what a value of 0 could have
            missed; 0 where there is no such step.
        by_class: What it was made from, class by class, where it rests on the classes that have it.

    >>> Value.ratio(1, 4), Value.ratio(0, 0, why="no unknown object").reason
    (Value(0.25), 'no unknown object')
    """

    value: Any = None
    reason: str = ""
    count: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    interval: tuple[float, float] | None = None
    bias: float = 0.0
    undefined: float = 0.0
    step: float = 0.0
    rests_on: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[Left, ...] = ()
    by_class: ByClass | None = field(default=None, compare=False)

    @classmethod
    def ratio(cls, numerator: Any, denominator: Any, *, why: str = "", **more: Any) -> Value:
        """`numerator / denominator`, or None with the reason when there is nothing to divide by."""
        if isinstance(denominator, np.ndarray):
            with np.errstate(divide="ignore", invalid="ignore"):
                return cls(np.where(denominator == 0, np.nan, numerator / denominator), **more)
        if denominator == 0:
            return cls(None, why, **more)
        step = 1 / float(denominator)
        return cls(float(numerator / denominator), count=int(denominator), step=step, **more)

    @classmethod
    def missing(cls, reason: str, **more: Any) -> Value:
        """No number, and why."""
        return cls(None, reason, **more)

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"there is no value: {self.reason}")
        return float(self.value)

    def __repr__(self) -> str:
        if self.value is None:
            return f"Value(None, {self.reason!r})"
        ends = "" if self.interval is None else f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"
        shown = f"{self.value:.4g}" if np.ndim(self.value) == 0 else str(np.shape(self.value))
        return f"Value({shown}{ends})"

    def with_params(self, **params: Any) -> Value:
        """The same value with more parameters recorded."""
        return replace(self, params={**self.params, **params})


class Compute(Protocol):
    """A function from matches (and parameters) to a value."""

    def __call__(self, matches: Matches, /, **params: Any) -> Value: ...


class Metric(NamedTuple):
    """What is known about a metric beside its number.

    Attributes:
        name: How it is asked for.
        compute: The function.
        title: How it is shown.
        better: Which direction is an improvement, or None.
        range: Least and largest possible value (None: unbounded).
        unit: What is counted: a ``fraction``, a ``count`` or a ``score``.
        paper: Where it was defined.
        headline: Whether it belongs in the short table.
        resampled: Whether it has an interval.
        scale: On which scale resamples spread alike on both sides: ``log`` for counts and their
            ratios, which are skewed.
        of: Of two sets (`openset.tables.sets`) those it is a number of: ``both`` together, the
            ``id`` or the ``ood`` set alone, or one number of ``each``.
    """

    name: str
    compute: Compute
    title: str
    better: Literal["higher", "lower"] | None
    range: tuple[float | None, float | None]
    unit: Literal["fraction", "count", "score"]
    paper: str
    headline: bool
    resampled: bool
    scale: Literal["plain", "log"]
    of: Of = "both"

    @property
    def doc(self) -> str:
        """Definition, formula, and what it is not: the docstring of the function."""
        return (self.compute.__doc__ or "").strip()

    @property
    def summary(self) -> str:
        """The first line of the definition."""
        return self.doc.partition("\n")[0]


F = TypeVar("F", bound=Callable[..., Value])


def on_set(function: Compute, which: Which) -> Compute:
    """A function of matches that looks at one of two sets alone, where there are two."""

    @wraps(function)
    def compute(matches: Matches, /, **params: Any) -> Value:
        value = function(part(matches, which), **params)
        return value if matches.ood is None else value.with_params(set=which)

    return compute


def metric(
    name: str,
    *,
    title: str = "",
    better: Literal["higher", "lower"] | None = "higher",
    range: tuple[float | None, float | None] = (0, 1),
    unit: Literal["fraction", "count", "score"] = "fraction",
    paper: str = "",
    headline: bool = False,
    resampled: bool = True,
    scale: Literal["plain", "log"] = "plain",
    of: Of = "both",
) -> Callable[[F], F]:
    """Make a function of matches a metric, under a name."""

    def mark(function: F) -> F:
        shown = title or name.replace("_", " ")
        record = Metric(
            name=name,
            compute=on_set(function, of) if of in SETS else function,
            title=shown,
            better=better,
            range=range,
            unit=unit,
            paper=paper,
            headline=headline,
            resampled=resampled,
            scale=scale,
            of=of,
        )
        return tag("metric", record)(function)

    return mark
