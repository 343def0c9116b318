"""Costs: the kind of every error that TIDE sees, and average precision with some repaired.

The kinds and repairs are defined in `openset.diagnosis.tide`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._tide_cast import Cast
from openset.matching.curves import envelope

ERRORS = ("Cls", "Loc", "Both", "Dupe", "Bkg", "Miss")
CORRECT = -1
GRID = np.arange(101) / 100  # not linspace: TIDE divides, and the last bit decides ties

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Costs:
    """Errors, and average precision with some of them repaired."""

    cast: Cast
    iou: float
    background: float

    @cached_property
    def correct(self) -> Mask:
        """True positives."""
        return self.cast.matches.outcome().correct

    @cached_property
    def used(self) -> Mask:
        """Objects that a detection claimed."""
        used = np.zeros(len(self.cast.matches.objects), np.bool_)
        used[self.cast.matches.outcome().object[self.correct]] = True
        return used

    @cached_property
    def _other(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Best overlap with an object of another class, and the first object that reaches it."""
        matches, columns = self.cast.matches, self.cast.matches.columns
        iou, best = columns.iou_known, columns.object_known
        rival, index = columns.iou_unknown, columns.object_unknown
        wins = (rival > iou) | ((rival == iou) & (index >= 0) & ((index < best) | (best < 0)))
        wins[matches.known_end :] = False  # to them, unknown objects are their own class
        return np.where(wins, rival, iou), np.where(wins, index, best)

    @cached_property
    def kind(self) -> NDArray[np.int8]:
        """The kind of every detection."""
        same, other = self.cast.matches.columns.iou_same, self._other[0]
        code = {name: np.int8(i) for i, name in enumerate(ERRORS)}
        kind = np.full(len(same), code["Both"], np.int8)
        kind[np.maximum(same, other) <= self.background] = code["Bkg"]
        kind[same > self.iou] = code["Dupe"]  # the object is taken, or it would have matched
        kind[other >= self.iou] = code["Cls"]
        kind[(same >= self.background) & (same <= self.iou)] = code["Loc"]
        kind[self.correct] = CORRECT
        return kind

    def _is(self, name: str) -> Mask:
        return np.asarray(self.kind == ERRORS.index(name))

    @cached_property
    def target(self) -> NDArray[np.int32]:
        """The object that a Loc or Cls error could have been a true positive of, else -1."""
        target = np.full(len(self.kind), -1, np.int32)
        for name, best in (
            ("Loc", self.cast.matches.columns.object_same),
            ("Cls", self._other[1]),
        ):
            target[self._is(name)] = best[self._is(name)]
        return target

    @cached_property
    def repairs(self) -> Mask:
        """Loc and Cls errors that a repair makes true positives: the best of each free object."""
        matches = self.cast.matches
        rows = np.flatnonzero(self.target >= 0)
        rows = rows[~self.used[self.target[rows]]]
        rows = rows[np.lexsort((matches.row[rows], -matches.score[rows], self.target[rows]))]
        _, first = np.unique(self.target[rows], return_index=True)
        repairs = np.zeros(len(self.kind), np.bool_)
        repairs[rows[first]] = True
        return repairs

    @cached_property
    def missed(self) -> Mask:
        """Unmatched objects that no error could repair."""
        missed = ~self.used
        missed[self.target[self.target >= 0]] = False
        return missed

    @cached_property
    def counts(self) -> dict[str, int]:
        """Errors by kind."""
        found = {name: int(np.count_nonzero(self._is(name))) for name in ERRORS}
        return {**found, "Miss": int(np.count_nonzero(self.missed))}

    @cached_property
    def split(self) -> dict[str, Mask]:
        """Cls errors by whether object and detection are known."""
        matches, wrong = self.cast.matches, self._is("Cls")
        objects = np.append(matches.objects.klass == matches.n_known, False)[self.target]
        said = matches.labelled_unknown
        return {
            "known as other known": wrong & ~objects & ~said,
            "unknown as known": wrong & objects & ~said,
            "known as unknown": wrong & said,
        }

    # ------------------------------------------------------------------ average precision

    @cached_property
    def _positives(self) -> NDArray[np.int64]:
        return self._per_class(np.ones_like(self.used))

    def _per_class(self, objects: Mask) -> NDArray[np.int64]:
        matches = self.cast.matches
        return np.bincount(matches.objects.klass[objects], minlength=matches.n_known + 1)

    @cached_property
    def ap(self) -> float:
        """As it is."""
        keep = ~self.cast.ignored
        return mean_ap(self.cast.matches.klass[keep], self.correct[keep], self._positives)

    @cached_property
    def _errors_first(self) -> NDArray[np.intp]:
        """Class order, but among equal scores errors stand before true positives.

        TIDE rebuilds its list from the errors and then appends what was right.
        """
        matches = self.cast.matches
        return np.lexsort((self.correct, -matches.score, matches.klass))

    def repaired(self, name: str) -> float:
        """With one kind of error repaired."""
        if name == "Miss":
            positives = self._positives - self._per_class(self.missed)
            return self._ap(self._errors_first, ~self.cast.ignored, self.correct, positives)
        return self.repaired_rows(self._is(name))

    def repaired_rows(self, rows: Mask) -> float:
        """With the errors in some rows repaired: true positives of their target, or gone."""
        made = rows & self.repairs
        keep = made | ~(rows | self.cast.ignored)
        correct = self.correct | made
        matches = self.cast.matches
        moved = np.flatnonzero(made & self._is("Cls"))
        if not len(moved):
            return self._ap(self._errors_first, keep, correct, self._positives)
        klass = matches.klass.copy()
        klass[moved] = matches.objects.klass[self.target[moved]]
        kept = np.flatnonzero(keep)
        order = kept[np.argsort(klass[kept] * np.int64(len(klass)) + self._place[kept])]
        return mean_ap(klass[order], correct[order], self._positives)

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        """The place of each detection in the order of `_errors_first`, classes apart."""
        matches = self.cast.matches
        assert matches.tie is not None
        place = np.empty(len(matches.row), np.intp)
        order = np.lexsort((matches.row, matches.tie, self.correct, -matches.score))
        place[order] = np.arange(len(order))
        return place

    def without_false_positives(self) -> float:
        """With every false positive behind every true positive."""
        order = np.lexsort((~self.correct, self.cast.matches.klass))
        return self._ap(order, ~self.cast.ignored, self.correct, self._positives)

    def without_false_negatives(self) -> float:
        """With unmatched objects taken out of the count."""
        positives = self._per_class(self.used)
        return self._ap(self._errors_first, ~self.cast.ignored, self.correct, positives)

    def _ap(
        self, order: NDArray[np.intp], keep: Mask, correct: Mask, positives: NDArray[np.int64]
    ) -> float:
        order = order[keep[order]]
        return mean_ap(self.cast.matches.klass[order], correct[order], positives)


def mean_ap(klass: NDArray[np.int32], correct: Mask, positives: NDArray[np.int64]) -> float:
    """Mean of 101-point average precision over classes with an object or a detection.

    Args:
        klass: Class of each detection, ascending, and by falling score within a class.
        correct: Which of them are true positives.
        positives: Objects of each class.
    """
    start = np.searchsorted(klass, np.arange(len(positives) + 1))
    at = np.flatnonzero(correct)
    first = np.searchsorted(at, start)
    hits = np.arange(1, len(at) + 1) - np.repeat(first[:-1], np.diff(first))
    height = envelope(hits / (at + 1 - start[klass[at]]), first)
    values = []
    for c in np.flatnonzero((positives > 0) | (np.diff(start) > 0)):
        part = slice(first[c], first[c + 1])
        recall = hits[part] / max(int(positives[c]), 1)
        reached = np.append(height[part], 0.0)[np.searchsorted(recall, GRID)]
        values.append(reached.mean())
    return float(np.mean(values)) if values else 0.0
