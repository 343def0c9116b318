"""Here: in this process, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from openset.engines._spec import engine


@engine("here")
def here(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """One after another, in this process."""
    return [function(item) for item in items]
