"""Two lists: COCO ground truth with its annotations twice, of which JSON readers keep the last.

Half of the objects would be gone, and every number be plausible. One look for the key costs next to
nothing; only a file that has it twice, perhaps inside of a text, is looked at again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openset.files import load
from openset.refusals import undecodable

_KEY = "annotations"
_PIECE = 1 << 17


def refuse_two_lists(source: Path | bytes, where: str) -> None:
    """Refuse a ground truth that has two lists of annotations."""
    if not _named_twice(source):
        return
    text = (load(source) if isinstance(source, Path) else source).decode("utf-8-sig", "replace")
    try:
        document = json.loads(text, object_pairs_hook=_counted)
    except (ValueError, RecursionError):  # said by who reads it
        return
    if isinstance(document, _Counted) and document.twice:
        raise undecodable(
            where,
            f"it has two lists of {_KEY}, of which one would be lost",
            cause="two files were joined as text",
            fix="openset select A.json B.json -o BOTH.json joins the files themselves",
        )


class _Counted(dict[str, Any]):
    """An object of JSON that knows whether it had annotations twice."""

    twice = False


def _counted(pairs: list[tuple[str, Any]]) -> _Counted:
    held = _Counted(pairs)
    held.twice = sum(key == _KEY for key, _ in pairs) > 1
    return held


def _named_twice(source: Path | bytes) -> bool:
    key = f'"{_KEY}"'.encode()
    if isinstance(source, bytes):
        return source.count(key) > 1
    found, rest = 0, b""
    try:
        with source.open("rb") as stream:
            while found < 2 and (data := stream.read(_PIECE)):
                found += (rest + data).count(key)
                rest = data[1 - len(key) :]  # too short for a key that was counted
    except OSError:  # said by who reads it
        return False
    return found > 1
