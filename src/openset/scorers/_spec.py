"""What a scorer is: a function from detections to unknownness, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.plugins import tag
from openset.tables import Detections

Unknownness = NDArray[np.float64]
Column = Literal["logits", "embedding", "score"]


class Compute(Protocol):
    """A function from detections (and options) to one unknownness each."""

    def __call__(self, detections: Detections, /, **options: object) -> Unknownness: ...


@dataclass(frozen=True, slots=True)
class Scorer:
    """What is known about a scorer beside its numbers.

    Attributes:
        name: How it is asked for.
        compute: The function; larger = more unknown.
        title: How it is shown.
        paper: Where it was defined.
        requires: Columns of the detections it reads; it refuses detections without them.
    """

    name: str
    compute: Compute
    title: str
    paper: str
    requires: tuple[Column, ...]

    @property
    def doc(self) -> str:
        """Definition and options: the docstring of the function."""
        return (self.compute.__doc__ or "").strip()

    @property
    def summary(self) -> str:
        """The first line of the definition."""
        return self.doc.partition("\n")[0]


def scorer(
    name: str, *, title: str = "", paper: str = "", requires: tuple[Column, ...] = ("logits",)
) -> Callable[[Callable[..., Unknownness]], Callable[..., Unknownness]]:
    """Make a function of detections a scorer, under a name."""

    def mark(function: Callable[..., Unknownness]) -> Callable[..., Unknownness]:
        @wraps(function)
        def checked(detections: Detections, /, **options: object) -> Unknownness:
            _refuse_missing(name, detections, requires)
            return function(detections, **options)

        record = Scorer(name, checked, title or name.replace("_", " "), paper, requires)
        return tag("scorer", record)(checked)

    return mark


def _refuse_missing(name: str, detections: Detections, requires: tuple[Column, ...]) -> None:
    for column in requires:
        if getattr(detections, column) is None:
            raise UsageError(f"scorer {name!r} reads {column}, but the detections have none")
