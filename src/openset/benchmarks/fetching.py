"""Fetching: which files a benchmark needs, which of them are there and whole, where the rest is.

Only files whose terms allow it are downloaded, by pooch, and only when asked for; for the others
there is the address and the licence. The digits world is made on the spot. Archives are not
unpacked, and images are never fetched: annotations are all that a build reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path

from openset.benchmarks import sources as files
from openset.benchmarks.definition import (
    Benchmark,
    Source,
    dictionaries,
    image_lists,
    list_folders,
)
from openset.benchmarks.rules.listed import place_of
from openset.benchmarks.taxonomy import other_version
from openset.findings import InputError, UsageError, refuse
from openset.wording import listed

Say = Callable[[str], None]
_HOME = re.compile(r"github\.com/[\w.-]+/[\w.-]+")


class Presence(StrEnum):
    """How a source is."""

    THERE = "there"
    MISSING = "missing"
    WRONG = "wrong"


@dataclass(frozen=True)
class FoundSource:
    """A source of a benchmark and how it is.

    Attributes:
        name: Its name.
        path: Where it is, or where it should be.
        state: Whether it is there and whole.
        why: What is wrong with it.
        source: Its definition.
    """

    name: str
    path: Path
    state: Presence
    source: Source
    why: str = ""

    @property
    def checksum(self) -> str:
        """What is known of its bytes; nothing is said of what is absent or wrong."""
        if self.state is not Presence.THERE:
            return ""
        return "verified" if self.source.sha256 else "not verified: none is known"


def look(benchmark: Benchmark, folder: Path) -> list[FoundSource]:
    """Every source of a benchmark, and whether it is there and whole; and its lists."""
    found = [_item(benchmark, name, folder) for name in files.needed(benchmark)]
    return found + _lists(benchmark, folder)


def _lists(benchmark: Benchmark, folder: Path) -> list[FoundSource]:
    """The image lists that the splits are made from, as one; nothing where rules need none."""
    names = image_lists(benchmark)
    if not names:
        return []
    folders = list_folders(benchmark, folder)
    places = {name: place_of(name, folders) for name in names}
    there = [path.parent for path in places.values() if path is not None]
    where = [*there, *folders[1:], folder][0]
    home = _HOME.search(benchmark.licence)
    source = Source(
        path=[*names], licence=benchmark.licence, url=f"https://{home[0]}" if home else ""
    )
    empty = [name for name, path in places.items() if path and not path.stat().st_size]
    lost = [name for name, path in places.items() if path is None]
    if not (empty or lost):
        return [FoundSource("image lists", where, Presence.THERE, source)]
    state, which = (Presence.MISSING, lost) if lost else (Presence.WRONG, empty)
    why = f"{len(which)} of {len(names)} image lists {'are not there' if lost else 'have 0 bytes'}"
    return [FoundSource("image lists", where, state, source, f"{why}: {listed(which)}")]


def _expected(benchmark: Benchmark, name: str) -> int:
    """How many pictures a source must have at least: those of the largest split of it alone."""
    alone = (split for split in benchmark.splits.values() if tuple(split.sources) == (name,))
    counts = [split.expect.get("images", 0) for split in alone]
    return max((max(n) if isinstance(n, list) else n for n in counts), default=0)


def _item(benchmark: Benchmark, name: str, folder: Path) -> FoundSource:
    source = benchmark.sources[name]
    path = next((folder / p for p in source.path if (folder / p).exists()), None)
    if path is None:
        why = files.unpacked_from(source, folder)
        return FoundSource(name, folder / source.path[0], Presence.MISSING, source, why)
    digest = files.fingerprint(path) if source.sha256 else ""
    try:
        files.verify(name, source, path, digest)
    except InputError as error:
        return FoundSource(name, path, Presence.WRONG, source, error.findings[0].message)
    if lacks := files.lacking(source, path, _expected(benchmark, name)):
        return FoundSource(name, path, Presence.WRONG, source, f"{path} {lacks}")
    if path.name in dictionaries(benchmark, own=False) and (other := other_version(path)):
        return FoundSource(name, path, Presence.WRONG, source, f"{path} {other}")
    return FoundSource(name, path, Presence.THERE, source)


def fetch(
    benchmark: Benchmark, folder: Path, *, say: Say = lambda words: None
) -> list[FoundSource]:
    """Make or download what may be, and look again.

    Args:
        benchmark: The benchmark.
        folder: Where the files are to lie.
        say: Called with a few words before each step.
    """
    if benchmark.world is not None:
        say("making the world")
        _make_world(benchmark, folder)
    for item in look(benchmark, folder):
        if item.state is not Presence.THERE and item.source.download:
            say(f"downloading {item.path.name}")
            _download(item)
    return look(benchmark, folder)


def _make_world(benchmark: Benchmark, folder: Path) -> None:
    from openset.worlds.digits import DigitsWorld

    try:
        world = DigitsWorld(**(benchmark.world or {}))
    except TypeError as error:
        raise refuse("OS901", f"world of {benchmark.name}: {error}") from error
    world.write(folder)


def _download(item: FoundSource) -> None:
    try:
        pooch = import_module("pooch")
    except ImportError as error:
        raise UsageError("downloading needs a package: pip install pooch") from error
    known = f"sha256:{item.source.sha256}" if item.source.sha256 else None
    item.path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # pooch writes to a temporary file and checks it before it takes its name.
        pooch.retrieve(item.source.url, known, fname=item.path.name, path=item.path.parent)
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise refuse("OS903", f"cannot download {item.source.url}: {why}") from error
