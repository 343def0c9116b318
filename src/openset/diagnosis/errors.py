"""Error types: what the false detections of known classes are made of.

Dhamija et al. (The Overlooked Elephant of Object Detection, WACV 2020, section 4.1) extend the
diagnosis of Hoiem et al. (ECCV 2012) to unknown objects. Each known class is read at the score
threshold where its recall on closed-set images reaches a level; a detection kept there is, in this
order,

- *correct*: it claimed an object of its class;
- *localisation*: it overlaps an object of its class by at least 0.1 (duplicates included);
- *similar*: else, an object of a similar class (`Vocabulary.similar`) by at least 0.1;
- *other*: else, an object of any other known class by at least 0.1;
- *unknown-unknown*: else, a labelled unknown object by at least 0.1;
- *mixed-unknown*: nothing that is labelled, which is Hoiem's *background*: in open-set data it may
  be background or an object nobody labelled.

Shares are of all kept detections. Not a decomposition of average precision (see `tide`), and not
comparable between detectors at different recalls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._points import (
    TOUCH,
    chosen_images,
    ends_at_recall,
    kept_at_recall,
    thresholds_of,
)
from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.view import panels
from openset.matching import Matches
from openset.wording import listed

ERROR_TYPES = (
    "correct",
    "localisation",
    "similar",
    "other",
    "unknown-unknown",
    "mixed-unknown",
)


@dataclass(frozen=True)
class ErrorTypes(Diagnosis):
    """Kept detections by type.

    Attributes:
        classes: Known classes.
        recall: Recall level of the operating points.
        ratio: Wilderness ratio, None for all images.
        threshold: Score threshold of each class, NaN if it never reaches the recall: such a class
            keeps no detection.
        counts: Kept detections, per class and type (the order of `ERROR_TYPES`).
        kind: Type of each detection in class order, -1 if it is not kept.
    """

    classes: tuple[str, ...]
    recall: float
    ratio: float | None
    threshold: NDArray[np.float64]
    counts: NDArray[np.int64]
    kind: NDArray[np.int8]

    @property
    def totals(self) -> dict[str, int]:
        """Kept detections by type, over all classes."""
        return dict(zip(ERROR_TYPES, self.counts.sum(axis=0).tolist(), strict=True))

    @property
    def shares(self) -> dict[str, float]:
        """Share of each type among kept detections; empty if none is kept."""
        total = int(self.counts.sum())
        return {name: n / total for name, n in self.totals.items()} if total else {}

    @property
    def unreached(self) -> tuple[str, ...]:
        """Classes that never reach the recall, and are in no count."""
        missing = np.isnan(self.threshold)
        return tuple(name for name, out in zip(self.classes, missing, strict=True) if out)

    def rows(self) -> list[Row]:
        """One row for all, and one per class that reaches the recall, the most errors first."""
        named = zip(self.classes, self.threshold.tolist(), self.counts.tolist(), strict=True)
        rows: list[Row] = [
            {"class": name, "threshold": level, **dict(zip(ERROR_TYPES, counts, strict=True))}
            for name, level, counts in sorted(named, key=lambda one: -sum(one[2][1:]))
            if name not in self.unreached
        ]
        return [{"class": "all", "threshold": None, **self.totals}, *rows]

    def notes(self) -> list[str]:
        """Where the classes are read, and which are not."""
        notes = [f"detections at a recall of {self.recall:g} on closed-set images, per class"]
        if self.unreached:
            notes.append(f"never reached by {len(self.unreached)}: {listed(self.unreached[:5])}")
        return notes


def errors(
    matches: Matches,
    *,
    recall: float | None = None,
    ratio: float | None = None,
    touch: float = TOUCH,
) -> ErrorTypes:
    """Sort the detections of known classes into error types at a recall level.

    Args:
        matches: Matched detections.
        recall: Recall on closed-set images that sets each class's threshold (the protocol's by
            default; the paper uses 0.3).
        ratio: Wilderness ratio: that many wild images per closed-set image, in the order of the
            file; all images by default.
        touch: Least overlap (inclusive) with which a detection is on an object.
    """
    level = matches.protocol.recall if recall is None else recall
    ends = ends_at_recall(matches, level)
    keep = kept_at_recall(matches, ends) & chosen_images(matches, ratio)[matches.image]
    keep &= ~matches.outcome().ignored
    kind = np.where(keep, _kinds(matches, touch), np.int8(-1))
    n = len(ERROR_TYPES)
    cell = matches.klass[keep].astype(np.int64) * n + kind[keep]
    return ErrorTypes(
        classes=matches.vocabulary.known,
        recall=level,
        ratio=ratio,
        threshold=thresholds_of(matches, ends),
        counts=np.bincount(cell, minlength=matches.n_known * n).reshape(matches.n_known, n),
        kind=kind,
    )


@question(
    "errors",
    title="Error types",
    paper="Dhamija et al., WACV 2020, section 4.1",
    reads=("recalls", "ratios", "touch"),
)
def error_types(one: Deployed) -> Diagnosis:
    """What the false detections of known classes are made of."""
    matches, touch = one.matches, one.view.touch
    return panels(one.view, lambda r, w: errors(matches, recall=r, ratio=w, touch=touch))


def types_of_boxes(matches: Matches, touch: float = TOUCH) -> NDArray[np.str_]:
    """The error type of every detection in class order, in a word."""
    return np.array(ERROR_TYPES)[_kinds(matches, touch)]


def _kinds(matches: Matches, touch: float) -> NDArray[np.int8]:
    """The type of every detection: the first in the order of precedence that holds."""
    columns = matches.columns
    kind = np.full(len(matches), ERROR_TYPES.index("mixed-unknown"), np.int8)
    other = columns.iou_known >= touch
    kind[columns.iou_unknown >= touch] = ERROR_TYPES.index("unknown-unknown")
    kind[other] = ERROR_TYPES.index("other")
    if columns.iou_similar is not None:
        # `iou_similar` is float32; the exact overlap of some other class has to agree.
        kind[other & (columns.iou_similar >= touch)] = ERROR_TYPES.index("similar")
    kind[columns.iou_same >= touch] = ERROR_TYPES.index("localisation")
    kind[matches.outcome().correct] = ERROR_TYPES.index("correct")
    return kind
