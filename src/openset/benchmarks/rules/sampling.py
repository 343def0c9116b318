"""Sampling: fewer images, at random or by order, always the same ones for a seed and a split.

``shuffle`` once and take ``first`` of it for nested subsets, as the levels of the wilderness ratio
need (Dhamija et al., WACV 2020): the subset of 1,000 holds the subset of 500. ``exemplars`` are
the balanced sets on which open-world detectors are fine-tuned (Joseph et al., CVPR 2021).
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from openset.benchmarks.pool import Pool
from openset.benchmarks.rules import image_rule
from openset.benchmarks.rules.listed import among, not_in
from openset.benchmarks.rules.presence import without
from openset.findings import refuse
from openset.matching.counting import wild_wanted

Count = Annotated[int, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


@image_rule("shuffle", str)
def shuffle(pool: Pool, name: str) -> NDArray[np.intp]:
    """A random order, that of all splits which shuffle the same images under this name."""
    from dataclasses import replace

    # Drawn over sorted images: the order in which earlier rules left them must not matter.
    order = replace(pool, split=f"shuffle {name}").random().permutation(len(pool.images))
    return np.sort(pool.images)[order]


class Wilderness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much wilderness beside what.

    Attributes:
        beside: The earlier split whose images come first.
        ratio: Number of images without a known object, per image of that split; all of them by
            default.
        name: Sets of one name are nested.
    """

    beside: str
    ratio: Annotated[float, Meta(ge=0)] | None = None
    name: str = "wilderness"


@image_rule("wilderness", Wilderness)
def wilderness(pool: Pool, how: Wilderness) -> NDArray[np.intp]:
    """The images of an earlier split, and in a ratio to them images without any known object."""
    inside = among(pool, how.beside)
    wild = pool.narrowed(without(pool.narrowed(not_in(pool, how.beside)), "known"))
    # The first ones, as the wilderness curves of Dhamija et al. count them.
    count = len(wild.images) if how.ratio is None else wild_wanted(how.ratio, len(inside))
    return np.concatenate([inside, first(wild.narrowed(shuffle(wild, how.name)), count)])


@image_rule("first", Count)
def first(pool: Pool, count: int) -> NDArray[np.intp]:
    """The first so many images, in the order so far."""
    return _enough(pool, count)[:count]


@image_rule("sample", Count)
def sample(pool: Pool, count: int) -> NDArray[np.intp]:
    """So many images at random, in the order so far."""
    chosen = pool.random().choice(len(_enough(pool, count)), count, replace=False)
    return pool.images[np.sort(chosen)]


@image_rule("share", Share)
def share(pool: Pool, part: float) -> NDArray[np.intp]:
    """This share of the images at random, in the order so far."""
    return sample(pool, max(1, round(part * len(pool.images))))


@image_rule("exemplars", Count)
def exemplars(pool: Pool, count: int) -> NDArray[np.intp]:
    """Images, in random order, until every known class has so many boxes, or has no more images.

    An image is taken if it holds a class that still lacks boxes; rarer classes choose first.
    """
    table, known = pool.table, np.flatnonzero(pool.labels("known"))
    order = pool.random().permutation(np.sort(pool.images))
    place = np.full(len(table.images), -1)
    place[order] = np.arange(len(order))
    rows = np.flatnonzero((place[table.image] >= 0) & np.isin(table.label, known))
    counts = np.zeros((len(order), len(table.labels)), np.int64)
    np.add.at(counts, (place[table.image[rows]], table.label[rows]), 1)
    chosen = np.zeros(len(order), np.bool_)
    for label in known[np.argsort((counts[:, known] > 0).sum(axis=0), kind="stable")]:
        for image in np.flatnonzero(counts[:, label]):
            if counts[chosen, label].sum() >= count:
                break
            chosen[image] = True
    return np.sort(order[chosen])


def _enough(pool: Pool, count: int) -> NDArray[np.intp]:
    if len(pool.images) < count:
        raise refuse(
            "OS906",
            f"split {pool.split!r} asks for {count} images, but {len(pool.images)} pass its rules",
        )
    return pool.images
