"""Moved: one common map of all boxes that no convention names, found from the objects.

A constant offset, sizes halved at a corner or about the centre, a crop that was not undone: every
box is moved and resized alike. The map is not guessed from a list but voted for by pairs of boxes
and objects: first how sizes differ, then how centres do. Whether it fits is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.tables._check_case import all_of
from openset.tables._look import Array, Look
from openset.tables.boxes import Convention

_FEWEST = 8  # pairs that agree
_APART = 0.15  # logarithm of sizes that agree; and centres, in sizes
_WIDEST = np.log(8)
_ALL = 1 << 20  # cells of a side: what is further out is no offset
_ROUND, _NEARLY = 0.05, 0.03
_AT_A_POINT = 0.04  # of a size: nearer than that a point has not moved


class Moved(NamedTuple):
    """Boxes that are objects' after one map: sizes times `grow`, centres moved by `shift`.

    Attributes:
        ours: How they are written.
        grow: What width and height are to be multiplied by.
        shift: What centres are to be moved by.
        unit: Of what `shift` is: "pixels", or "sizes" of the box.
        scaled: Whether centres are multiplied by `grow` as well.
    """

    ours: Convention
    grow: tuple[float, float]
    shift: tuple[float, float] = (0.0, 0.0)
    unit: str = "pixels"
    scaled: bool = False

    def in_pixels(self, box: Array, size: Array) -> Array:
        """Boxes as they should be; `size` is the width and height of their images."""
        box = self.ours.in_pixels(box, size)
        centre = box[:, :2] + box[:, 2:] / 2
        return _boxes(self.centres(centre, box[:, 2:]), box[:, 2:] * self.grow)

    def centres(self, centre: Array, sides: Array) -> Array:
        """Where centres should be."""
        step = self.shift * (sides if self.unit == "sizes" else np.ones_like(sides))
        return centre * (self.grow if self.scaled else (1.0, 1.0)) + step

    @property
    def meaning(self) -> str:
        """What was done to the boxes, in words."""
        words = [self._resized] if self._resized else []
        if self.unit == "pixels" and any(map(round, self._offset)):
            x, y = self._offset
            words.append(f"moved by about {round(x):+d} pixels in x and {round(y):+d} in y")
        return f"{self.ours.meaning}, {' and '.join(words) or 'moved a little'}"

    @property
    def _offset(self) -> tuple[float, float]:
        """How far boxes were moved, after they were resized."""
        by = self.grow if self.scaled else (1.0, 1.0)
        return -self.shift[0] / by[0], -self.shift[1] / by[1]

    @property
    def _resized(self) -> str:
        wide, high = (_meant(1 / one) for one in self.grow)
        if abs(wide - 1) < _ROUND and abs(high - 1) < _ROUND:
            return ""
        alike = abs(wide / high - 1) < _ROUND
        sides = f"{wide:.2g} times as large" if alike else f"{wide:.2g} x {high:.2g} times as large"
        return sides if self.scaled else f"with sizes {sides}{self._fixed}"

    @property
    def _fixed(self) -> str:
        """Which point of a box stayed where it was."""
        if max(map(abs, self.shift)) < _AT_A_POINT * max(self.grow) or self.unit == "pixels":
            return " about their centres"
        # A box from 0 to 1 is to go from `low` to `high`.
        low = [0.5 + s - g / 2 for s, g in zip(self.shift, self.grow, strict=True)]
        high = [0.5 + s + g / 2 for s, g in zip(self.shift, self.grow, strict=True)]
        if max(map(abs, low)) < _AT_A_POINT * max(self.grow):
            return " at their upper left corners"
        far = max(abs(one - 1) for one in high)
        return " at their lower right corners" if far < _AT_A_POINT * max(self.grow) else ""


def moves(look: Look, ours: Convention, same: NDArray[np.bool_]) -> Iterator[Moved]:
    """Maps that pairs vote for, the simplest first.

    Args:
        look: Boxes beside objects.
        ours: How boxes are written.
        same: Which pairs are of one class: among them, chance has fewer votes.
    """
    box = ours.in_pixels(look.sample.box, look.size[look.sample.slot])
    pairs = _Pairs.of(box[look.by], look.box[look.at])
    grown = [_agreed(one.ratio, _APART / 2) for one in (pairs.only(same), pairs)]
    for grow in (np.zeros(2), *(one for one in grown if one is not None)):
        near = all_of(np.abs(pairs.ratio - grow) < _APART)
        alike = near & same
        near = alike if np.count_nonzero(alike) >= _FEWEST else near
        yield from _of_size(pairs.only(near), Moved(ours, _rounded(np.exp(grow))))


def _of_size(pairs: _Pairs, plain: Moved) -> Iterator[Moved]:
    if len(pairs.ratio) < _FEWEST:
        return
    if plain.grow != (1.0, 1.0):
        yield plain
    kinds = [plain, plain._replace(unit="sizes"), plain._replace(scaled=True)]
    for one in kinds[: 1 if plain.grow == (1.0, 1.0) else 3]:
        away = pairs.theirs - one.centres(pairs.ours, pairs.sides)
        unit = pairs.sides if one.unit == "sizes" else np.median(pairs.sides)
        step = _agreed(away / unit, _APART / 2)
        if step is not None:
            by = step if one.unit == "sizes" else step * unit
            by[np.abs(step) < _ROUND] = 0
            yield one._replace(shift=(float(by[0]), float(by[1])))


class _Pairs(NamedTuple):
    """Boxes and objects that may belong together: sizes' log ratios, centres, sizes of boxes."""

    ratio: Array
    ours: Array
    theirs: Array
    sides: Array

    @classmethod
    def of(cls, box: Array, objects: Array) -> _Pairs:
        ratio = np.log(objects[:, 2:]) - np.log(box[:, 2:])
        ratio[~(np.abs(ratio) < _WIDEST)] = np.inf
        ours, theirs = (one[:, :2] + one[:, 2:] / 2 for one in (box, objects))
        return cls(ratio, ours, theirs, box[:, 2:])

    def only(self, kept: NDArray[np.bool_]) -> _Pairs:
        """Some of them."""
        return _Pairs(self.ratio[kept], self.ours[kept], self.theirs[kept], self.sides[kept])


def _agreed(votes: Array, cell: float) -> Array | None:
    """The point in the plane around which most votes lie, or None of too few."""
    votes = votes[np.isfinite(votes).all(axis=1)]
    if len(votes) < _FEWEST:
        return None
    at = np.clip(np.floor(votes / cell) + _ALL // 2, 1, _ALL - 2).astype(np.int64)
    around = [(across, up) for across in (-1, 0, 1) for up in (-1, 0, 1)]
    keys = [(at[:, 0] + across) * _ALL + at[:, 1] + up for across, up in around]
    cells, times = np.unique(np.concatenate(keys), return_counts=True)
    middle = np.array(divmod(int(cells[times.argmax()]), _ALL))
    near = (np.abs(at - middle) <= 1).all(axis=1)
    return np.asarray(np.median(votes[near], axis=0))


def _rounded(grow: Array) -> tuple[float, float]:
    """Sizes times one factor if both are nearly the same, and none if nearly 1."""
    if abs(np.log(grow[0] / grow[1])) < _ROUND:
        grow = np.full(2, np.sqrt(grow.prod()))
    wide, high = (1.0 if abs(one - 1) < _ROUND else one for one in grow.tolist())
    return wide, high


def _meant(factor: float) -> float:
    """A round factor, if one is near."""
    near = round(factor / _ROUND) * _ROUND
    return near if abs(near / factor - 1) < _NEARLY else factor


def _boxes(centre: Array, sides: Array) -> Array:
    return np.column_stack([centre - sides / 2, sides])
