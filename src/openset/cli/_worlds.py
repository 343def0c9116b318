"""Worlds on the command line: ``openset build digits`` makes images and truth from a seed."""

from __future__ import annotations

from dataclasses import asdict, fields
from inspect import signature
from pathlib import Path
from typing import Any

from openset.cli._console import Answer, Output
from openset.cli._engine import Where


def is_world(name: str) -> bool:
    """Whether a name is that of a world, which is made and needs no files."""
    from openset.worlds import table

    return name in table()


def made(name: str, out: Path, options: dict[str, Any], where: Where, output: Output) -> Answer:
    """Make a world, or go on with one that was interrupted."""
    from openset.plugins import lookup
    from openset.worlds import table

    make = table()[name].make
    for key in options:
        lookup({item.name: None for item in fields(make)}, key, f"option of the world {name!r}:")
    world = make(**options)
    place: dict[str, Any] = {}
    if "engine" in signature(make.write).parameters:
        place = {"engine": where.chosen()}
    else:
        where.refuse(f"the world {name} is written in one process")
    with output.track(world.images) as at:
        # A world in tasks has as many images for each.
        said = lambda done, of: at(done * world.images // of, "images")  # noqa: E731
        world.write(out, progress=said, **place)
    splits = _splits(out)
    return Answer(
        _text(name, out, splits),
        lambda: {"out": str(out), "world": name, "parameters": asdict(world), "splits": splits},
    )


def _splits(out: Path) -> dict[str, dict[str, int]]:
    """Counts of images and objects by split, from the files as they are."""
    from openset.formats import read_annotations

    found = {}
    for path in sorted(out.glob("*.json")):
        if path.stem != "world":
            truth = read_annotations(path)
            known = sum(truth.role[label] == "known" for label in truth.label.tolist())
            counts = {"known": known, "unknown": len(truth) - known}
            found[path.stem] = {"images": len(truth.images), **counts}
    return found


def _text(name: str, out: Path, splits: dict[str, dict[str, int]]) -> str:
    from openset.render import Table
    from openset.training import Recipe

    rows = tuple((split, *map(str, counts.values())) for split, counts in splits.items())
    table = Table(("split", "images", "known objects", "unknown objects"), rows).text()
    lines = [table, f"wrote {out}: the world {name}"]
    if f"{name}-tasks" in Recipe.presets() and "train" not in splits:
        lines.append(f"next: openset learn {out} -o learned")
    elif f"{name}-small" in Recipe.presets():
        lines.append(f"next: openset train {name}-small {out} -o model")
    return "\n".join(lines)
