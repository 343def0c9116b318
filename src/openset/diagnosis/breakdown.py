"""Breakdown: what becomes of objects by size, super-class, crowding or any attribute.

The flow at an operating point, for slices of the objects: nothing is matched again, so the slices
of one kind add up to the whole. The page counts the same wherever its sliders stand. Metrics on
slices, with re-matching, are in `openset.diagnosis.strata`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import MISSED, RIGHT, UNKNOWN, WRONG
from openset.diagnosis.strata import object_groups
from openset.tables.groups import GROUP
from openset.wording import short

MOST_SLICES = 16
NONE = 255  # the slice of objects that are in none
CROWDING = ("1-3 objects", "4-10 objects", "more than 10")
_ROLES = ("known", "unknown")


@dataclass(frozen=True, slots=True)
class Slice:
    """Objects of one role in one slice, for one detector.

    Attributes:
        stratum: What is sliced by.
        name: The slice.
        role: ``known`` or ``unknown``.
        model: Name of the detector.
        right: Called by their class; unknown objects, called unknown.
        wrong: Called by a wrong known class.
        unknown: Known objects called unknown.
        missed: Without a box.
    """

    stratum: str
    name: str
    role: str
    model: str
    right: int
    wrong: int
    unknown: int
    missed: int

    @property
    def total(self) -> int:
        """Objects in the slice."""
        return self.right + self.wrong + self.unknown + self.missed


@dataclass(frozen=True, eq=False)
class Grouping:
    """A way to slice the objects that count.

    Attributes:
        title: What is sliced by.
        names: The slices, in their natural order where there is one, else by name.
        place: Per object that counts: which slice it is in, `NONE` for none.
    """

    title: str
    names: tuple[str, ...]
    place: NDArray[np.uint8]


@dataclass(frozen=True)
class Breakdown(Diagnosis):
    """The slices of one detector."""

    slices: tuple[Slice, ...]

    def rows(self) -> list[Row]:
        """One row per slice and role."""
        return [_row(piece) for piece in self.slices]


def _row(piece: Slice) -> Row:
    """A slice under the heads of `Flow`: an unknown object cannot be right but as unknown."""
    strange = piece.role == "unknown"
    return {
        "stratum": piece.stratum,
        "slice": piece.name,
        "role": piece.role,
        "right": None if strange else piece.right,
        "wrong known": piece.wrong,
        "called unknown": piece.right if strange else piece.unknown,
        "missed": piece.missed,
    }


@question("breakdown", title="By size, super-class, crowding and attributes")
def slices_of(one: Deployed) -> Breakdown:
    """What becomes of objects at the operating point, slice by slice."""
    return Breakdown(breakdown([one]))


def breakdown(models: Sequence[Deployed]) -> tuple[Slice, ...]:
    """Slices of all objects, for all detectors of a run."""
    return tuple(
        piece
        for grouping in groupings(models[0])
        for model in models
        for piece in _slices(grouping, model)
    )


def groupings(model: Deployed) -> list[Grouping]:
    """Ways to slice that have from 2 to 16 slices."""
    counted = ~model.matches.objects.ignored
    found = [_grouping(title, names[counted]) for title, names in _named(model)]
    return [grouping for grouping in found if 2 <= len(grouping.names) <= MOST_SLICES]


def _grouping(title: str, names: NDArray[np.str_]) -> Grouping:
    labels, place = np.unique(names, return_inverse=True)
    order = [at for at in _ordered(labels.tolist()) if labels[at]]
    if len(order) > MOST_SLICES:
        return Grouping(title, (), np.zeros(0, np.uint8))
    rank = np.full(len(labels), NONE, np.uint8)
    rank[order] = np.arange(len(order))
    return Grouping(title, tuple(short(labels[at], 40) for at in order), rank[place])


def _named(model: Deployed) -> Iterator[tuple[str, NDArray[np.str_]]]:
    """Ways to slice the objects: a name per object of the matches, empty for none."""
    truth, objects = model.truth, model.matches.objects
    yield "object size", object_groups(truth, "size")[objects.row].astype(np.str_)
    yield "super-class", object_groups(truth, "supercategory")[objects.row].astype(np.str_)
    many = np.bincount(objects.image, minlength=model.matches.n_images)[objects.image]
    yield "crowding", np.array(CROWDING)[np.searchsorted([3, 10], many)]
    wild = np.where(model.matches.wild[objects.image], "wild image", "closed-set image")
    yield "kind of image", wild
    for name, column in truth.attributes.items():
        yield name, _text(column)[objects.row]
    for name, column in truth.images.attributes.items():
        if name not in ("wild", GROUP):  # the kind of image already, and what resamples draw
            yield name, _text(column)[objects.image]


def _text(column: NDArray[np.generic]) -> NDArray[np.str_]:
    """An attribute as names of slices; numbers with fractions are no names."""
    if column.ndim != 1 or column.dtype.kind not in "biuUT":
        return np.full(len(column), "", np.str_)
    return column.astype(np.str_)


def _slices(grouping: Grouping, model: Deployed) -> Iterator[Slice]:
    counted = ~model.matches.objects.ignored
    role = (model.matches.objects.klass == model.matches.n_known).astype(np.int64)[counted]
    inside = grouping.place != NONE
    cell = ((grouping.place.astype(np.int64) * 2 + role) * 4 + model.fates[counted])[inside]
    table = np.bincount(cell, minlength=len(grouping.names) * 8).reshape(-1, 2, 4)
    for name, counts in zip(grouping.names, table.tolist(), strict=True):
        for kind, n in zip(_ROLES, counts, strict=True):
            if sum(n):
                right, other = (n[UNKNOWN], 0) if kind == "unknown" else (n[RIGHT], n[UNKNOWN])
                yield Slice(
                    grouping.title, name, kind, model.title, right, n[WRONG], other, n[MISSED]
                )


def _ordered(labels: list[str]) -> list[int]:
    """Slices in their natural order where there is one, else by name."""
    natural = ("small", "medium", "large", "near", "far", "farther", *CROWDING)
    rank = {name: at for at, name in enumerate(natural)}
    return sorted(range(len(labels)), key=lambda at: (rank.get(labels[at], 99), labels[at]))
