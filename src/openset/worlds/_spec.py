"""What a world is: a class whose instances make scenes with unknown objects in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from openset.plugins import tag

T = TypeVar("T", bound=type)


@dataclass(frozen=True, slots=True)
class World:
    """What is known about a world beside its scenes.

    Attributes:
        name: How it is asked for.
        make: The class; its fields are the parameters, all with defaults.
    """

    name: str
    make: Any

    @property
    def doc(self) -> str:
        """Definition and parameters: the docstring of the class."""
        return (self.make.__doc__ or "").strip()

    @property
    def summary(self) -> str:
        """The first line of the definition."""
        return self.doc.partition("\n")[0]


def world(name: str) -> Callable[[T], T]:
    """Make a class a world, under a name."""

    def mark(make: T) -> T:
        return tag("world", World(name, make))(make)

    return mark
