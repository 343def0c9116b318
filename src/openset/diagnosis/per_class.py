"""Per class: one row for each known class, with all that is asked about a class.

Average precision is the metric's, of all boxes. What becomes of the objects of a class, and which
unknown objects its boxes take, is counted at the detector's operating point, which all classes
share; the score with the best F1 of each class (`operating_point`) stands beside it. The row
"unknown" is the class of all unknown objects.

Nothing is counted anew: the columns are those of `flow`, `absorption` and `operating_point`, and
add up to their totals. A class without objects has no recall, and none is made up. Not a metric: a
class has no interval here, and few objects make large steps.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.absorption import called_as
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import MISSED, NO_PART, RIGHT, UNKNOWN, WRONG, called_unknown
from openset.diagnosis.operating_point import operating_points


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class.

    Attributes:
        label: Its name; "unknown" for all unknown objects.
        n: Its objects that count.
        ap: Average precision under the protocol; None where there is none.
        recall: Share of its objects that are called by it at the operating point.
        precision: Share of the boxes called by it there that find one of its objects.
        wrong: Its objects called only by other known classes.
        confused_with: The class that most of these are called by, and how many.
        called_unknown: Its objects called only unknown; for "unknown", those called unknown.
        missed: Its objects without a box.
        absorbed: Unknown objects that are called by this class.
        best_score: The score with the best F1 of this class.
        best_f1: F1 there.
    """

    label: str
    n: int
    ap: float | None
    recall: float | None
    precision: float | None
    wrong: int
    confused_with: str | None
    called_unknown: int
    missed: int
    absorbed: int | None
    best_score: float | None
    best_f1: float | None


@dataclass(frozen=True)
class PerClass(Diagnosis):
    """Classes of one detector: "unknown" first, then those of least average precision.

    Attributes:
        classes: The rows.
        score: The minimum score of the operating point.
    """

    classes: tuple[ClassRow, ...]
    score: float

    def rows(self) -> list[Row]:
        """One row per class."""
        return [asdict(one) for one in self.classes]

    def notes(self) -> list[str]:
        """Where the columns are read."""
        return [
            f"ap is of all boxes; recall to absorbed at score ≥ {self.score:.3g}, the operating "
            "point of all classes; best score is the one with the best F1 of the class alone",
            "absorbed: unknown objects that are called by the class",
        ]


@question("per_class", title="Class by class")
def per_class(one: Deployed) -> PerClass:
    """Average precision, recall, confusions and absorbed unknown objects of each class."""
    table, names = _fates(one), called_as(one)
    boxes = _boxes(one)
    value = one.evaluation.value
    ap = {**value("ap_known").parts, "unknown": value("ap_unknown").value}
    best = {point.label: point for point in operating_points(one.matches, betas=(1.0,)).points}
    absorbed = _absorbed(one, names)
    rows = []
    for klass, label in enumerate(one.classes):
        n, strange = table[klass], klass == one.matches.n_known
        right = _unknown_found(one) if strange else int(n[RIGHT])
        point = best.get(label)
        rows.append(
            ClassRow(
                label=label,
                n=int(n.sum()),
                ap=ap.get(label),
                recall=_share(right, int(n.sum())),
                precision=_share(right, int(boxes[klass])),
                wrong=int(n[WRONG]),
                confused_with=_most_often(one, klass, names),
                called_unknown=right if strange else int(n[UNKNOWN]),
                missed=int(n[MISSED]),
                absorbed=None if strange else int(absorbed[klass]),
                best_score=None if point is None else point.threshold,
                best_f1=None if point is None else point.f,
            )
        )
    return PerClass(tuple(sorted(rows, key=_telling)), one.score)


def _telling(row: ClassRow) -> tuple[bool, bool, float]:
    """Unknown objects first, then classes by rising precision; those without a number last."""
    return row.label != "unknown", row.ap is None, row.ap or 0.0


def _fates(one: Deployed) -> NDArray[np.int64]:
    """Objects that count, by class [K + 1] and fate."""
    objects = one.matches.objects
    counted = ~objects.ignored
    cell = objects.klass[counted] * 4 + one.fates[counted]
    return np.bincount(cell, minlength=4 * len(one.classes)).reshape(-1, 4)


def _boxes(one: Deployed) -> NDArray[np.int64]:
    """Boxes that take part, by what they are called [K + 1]."""
    matches, call, target = one.matches, one.called, one.targets
    named = matches.klass[call.known & (target.known != NO_PART)]
    count = np.bincount(named, minlength=len(one.classes))
    count[-1] = np.count_nonzero(call.unknown & (target.unknown != NO_PART))
    return count


def _unknown_found(one: Deployed) -> int:
    """Unknown objects that some box calls unknown, whatever else they are called."""
    objects = one.matches.objects
    said = called_unknown(one.matches, one.called, one.targets)
    return int(np.count_nonzero(said & (objects.klass == one.matches.n_known) & ~objects.ignored))


def _absorbed(one: Deployed, names: NDArray[np.int32]) -> NDArray[np.int64]:
    """Unknown objects by the known class they are called by [K]."""
    return np.bincount(_named_wrong(one, one.matches.n_known, names), minlength=len(one.classes))


def _most_often(one: Deployed, klass: int, names: NDArray[np.int32]) -> str | None:
    """The known class that most wrongly named objects of a class are called by."""
    count = np.bincount(_named_wrong(one, klass, names), minlength=1)
    most = int(count.argmax())
    return f"{one.classes[most]} ({count[most]})" if count[most] else None


def _named_wrong(one: Deployed, klass: int, names: NDArray[np.int32]) -> NDArray[np.int32]:
    """What objects of a class are called that have a wrong known name alone."""
    return names[(one.matches.objects.klass == klass) & (one.fates == WRONG)]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
