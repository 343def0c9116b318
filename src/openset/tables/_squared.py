"""Squared: ground truth of pictures that were resized to one square, detections of the originals.

Data sets are exported so, stretched or padded, and the sizes of the original pictures are lost: all
images are 640 x 640. Every image has a map of its own then, which no reading of the whole file
gives; but within an image all objects agree on it, two at least, and on other images hardly any do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, object_at, share
from openset.tables._look import Array, Index, Look, Sample, beside
from openset.tables.boxes import Convention

Mask = NDArray[np.bool_]
_FEWEST, _PART, _TIMES = 8, 0.05, 10  # objects that agree, their share, and times as by chance
_ALIKE = 0.1  # logarithm of a factor, and shares of the square
_SAME = 0.04  # how far two objects of one image may differ
_PAIR = 2


def squared(case: Case, sample: Sample, look: Look, enough: int) -> Iterator[Finding]:
    """The finding that the ground truth is of resized pictures, if `enough` objects agree."""
    side = _side(look.size)
    if side == 0:
        return
    other = beside(case.truth, sample, sample.image, 0.5)
    ours = Convention.of(case.written.boxes)
    for done, votes in (("stretched", _stretched), ("padded", _padded)):
        agree, chance = (_agreeing(one, ours, votes) for one in (look, other))
        least = max(_FEWEST, enough, _PART * len(look.objects), _TIMES * (chance + 1))
        if agree >= least:
            yield _resized(case, done, side, agree, len(look.objects))
            return


def _side(size: Array) -> int:
    """The side of the square that all images are, or 0."""
    side = float(size.flat[0]) if size.size else np.nan
    return int(side) if side > 1 and (size == side).all() else 0


def _agreeing(
    look: Look, ours: Convention, votes: Callable[[Array, Array, float], tuple[Mask, Array]]
) -> int:
    """How many objects agree with another one of their image on a map."""
    box = ours.in_pixels(look.sample.box, look.size[look.sample.slot])[look.by]
    kept, map_ = votes(box, look.box[look.at], float(look.size.flat[0]))
    rows = np.flatnonzero(kept)
    slot = look.slot[look.at[rows]]
    starts = np.flatnonzero(np.diff(slot, prepend=-1))
    parts = np.split(rows, starts[1:]) if len(rows) else []
    return sum(_most(map_[part], look.at[part]) for part in parts)


def _most(map_: Array, objects: Index) -> int:
    """The objects of an image that agree on one map, 0 for a single one."""
    near = (np.abs(map_[:, None] - map_[None]) < _SAME).all(axis=2)
    of = objects[:, None] == np.unique(objects)
    most = int((near.astype(np.int64) @ of > 0).sum(axis=1).max())
    return most if most >= _PAIR else 0


def _stretched(box: Array, objects: Array, side: float) -> tuple[Mask, Array]:
    """Pairs whose centres differ by the factors of their sizes, and these factors."""
    sizes = np.log(objects[:, 2:]) - np.log(box[:, 2:])
    centres = np.log(_centre(objects)) - np.log(_centre(box))
    return all_of(np.abs(sizes - centres) < _ALIKE), centres


def _padded(box: Array, objects: Array, side: float) -> tuple[Mask, Array]:
    """Pairs of one factor for both sizes, moved in one direction; the factor and the way."""
    sizes = np.log(objects[:, 2:]) - np.log(box[:, 2:])
    factor = sizes.mean(axis=1)
    away = (_centre(objects) - np.exp(factor)[:, None] * _centre(box)) / side
    alike = np.abs(sizes[:, 0] - sizes[:, 1]) < _ALIKE
    one_way = (np.abs(away).min(axis=1) < _SAME) & all_of(away > -_SAME) & all_of(away < 1 / 2)
    return alike & one_way, np.column_stack([factor, away])


def _centre(box: Array) -> Array:
    return box[:, :2] + box[:, 2:] / 2


def _resized(case: Case, done: str, side: int, agree: int, total: int) -> Finding:
    return Finding(
        "OS430",
        Level.ERROR,
        f"all {len(case.truth.images)} images of the ground truth are {side} x {side}, and "
        f"{share(agree, total, 'objects examined')} are where boxes are if every picture was "
        f"{done} by itself",
        count=len(case.truth),
        example=object_at(case.truth, 0),
        cause=f"the ground truth is of pictures {done} to {side} x {side}, the detections are in "
        "pixels of the pictures as they were",
        fix="give the ground truth of the original pictures, or run the detector on the resized "
        "ones; force=True evaluates as they are",
    )
