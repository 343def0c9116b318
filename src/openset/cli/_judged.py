"""Judged: what a detector did on images whose objects are known.

Five kinds of boxes: right, found as unknown, confused, missed, and on nothing. What is confused or
missed comes last, on top of the rest.

Not pictures without a ground truth (`_seen`), and not how boxes are drawn (`_picture`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from openset.cli._picture import Drawing, Look, Mark, four
from openset.diagnosis.deployed import Deployed, deployed
from openset.diagnosis.flow import MISSED, called, fates
from openset.diagnosis.outcomes import kinds_of_boxes
from openset.evaluation.run import Run
from openset.tables import Images

LOOKS = {
    "false": Look("#999999", "#000000", 2, "on nothing"),
    "known": Look("#0072B2", "#FFFFFF", 0, "known, right"),
    "unknown": Look("#009E73", "#000000", 0, "unknown, found"),
    "missed": Look("#CC79A7", "#000000", 3, "missed"),
    "confused": Look("#D55E00", "#000000", 8, "confused", always=True),
}


def drawings(
    run: Run, name: str, rows: Sequence[int] | None, score: float | None, limit: int
) -> tuple[list[Drawing], float]:
    """What a detector did on some images; without `rows`, on those with most mistakes.

    And the score from which boxes are drawn.
    """
    model = next(model for model in deployed(run) if model.name == name)
    said = _Said(run, model, model.score if score is None else score)
    chosen = said.worst() if rows is None else list(rows)
    return [said.drawing(at) for at in chosen[:limit]], said.level


class _Said:
    """A detector's boxes at a score."""

    def __init__(self, run: Run, model: Deployed, level: float) -> None:
        self.run, self.model, self.level = run, model, level
        self.matches, self.target = model.matches, model.targets
        self.call = called(model.matches, level, model.second)

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """The kind of every box, "" for those that are not drawn."""
        return kinds_of_boxes(self.matches, self.call, self.target)

    @cached_property
    def missed(self) -> NDArray[np.bool_]:
        """Objects that no box speaks of."""
        return np.asarray(fates(self.matches, self.call, self.target) == MISSED)

    def worst(self) -> list[int]:
        """Images by unknown objects called known, then by other mistakes, most first."""
        m = self.matches
        confused = self.kinds == "confused"
        aim = np.maximum(self.target.known, 0)
        absorbed = confused & self.call.known & (m.objects.klass[aim] == m.n_known)
        lost = self.missed & (m.objects.klass == m.n_known)
        by = (m.objects.image[lost], m.image[confused], m.image[absorbed])
        counts = [-np.bincount(image, minlength=m.n_images) for image in by]
        return [int(at) for at in np.lexsort(counts)]

    def drawing(self, image: int) -> Drawing:
        """One image."""
        m, kinds = self.matches, self.kinds
        rows = np.flatnonzero((m.image == image) & (kinds != ""))
        marks = [
            Mark(kinds[r], four(self.model.detections.box[m.row[r]]), self._words(r))
            for r in rows.tolist()
        ]
        for at in np.flatnonzero((m.objects.image == image) & self.missed).tolist():
            marks.append(Mark("missed", four(m.objects.box[at]), f"missed {self._label(at)}"))
        order = list(LOOKS)
        marks.sort(key=lambda mark: order.index(mark.kind))
        images = self.run.truth.images
        return Drawing(_name(images, image), _size(images, image), tuple(marks))

    def _words(self, row: int) -> str:
        """What a box says, and of what, where the two differ."""
        m = self.matches
        said = "unknown" if self.call.unknown[row] else m.vocabulary.known[m.klass[row]]
        text = f"{said} {m.score[row]:.2f}"
        if self.kinds[row] != "confused":
            return text
        aim = self.target.unknown if self.call.unknown[row] else self.target.known
        return f"{self._label(int(aim[row]))} as {text}"

    def _label(self, at: int) -> str:
        return self.matches.labels[self.matches.objects.label[at]]


def _name(images: Images, at: int) -> str:
    if images.file_name is not None and images.file_name[at]:
        return str(images.file_name[at])
    return str(images.id[at])


def _size(images: Images, at: int) -> tuple[float, float]:
    assert images.width is not None
    assert images.height is not None
    return float(images.width[at]), float(images.height[at])
