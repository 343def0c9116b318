"""Engines on the command line: the options of all verbs whose work is independent pieces."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.engines import Engine

_ENGINE = """Where pieces of the work, such as parts, are done: local, threads, processes, ray;
see `openset list engines`. The answer is the same to the byte."""
_ADDRESS = """The Ray cluster to join, such as auto or 10.0.0.1:6379; without it, --engine ray
starts one here."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Where:
    """Where a verb works."""

    engine: Annotated[str | None, Parameter(help=_ENGINE)] = None
    workers: Annotated[
        int | None,
        Parameter(help="How many at a time; by default as many as there are cores."),
    ] = None
    address: Annotated[str | None, Parameter(help=_ADDRESS)] = None

    def chosen(self) -> Engine | None:
        """The engine that was asked for, or None for none.

        An address is told to Ray in its own way, which its workers hear too.
        """
        from openset.engines import find

        if self.address is not None:
            if self.engine != "ray":
                raise UsageError("--address is that of a Ray cluster: --engine ray")
            os.environ["RAY_ADDRESS"] = self.address
        if self.engine is None and self.workers is not None:
            raise UsageError("--workers belongs to an engine: --engine processes")
        return None if self.engine is None else find(self.engine, self.workers)

    def refuse(self, why: str) -> None:
        """Refuse an engine where there are no pieces to share."""
        if self.chosen() is not None:
            raise UsageError(f"--engine {self.engine}: {why}")
