"""Tiers: how near the unknown objects of an image are to what a detector was taught.

FMIYC tells near, far and farther sets of images apart, by hand or by WordNet. Here they are one
split with an image column, `TIER`, so that one file holds all of them and an evaluation takes them
apart (``--by tier``). The nearest class that an image shows decides, as in the paper: an image with
a near object and a far one is near. An image that is in no tier has an empty name there.

Not how similar classes are: see `openset.benchmarks.taxonomy` and the class rule ``tier``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.pool import are_called
from openset.findings import refuse
from openset.plugins import lookup
from openset.tables import Annotations, Vocabulary

TIER = "tier"
NONE = ""


def with_tiers(table: Annotations, tiers: Mapping[str, NDArray[np.bool_]]) -> Annotations:
    """The table with the image column of tiers.

    Args:
        table: The images.
        tiers: Which of them belong to a tier, the nearest first; the first counts.
    """
    column = np.full(len(table.images), NONE, f"U{max(map(len, tiers))}")
    for name in reversed(list(tiers)):
        column[tiers[name]] = name
    empty = [name for name in tiers if not (column == name).any()]
    if empty:
        raise refuse("OS906", f"tier {empty[0]!r} has no image", count=len(empty), example=empty[0])
    images = replace(table.images, attributes={**table.images.attributes, TIER: column})
    return replace(table, images=images)


def showing(table: Annotations, labels: Iterable[str], spelling: Vocabulary) -> NDArray[np.bool_]:
    """Which images show a box of one of some labels."""
    keys = np.array([spelling.key(label) for label in table.labels], np.str_)
    chosen = np.isin(keys, [spelling.key(label) for label in labels])
    found = np.zeros(len(table.images), np.bool_)
    found[table.image[chosen[table.label]]] = True
    return found


def named_in(
    table: Annotations, done: Mapping[str, frozenset[str]], split: str
) -> NDArray[np.bool_]:
    """Which images an earlier split has."""
    names = lookup(done, split, "earlier split")
    return are_called(table, names)
