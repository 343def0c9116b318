"""Parts: how verbs that write a folder of parts are asked for it, and what they say of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openset.cli._console import Answer
from openset.wording import spaced

if TYPE_CHECKING:
    from openset.engines import Engine, Shard
    from openset.formats.parts import Parts

SUFFIX = ".parts"


class Into(NamedTuple):
    """A folder of parts to write.

    Attributes:
        folder: Where.
        per_part: Images of a part; None for the usual number.
        shard: Which of the parts to make, as it was typed; None for all.
        engine: Where they are made; None for here.
    """

    folder: Path
    per_part: int | None = None
    shard: str | None = None
    engine: Engine | None = None

    @property
    def share(self) -> Shard | None:
        """Which of the parts to make."""
        from openset.engines import Shard

        return None if self.shard is None else Shard.of(self.shard)


def answer(parts: Parts, made: int) -> Answer:
    """What there is now, of which so many parts were made just now, and what to type next."""
    where = shlex.quote(str(parts.folder))
    following = "" if parts.missing else f"\nnext: openset evaluate GT {where}"
    return Answer(said(parts, made) + following, lambda: document(parts, made))


def said(parts: Parts, made: int) -> str:
    """The same, without what to do next."""
    text = f"made {spaced(made)} of {spaced(len(parts))} parts of {parts.folder}"
    if parts.missing:
        missing = spaced(len(parts.missing))
        return f"{text}\n  {missing} are missing: give the command again, or wait for other shards"
    rows = spaced(sum(part.rows for part in parts.manifest.parts))
    images = spaced(sum(map(len, parts.images)))
    lost = f", of which {spaced(len(parts.skipped))} cannot be decoded" if parts.skipped else ""
    return f"{text}\n  all are done: {rows} {parts.kind} on {images} images{lost}"


def document(parts: Parts, made: int) -> dict[str, Any]:
    """The same for programs."""
    return {
        "out": str(parts.folder),
        "parts": len(parts),
        "made": made,
        "missing": parts.missing,
        "rows": sum(part.rows for part in parts.manifest.parts),
        "skipped": parts.skipped,
        "about": parts.manifest.about,
    }
