"""What an integration is: a function or class for one tool, and which packages it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from openset.plugins import tag

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Integration:
    """What is known about an integration.

    Attributes:
        name: How the tool is called.
        use: What to call; what it takes is the tool's.
        requires: Packages that whoever calls it has.
        summary: What it does, in a line.
    """

    name: str
    use: Callable[..., Any]
    requires: tuple[str, ...]
    summary: str

    @property
    def installed(self) -> bool:
        """Whether all packages are there; none is imported to find out."""
        return all(find_spec(package) is not None for package in self.requires)


def integration(name: str, *, requires: tuple[str, ...], summary: str) -> Callable[[T], T]:
    """Make a function or class an integration, under the name of a tool."""

    def mark(use: T) -> T:
        return tag("integration", Integration(name, use, requires, summary))(use)

    return mark
