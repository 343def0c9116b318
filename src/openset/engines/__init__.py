"""Engines: where independent pieces of work run, with the same answer wherever that is.

``find("threads").map(function, items)`` gives a list of results in the order of the items. Under
every engine, all items are tried, and what is wrong with any of the inputs is said at once. Adding
an engine is adding a file; `table()` lists them, those of other packages too (entry points in the
group ``openset.engines``).

>>> find("local").map(len, ["a", "bb"])
[1, 2]
>>> find("threads").map(lambda work: work(), [lambda: 1, lambda: "of another kind"])
[1, 'of another kind']

Not a scheduler: no work waits for other work, and only what was lost is tried twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from openset.engines._spec import Done, Engine, engine
from openset.engines.shards import Shard
from openset.plugins import lookup, records

__all__ = ["Done", "Engine", "Shard", "beside", "engine", "find", "table"]

LOCAL = "local"
BESIDE = 2  # one computes while the other reads or writes; more would hold as much again


def table() -> Mapping[str, Engine]:
    """Every engine, by name."""
    return records(__name__, "engine")


def find(name: str, workers: int | None = None) -> Engine:
    """The engine of a name, or an error that suggests one; with so many workers."""
    return replace(lookup(table(), name, "engine"), workers=workers)


def beside(engine: Engine | None) -> Engine:
    """Where what comes back from an engine is put together: in this process.

    Two pieces at a time, if the engine does several at a time; one if it does not.

    >>> beside(find("processes", 4)).name, beside(find("local")).name, beside(None).name
    ('threads', 'local', 'local')
    """
    if engine is None or engine.name == LOCAL or engine.workers == 1:
        return find(LOCAL)
    return find("threads", BESIDE)
