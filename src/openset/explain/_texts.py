"""Texts: what the code itself does not say, in TOML files, one per kind of entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from openset.explain.example import Example, Result
from openset.explain.sketch import Sketch
from openset.plugins import lookup

_FOLDER = Path(__file__).with_name("texts")
_PLACE = re.compile(r"(?:Fig\. \d+|section [\d.]*\d)$")


@cache
def texts(file: str) -> Mapping[str, Mapping[str, Any]]:
    """The tables of a file, by name."""
    import tomllib

    return tomllib.loads((_FOLDER / f"{file}.toml").read_text("utf-8"))


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
