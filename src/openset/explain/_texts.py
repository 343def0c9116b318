"""Texts: what the code itself does not say, in TOML files, by kind of entry.

A file's name begins with the kind of its entries: ``terms.toml``, or ``terms-anything.toml``, here
or in another package. A table is an entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from openset.explain.example import Example, Result
from openset.explain.sketch import Sketch
from openset.findings import UsageError
from openset.plugins import Documents, documents, lookup, only

_PLACE = re.compile(r"(?:Fig\. \d+|section [\d.]*\d)$")
Tables = Mapping[str, Mapping[str, Any]]
# The kinds of files, and what their tables cannot do without.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "metrics": (),
    "protocols": (),
    "errors": (),
    "taxonomy": ("summary", "asks", "valid", "invalid"),
    "terms": ("summary",),
    "sketches": ("about", "tasks", "images"),
    "papers": ("citation", "names"),
}


@cache
def texts(kind: str) -> Tables:
    """The tables of all files of a kind, by name."""
    homes: dict[str, list[str]] = {}
    for file in _files():
        if _kind(file) == kind:
            for name in _files()[file]:
                homes.setdefault(name, []).append(file)
    return {name: _files()[only("entry", name, files)][name] for name, files in homes.items()}


def _kind(file: str) -> str:
    start = file.partition("-")[0]
    lookup(_NEEDED, start, f"kind of entries, with which the name of {file}.toml must begin:")
    return start


@cache
def _files() -> Documents[Tables]:
    return documents("openset.explain.texts", _tables)


def _tables(path: Path) -> Tables:
    import tomllib

    found = tomllib.loads(path.read_text("utf-8"))
    for name, table in found.items():
        needed = _NEEDED[_kind(path.stem)]
        if not isinstance(table, dict) or not table.keys() >= set(needed):
            raise UsageError(f"{name!r} must be a table with the keys of its kind: {needed}")
    return found


def common(text: Mapping[str, Any], function: str = "", part: str = "") -> dict[str, Any]:
    """The fields that any entry may have in its text, as arguments of `Entry`.

    Args:
        text: The entry's table.
        function: What the results of its example are computed with, unless they say.
        part: Which number of a diagnosis they are, unless they say.
    """
    example = text.get("example")
    return {
        "aliases": tuple(text.get("aliases", ())),
        "formula": text.get("formula", ""),
        "example": None if example is None else _example(example, function, part),
        "variants": tuple(text.get("variants", {}).items()),
        "avoid": tuple(text.get("avoid", ())),
        "see": tuple(text.get("see", ())),
    }


def _example(text: Mapping[str, Any], function: str, part: str) -> Example:
    results = tuple(_result(result, function, part) for result in text["results"])
    return Example(sketch(text["sketch"]), text["text"].strip(), results)


def _result(text: Mapping[str, Any], function: str, part: str) -> Result:
    own = {"value", "function", "part", "protocol"}
    options = {name: value for name, value in text.items() if name not in own}
    used = text.get("function", function)
    return Result(
        text.get("value"),
        used,
        text.get("part", part if used == function else ""),
        text.get("protocol", "default"),
        options,
    )


def sketch(name: str) -> Sketch:
    """A sketch by name."""
    text = lookup(texts("sketches"), name, "sketch")
    return Sketch(
        name,
        text["about"],
        tuple(map(tuple, text["tasks"])),
        tuple(text["images"]),
        tuple(map(tuple, text.get("similar", ()))),
    )


def citations(source: str) -> tuple[str, ...]:
    """Full citations of the papers that a text names.

    >>> citations("Hoiem et al., ECCV 2012")
    ('Hoiem, Chodpathumwan and Dai. Diagnosing Error in Object Detectors. ECCV 2012.',)
    """
    place = _PLACE.search(source)
    end = f" {place.group()}." if place else ""
    papers = texts("papers").values()
    return tuple(p["citation"] + end for p in papers if any(name in source for name in p["names"]))
