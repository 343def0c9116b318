"""Absorption: where unknown objects go at an operating point, label by label.

The unknown row of the flow, broken down: every unknown object is in one column, that of the known
class that the best-scored box with a known name gives it, or "only unknown", or "missed". Rows add
up to the objects of the label. Not `openset.diagnosis.confusion`, which counts detections and asks
for less overlap. The page counts the same wherever its sliders stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import MISSED, UNKNOWN, WRONG

MOST_COLUMNS = 9
MOST_ROWS = 100


@dataclass(frozen=True)
class Absorbed:
    """Unknown objects of one label, by column."""

    label: str
    total: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Absorption(Diagnosis):
    """Unknown labels against what their objects are called.

    Attributes:
        classes: The known classes that absorb most, most first.
        others: How many further known classes absorb some, added up in the column after them.
        labels: The most absorbed first; their columns are `classes`, other known classes, unknown,
            missed.
        hidden: Labels that are not listed.
    """

    classes: tuple[str, ...]
    others: int
    labels: tuple[Absorbed, ...]
    hidden: int

    def rows(self) -> list[Row]:
        """One row per label: how many objects have a known name, and which most often."""
        return [
            {
                "label": one.label,
                "objects": one.total,
                "known name": sum(one.counts[:-2]),
                "most often": self._most_often(one),
                "only unknown": one.counts[-2],
                "missed": one.counts[-1],
            }
            for one in self.labels
        ]

    def notes(self) -> list[str]:
        """How many labels are in no row."""
        return [f"{self.hidden} further labels are not listed"] if self.hidden else []

    def _most_often(self, one: Absorbed) -> str | None:
        """Of the listed classes the one that most objects of a label are called."""
        named = one.counts[: len(self.classes)]
        most = max(named, default=0)
        return f"{self.classes[named.index(most)]} ({most})" if most else None


def called_as(model: Deployed) -> NDArray[np.int32]:
    """Per object the known class of the best-scored box that speaks of it, -1 if there is none."""
    matches = model.matches
    speaking = np.flatnonzero(model.called.known & (model.targets.known >= 0))
    speaking = speaking[np.argsort(matches.score[speaking], kind="stable")]
    name = np.full(len(matches.objects), -1, np.int32)
    name[model.targets.known[speaking]] = matches.klass[speaking]  # the last, best one stands
    return name


@question("absorption", title="Where unknowns go")
def absorption(model: Deployed) -> Absorption:
    """Which known names unknown objects get at the operating point, by their label."""
    matches, known = model.matches, model.matches.n_known
    objects = np.flatnonzero((matches.objects.klass == known) & ~matches.objects.ignored)
    fate = model.fates[objects]
    column = np.where(fate == WRONG, called_as(model)[objects], known)
    column = np.where(fate == MISSED, known + 1, np.where(fate == UNKNOWN, known, column))
    labels, row = np.unique(matches.objects.label[objects], return_inverse=True)
    width = known + 2
    cell = row * width + column
    table = np.bincount(cell, minlength=len(labels) * width).reshape(-1, width)
    return _sorted(model, table, [matches.labels[at] for at in labels.tolist()])


def _sorted(model: Deployed, table: NDArray[np.int64], labels: list[str]) -> Absorption:
    known = model.matches.n_known
    mass = table[:, :known].sum(axis=0)
    order = np.argsort(-mass, kind="stable")
    order = order[mass[order] > 0]
    shown, rest = order[:MOST_COLUMNS], order[MOST_COLUMNS:]
    columns = [table[:, shown], table[:, rest].sum(axis=1, keepdims=True), table[:, known:]]
    wide = np.hstack(columns)
    wrong, total = table[:, :known].sum(axis=1), table.sum(axis=1)
    by_mass = np.lexsort((np.arange(len(labels)), -total, -wrong))
    rows = tuple(
        Absorbed(labels[at], int(total[at]), tuple(wide[at].tolist())) for at in by_mass[:MOST_ROWS]
    )
    names = tuple(model.classes[at] for at in shown.tolist())
    return Absorption(names, len(rest), rows, len(labels) - len(rows))
