"""Benchmarks: defined by TOML files, built from official annotation files, audited by machine.

`table()` lists the catalogue, `load` reads a definition, `build` makes the COCO files of its splits
and `audit` says what is wrong with a benchmark. Adding a benchmark is adding a TOML file to
``catalogue/``, a rule a file to ``rules/``, a principle a file to ``principles/``; each may also be
behind an entry point, in a group such as ``openset.benchmarks.catalogue``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from openset.late import late

if TYPE_CHECKING:
    from openset.benchmarks.auditing import audit
    from openset.benchmarks.building import build
    from openset.benchmarks.definition import Benchmark, load

__all__ = ["Benchmark", "CatalogueEntry", "audit", "build", "files", "load", "table"]
__getattr__ = late(
    __name__,
    {"Benchmark": "definition", "load": "definition", "build": "building", "audit": "auditing"},
)


@cache
def files() -> Mapping[str, Path]:
    """The catalogue: TOML files by name."""
    from openset.plugins import documents

    return documents("openset.benchmarks.catalogue", Path)


@dataclass(frozen=True)
class CatalogueEntry:
    """A benchmark of the catalogue, as it is listed.

    Attributes:
        benchmark: Its definition.
    """

    benchmark: Benchmark

    @property
    def summary(self) -> str:
        """What it is, its sizes and its sources."""
        parts = [self.benchmark.summary, self._sizes(), self._variants()]
        if self.requires:
            parts.append(f"from {', '.join(self.requires)}")
        return "; ".join(filter(None, parts))

    @property
    def paper(self) -> str:
        """Where it was published."""
        return self.benchmark.paper

    @property
    def requires(self) -> tuple[str, ...]:
        """The files that it is made from."""
        sources = self.benchmark.sources.values()
        return tuple(dict.fromkeys(source.path[0].rpartition("/")[2] for source in sources))

    def _sizes(self) -> str:
        splits = self.benchmark.unrolled().items()
        counts = [f"{name} {split.expect['images']}" for name, split in splits if split.expect]
        return f"images: {', '.join(counts)}" if counts else ""

    def _variants(self) -> str:
        variants = self.benchmark.variants
        return f"variants: {', '.join(variants)}" if variants else ""


def table() -> Mapping[str, CatalogueEntry]:
    """Every benchmark of the catalogue, by name."""
    from openset.benchmarks.definition import load

    return {name: CatalogueEntry(load(name)) for name in files()}
