"""Breakdown: what becomes of objects by size, super-class, crowding or any attribute.

The flow at the operating point, for slices of the objects: nothing is matched again, so the slices
of one kind add up to the whole. Metrics on slices, with re-matching, are in
`openset.diagnosis.strata`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.strata import object_groups
from openset.report.flow import IGNORED, MISSED, RIGHT, UNKNOWN, WRONG
from openset.report.model import Model
from openset.report.names import short
from openset.tables import Annotations

MOST_SLICES = 16
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


def breakdown(truth: Annotations, models: tuple[Model, ...]) -> tuple[Slice, ...]:
    """Slices of all objects, for all detectors."""
    return tuple(
        piece
        for stratum, names in groupings(truth, models[0])
        for model in models
        for piece in _slices(stratum, names, model)
    )


def groupings(truth: Annotations, model: Model) -> Iterator[tuple[str, NDArray[np.str_]]]:
    """Ways to slice the objects: a name per object of the matches, empty for none."""
    objects = model.matches.objects
    yield "object size", object_groups(truth, "size")[objects.row].astype(np.str_)
    yield "super-class", object_groups(truth, "supercategory")[objects.row].astype(np.str_)
    many = np.bincount(objects.image, minlength=model.matches.n_images)[objects.image]
    yield "crowding", np.array(CROWDING)[np.searchsorted([3, 10], many)]
    wild = np.where(model.matches.wild[objects.image], "wild image", "closed-set image")
    yield "kind of image", wild
    for name, column in truth.attributes.items():
        yield name, _text(column)[objects.row]
    for name, column in truth.images.attributes.items():
        if name != "wild":  # the kind of image already
            yield name, _text(column)[objects.image]


def _text(column: NDArray[np.generic]) -> NDArray[np.str_]:
    """An attribute as names of slices; numbers with fractions are no names."""
    if column.ndim != 1 or column.dtype.kind not in "biuUT":
        return np.full(len(column), "", np.str_)
    return column.astype(np.str_)


def _slices(stratum: str, names: NDArray[np.str_], model: Model) -> Iterator[Slice]:
    counted = model.fates != IGNORED
    labels, place = np.unique(names, return_inverse=True)
    if not 2 <= len(labels[labels != ""]) <= MOST_SLICES:
        return
    is_unknown = (model.matches.objects.klass == model.matches.n_known).astype(np.int64)
    cell = ((place * 2 + is_unknown) * 4 + model.fates)[counted]
    table = np.bincount(cell, minlength=len(labels) * 8).reshape(-1, 2, 4)
    for at in _ordered(labels.tolist()):
        for role, n in zip(_ROLES, table[at].tolist(), strict=True):
            if labels[at] and sum(n):
                alien = role == "unknown"
                right, other = (n[UNKNOWN], 0) if alien else (n[RIGHT], n[UNKNOWN])
                name = short(labels[at], 40)
                yield Slice(stratum, name, role, model.title, right, n[WRONG], other, n[MISSED])


def _ordered(labels: list[str]) -> list[int]:
    """Slices in their natural order where there is one, else by name."""
    natural = ("small", "medium", "large", "near", "far", "farther", *CROWDING)
    rank = {name: at for at, name in enumerate(natural)}
    return sorted(range(len(labels)), key=lambda at: (rank.get(labels[at], 99), labels[at]))
