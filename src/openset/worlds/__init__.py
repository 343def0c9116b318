"""Worlds: scenes with known and unknown objects, made from a seed and nothing else.

A world is a frozen set of parameters. It gives scenes (`scene`), their ground truth
(`annotations`), the roles of its labels (`vocabulary`), and writes itself as images and COCO files
(`write`). `table()` lists all worlds, built in or from third parties (entry points in the group
``openset.worlds``). Adding a world is adding a file.
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.plugins import records
from openset.worlds._spec import World, world

__all__ = ["World", "table", "world"]


def table() -> Mapping[str, World]:
    """Every world, by name, in the order of the files they live in."""
    return records(__name__, "world")
