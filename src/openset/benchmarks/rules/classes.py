"""Classes by name, super-class, hierarchy or chance.

The super-class is that of the file (COCO's ``supercategory``), the hierarchy that of Open Images.
Random splits of classes repeat for a seed; labels are sorted first, so files may list them in any
order.
"""

from __future__ import annotations

import msgspec
import numpy as np

from openset.benchmarks.pool import Universe
from openset.benchmarks.rules import class_rule, class_set
from openset.benchmarks.taxonomy import largest, of_wordnet, placed, synsets_of
from openset.findings import UsageError, refuse


@class_rule("except", list[str])
def except_(universe: Universe, names: list[str]) -> tuple[str, ...]:
    """Every label of the sources but these."""
    left_out = set(map(universe.spelling.key, universe.named(names)))
    return tuple(label for label in universe.labels if universe.spelling.key(label) not in left_out)


@class_rule("supercategory", str | list[str])
def supercategory(universe: Universe, given: str | list[str]) -> tuple[str, ...]:
    """Labels of these super-classes."""
    names = [given] if isinstance(given, str) else given
    found = tuple(k for k in universe.labels if universe.supercategory.get(k) in names)
    there = set(universe.supercategory.values()) - {""}
    if lost := [name for name in names if name not in there]:
        raise refuse(
            "OS904",
            f"{len(lost)} super-classes are in no source",
            count=len(lost),
            example=f"{lost[0]!r}; there are: {', '.join(sorted(there)[:12]) or 'none'}",
        )
    return found


@class_rule("under", str)
def under(universe: Universe, name: str) -> tuple[str, ...]:
    """Labels that the hierarchy puts below a class and that have nothing below them."""
    if name not in universe.taxonomy:
        raise refuse(
            "OS904",
            f"{name!r} is not in the hierarchy",
            fix="name a class of the hierarchy; a source states it: options.hierarchy",
        )
    return tuple(label for label in universe.taxonomy.leaves(name) if label in universe.labels)


class Random(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many labels, of which, and the part of a random order they are.

    Attributes:
        count: Number of labels.
        share: Or: their share of all labels to choose from.
        of: Labels to choose from.
        skip: Number of labels of the random order to leave out first, for disjoint sets.
        seed: Another seed than the benchmark's.
    """

    count: int = 0
    share: float = 0.0
    of: list[str] = []
    skip: int = 0
    seed: int | None = None


@class_rule("random", Random)
def random(universe: Universe, how: Random) -> tuple[str, ...]:
    """So many labels at random; with ``skip``, the next ones of the same order."""
    choices = sorted(universe.named(how.of) if how.of else universe.labels)
    count = how.count or round(how.share * len(choices))
    if not (count > 0 and how.skip >= 0 and count + how.skip <= len(choices)):
        raise UsageError(f"random: {count} after {how.skip} of {len(choices)} labels is impossible")
    seed = universe.seed if how.seed is None else how.seed
    order = np.random.default_rng(seed).permutation(len(choices))[how.skip :][:count]
    return tuple(choices[i] for i in order)


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which labels are how similar to what.

    Attributes:
        to: The classes that similarity is measured to; for tiers of a split, the known ones.
        of: Labels to choose from; all others by default.
        least: The smallest similarity to the most similar of `to`.
        below: The similarity that is too much.
        wordnet: The file ``data.noun`` of WordNet 3.0, in place of the sources' hierarchy.
        synsets: Its offset for classes that are not of COCO, or mean something else.
    """

    to: list[str] = []
    of: list[str] | dict[str, object] = []
    least: float = 0.0
    below: float = 1.01
    wordnet: str = ""
    synsets: dict[str, str] = {}


@class_rule("tier", Tier)
def tier(universe: Universe, how: Tier) -> tuple[str, ...]:
    """Labels by Wu-Palmer similarity to the most similar of some classes: near, far, farther."""
    targets = universe.named(how.to) if how.to else universe.known
    if not targets:
        raise UsageError("tier: say what similarity is measured to: to = ['@voc20']")
    labels = class_set(universe, how.of or {"except": list(targets)})
    taxonomy = universe.taxonomy
    if how.wordnet:
        pins = synsets_of((*targets, *labels), universe.spelling, how.synsets)
        taxonomy = of_wordnet(universe.folder / how.wordnet, pins)
    best = largest(taxonomy.similarity, placed(taxonomy, labels), placed(taxonomy, targets))
    return tuple(label for label, value in best.items() if how.least <= value < how.below)
