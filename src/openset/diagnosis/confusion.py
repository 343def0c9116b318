"""Confusion: which known class absorbs which unknown one.

Figure 4 of Dhamija et al. (WACV 2020): each detection goes to the labelled object that it overlaps
most, if that is at least 0.1; its cell is (label of the object, label of the detection). Unknown
objects keep their original label, so that the table says "zebras are called horse". Several
detections may go to one object, and detections on nothing are in no cell. The figure takes the
detections at a recall on closed-set images, where boxes labelled unknown have no place, with one
wild image per closed-set image; `ConfusionMatrix` is its table, super-classes side by side.

Not a matching: an object's own correct detection and a stray box beside it count alike. Ignored
objects (by the protocol) and crowds have no row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._points import (
    TOUCH,
    Mask,
    chosen_images,
    ends_at_recall,
    kept_at_recall,
    within_limit,
)
from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.view import panels
from openset.matching import Matches
from openset.tables import Annotations, Vocabulary
from openset.wording import listed


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
        touch: The overlap that is enough.
        recall: The recall that sets each class's threshold, or None: one score for all.
        ratio: Wilderness ratio, None for all images.
        unreached: Classes that never reach the recall, and have no detection here.
    """

    labels: tuple[str, ...]
    classes: tuple[str, ...]
    counts: NDArray[np.int64]
    objects: NDArray[np.int64]
    total: NDArray[np.int64]
    unmapped: int
    touch: float
    recall: float | None
    ratio: float | None
    unreached: tuple[str, ...]

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
        notes = [f"{self.unmapped} detections overlap no object by {self.touch:g}"]
        if self.unreached:
            notes.append(f"never reached by {len(self.unreached)}: {listed(self.unreached[:5])}")
        return notes


def confusion(
    matches: Matches,
    *,
    touch: float = TOUCH,
    minimum_score: float | None = None,
    recall: float | None = None,
    ratio: float | None = None,
) -> Confusion:
    """The confusion of known and unknown labels.

    Args:
        matches: Matched detections.
        touch: Least overlap (inclusive) with which a detection goes to its best object.
        minimum_score: Only detections of at least this score; all by default.
        recall: Only detections of known classes at the scores where each reaches this recall on
            closed-set images.
        ratio: Wilderness ratio: that many wild images per closed-set image, in the order of the
            file; all images by default.
    """
    overlap, best = matches.best_any
    images = chosen_images(matches, ratio)
    taking, unreached = _taking(matches, minimum_score, recall)
    taking &= images[matches.image]
    near = taking & (overlap >= touch) & (best >= 0)
    mapped = np.flatnonzero(near)
    mapped = mapped[~matches.objects.ignored[best[mapped]]]
    rows, names = _object_rows(matches)
    columns = (*matches.vocabulary.known, "unknown")
    objects, klass = best[mapped].astype(np.int64), matches.klass[mapped]
    counted = ~matches.objects.ignored & images[matches.objects.image]
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
        touch=touch,
        recall=recall,
        ratio=ratio,
        unreached=unreached,
    )


def _taking(
    matches: Matches, minimum_score: float | None, recall: float | None
) -> tuple[Mask, tuple[str, ...]]:
    """The detections that are asked for, and the classes that never reach the recall."""
    taking = within_limit(matches)
    if minimum_score is not None:
        taking &= matches.score >= minimum_score
    if recall is None:
        return taking, ()
    ends = ends_at_recall(matches, recall)
    missed = np.flatnonzero(ends < 0)
    return taking & kept_at_recall(matches, ends), tuple(
        matches.vocabulary.known[at] for at in missed
    )


@question(
    "confusion",
    title="Confusion",
    paper="Dhamija et al., WACV 2020, Figure 4",
    reads=("recalls", "ratios", "touch"),
)
def called_what(one: Deployed) -> Diagnosis:
    """Which labels go by which names, of detections at the operating point's score or above."""
    return panels(one.view, lambda recall, ratio: _confusion_of(one, recall, ratio))


def _confusion_of(one: Deployed, recall: float | None, ratio: float | None) -> Confusion:
    score = one.score if recall is None else None
    return confusion(
        one.matches, touch=one.view.touch, minimum_score=score, recall=recall, ratio=ratio
    )


# ---------------------------------------------------------------------- the whole matrix


@dataclass(frozen=True)
class ConfusionMatrix(Diagnosis):
    """All labels against all known classes, those of a super-class side by side.

    Attributes:
        confusion: The counts.
        rows_of: Places of the rows, known labels before unknown ones.
        columns_of: Places of the columns, ``unknown`` last.
        above: Super-class of each row's label, in the order of `confusion`, or empty.
    """

    confusion: Confusion
    rows_of: tuple[int, ...]
    columns_of: tuple[int, ...]
    above: tuple[str, ...]

    def rows(self) -> list[Row]:
        """One row per label: its super-class, objects, and detections by what they say."""
        found = self.confusion
        return [
            {
                "label": found.labels[r],
                "super-class": self.above[r],
                "objects": int(found.total[r]),
                **{f"as {found.classes[c]}": int(found.counts[r, c]) for c in self.columns_of},
            }
            for r in self.rows_of
        ]

    def notes(self) -> list[str]:
        """Those of the counts."""
        return self.confusion.notes()


def confusion_matrix(
    found: Confusion, truth: Annotations, vocabulary: Vocabulary
) -> ConfusionMatrix:
    """A confusion with the labels of each super-class side by side.

    Args:
        found: The confusion.
        truth: Where the super-classes of labels are stated.
        vocabulary: What spellings of a label share: an aeroplane is COCO's airplane.
    """
    stated = dict(zip(map(vocabulary.key, truth.labels), truth.supercategory, strict=True))
    above = [stated.get(vocabulary.key(label), "") for label in found.labels]
    first = {name: place for place, name in reversed(list(enumerate(truth.supercategory)))}
    known = len(found.classes) - 1

    def place(at: int) -> tuple[bool, int]:
        return at >= known, first.get(above[at], len(truth.labels))

    return ConfusionMatrix(
        found,
        rows_of=tuple(sorted(range(len(found.labels)), key=place)),
        columns_of=(*sorted(range(known), key=place), known),
        above=tuple(above),
    )


@question(
    "confusion_matrix",
    title="Confusion matrix",
    paper="Dhamija et al., WACV 2020, Figure 4",
    reads=("recalls", "ratios", "touch"),
)
def all_against_known(one: Deployed) -> Diagnosis:
    """Detections on the objects of every label, by the known class they say."""
    return panels(
        one.view,
        lambda recall, ratio: confusion_matrix(
            _confusion_of(one, recall, ratio), one.truth, one.matches.vocabulary
        ),
    )


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
