"""Confusion: which known class absorbs which unknown one.

Figure 4 of Dhamija et al. (WACV 2020): each detection goes to the labelled object that it overlaps
most, if that is at least 0.1; its cell is (label of the object, label of the detection). Unknown
objects keep their original label, so that the table says "zebras are called horse". Several
detections may go to one object, and detections on nothing are in no cell.

Not a matching: an object's own correct detection and a stray box beside it count alike. Ignored
objects (by the protocol) and crowds have no row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._points import TOUCH, within_limit
from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.matching import Matches


@dataclass(frozen=True, slots=True)
class Misnomer:
    """Some objects of an unknown class bear detections of a known class.

    Attributes:
        label: Original label of the unknown objects.
        called: The known class.
        objects: Objects of `label` with at least one such detection.
        total: All objects of `label`.
        detections: The detections, several per object possible.
    """

    label: str
    called: str
    objects: int
    total: int
    detections: int

    def __str__(self) -> str:
        return f"{self.objects} in {self.total} objects of {self.label} are called {self.called}"


@dataclass(frozen=True)
class Confusion(Diagnosis):
    """Detections by label of their object and by their own label.

    Attributes:
        labels: Rows: the known classes, then the labels of unknown objects in the file's order.
        classes: Columns: the known classes, then ``unknown``.
        counts: Detections in each cell.
        objects: Distinct objects in each cell.
        total: Objects of each row's label.
        unmapped: Detections that overlap no object enough.
    """

    labels: tuple[str, ...]
    classes: tuple[str, ...]
    counts: NDArray[np.int64]
    objects: NDArray[np.int64]
    total: NDArray[np.int64]
    unmapped: int

    @property
    def mapped(self) -> int:
        """Detections in the table."""
        return int(self.counts.sum())

    @property
    def agreeing(self) -> int:
        """Detections of a known class on an object of that class."""
        return int(np.trace(self.counts[: len(self.classes) - 1, : len(self.classes) - 1]))

    def misnomers(self) -> list[Misnomer]:
        """Which known classes unknown objects are called, the most objects first."""
        known = len(self.classes) - 1
        row, column = np.nonzero(self.counts[known:, :known])
        found = [
            Misnomer(
                self.labels[known + r],
                self.classes[c],
                int(self.objects[known + r, c]),
                int(self.total[known + r]),
                int(self.counts[known + r, c]),
            )
            for r, c in zip(row.tolist(), column.tolist(), strict=True)
        ]
        return sorted(found, key=lambda item: (-item.objects, item.total, item.label, item.called))

    def rows(self) -> list[Row]:
        """One row per non-empty cell, wrong names before right ones, the most objects first."""
        row, column = np.nonzero(self.counts)
        agrees = np.minimum(row, len(self.classes) - 1) == column
        order = np.lexsort((column, row, -self.objects[row, column], agrees))
        row, column = row[order], column[order]
        return [
            {
                "label": self.labels[r],
                "predicted": self.classes[c],
                "detections": int(self.counts[r, c]),
                "objects": int(self.objects[r, c]),
                "of": int(self.total[r]),
            }
            for r, c in zip(row.tolist(), column.tolist(), strict=True)
        ]

    def notes(self) -> list[str]:
        """What is in no row."""
        return [f"{self.unmapped} detections overlap no object by {TOUCH:g}"]


def confusion(
    matches: Matches, *, iou: float = TOUCH, minimum_score: float | None = None
) -> Confusion:
    """The confusion of known and unknown labels.

    Args:
        matches: Matched detections.
        iou: Least overlap (inclusive) with which a detection goes to its best object.
        minimum_score: Only detections of at least this score; all by default.
    """
    overlap, best = matches.best_any
    taking = within_limit(matches)
    if minimum_score is not None:
        taking &= matches.score >= minimum_score
    near = taking & (overlap >= iou) & (best >= 0)
    mapped = np.flatnonzero(near)
    mapped = mapped[~matches.objects.ignored[best[mapped]]]
    rows, names = _object_rows(matches)
    columns = (*matches.vocabulary.known, "unknown")
    objects, klass = best[mapped].astype(np.int64), matches.klass[mapped]
    counted = ~matches.objects.ignored
    distinct = np.unique(objects * len(columns) + klass)
    return Confusion(
        labels=names,
        classes=columns,
        counts=_table(rows[objects], klass, len(names), len(columns)),
        objects=_table(
            rows[distinct // len(columns)], distinct % len(columns), len(names), len(columns)
        ),
        total=np.bincount(rows[counted], minlength=len(names)),
        unmapped=int(np.count_nonzero(taking & ~near)),
    )


@question("confusion", title="Confusion", paper="Dhamija et al., WACV 2020, Figure 4")
def called_what(one: Deployed) -> Confusion:
    """Which labels go by which names, of detections at the operating point's score or above."""
    return confusion(one.matches, minimum_score=one.score)


def _object_rows(matches: Matches) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The row of each object, and the names of the rows."""
    objects, known = matches.objects, matches.n_known
    unknown = objects.klass == known
    labels = np.unique(objects.label[unknown])
    row = objects.klass.astype(np.int64)
    row[unknown] = known + np.searchsorted(labels, objects.label[unknown])
    return row, (*matches.vocabulary.known, *(matches.labels[i] for i in labels))


def _table(
    row: NDArray[np.integer], column: NDArray[np.integer], height: int, width: int
) -> NDArray[np.int64]:
    cell = row.astype(np.int64) * width + column
    return np.bincount(cell, minlength=height * width).reshape(height, width)
