"""Local: in this process, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from openset.engines._spec import engine


@engine("local")
def local(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int | None
) -> Iterator[Any]:
    """One after another, in this process."""
    return map(function, items)
