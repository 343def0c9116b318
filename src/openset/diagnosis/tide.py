"""TIDE: how much average precision each kind of error costs, with unknown objects in the scene.

Bolya et al. (TIDE: A General Toolbox for Identifying Object Detection Errors, ECCV 2020) give
every detection that matches nothing the first of these kinds that fits (``fg`` = `iou`, ``bg`` =
`background`):

- *Loc*: ``bg <= IoU <= fg`` with its best object of the same class;
- *Cls*: ``IoU >= fg`` with an object of another class;
- *Dupe*: ``IoU > fg`` with an object of its class, which is taken;
- *Bkg*: ``IoU <= bg`` with every object;
- *Both*: the rest;

and every unmatched object that no Loc or Cls error could repair is a *Miss*. The cost of a kind is
``dAP = max(AP repaired - AP, 0)``: Loc and Cls errors become true positives (one per free object,
the highest score), the others vanish, a Miss leaves the count of objects. *FalsePos* moves all
false positives to score 0, *FalseNeg* removes all unmatched objects; both may be negative.

Unknown objects enter in one of three ways: as an ordinary class, not at all, or as regions in which
detections of any class are let go. As a class, *Cls* splits by (object, detection) into known as
another known, unknown as known (what A-OSE counts), and known as unknown.

The costs do not add up to ``1 - AP``: repairing one kind can reveal another. As in the published
code, detections let go by a region still count as errors (and may be repaired), and a class with
detections but no object has AP 0 until its last detection is gone. AP is at one IoU threshold, as
a fraction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis._tide_cast import Difficult, Unknown, cast
from openset.diagnosis._tide_costs import CORRECT, ERRORS, Costs
from openset.diagnosis.deployed import Deployed
from openset.findings import UsageError
from openset.tables import Annotations, Detections, Vocabulary

ABSENT = -2
_AS = {"class": "a class", "drop": "nothing", "ignore": "regions to ignore"}

__all__ = ["ABSENT", "CORRECT", "ERRORS", "Tide", "tide"]


@dataclass(frozen=True)
class Tide(Diagnosis):
    """Errors, and what they cost.

    Attributes:
        ap: Mean average precision at the IoU threshold.
        counts: Errors by kind (`ERRORS`).
        main: Cost of each kind.
        special: Cost of all false positives and of all false negatives.
        split: `Cls` errors by what was called what.
        split_cost: Cost of each part of the split.
        correct: Number of true positives.
        kind: Per detection given, index into `ERRORS`, `CORRECT`, or `ABSENT` if it took no part.
        missed: Rows of the annotations that are a `Miss`.
        params: Arguments it was computed with.
    """

    ap: float
    counts: Mapping[str, int]
    main: Mapping[str, float]
    special: Mapping[str, float]
    split: Mapping[str, int]
    split_cost: Mapping[str, float]
    correct: int
    kind: NDArray[np.int8]
    missed: NDArray[np.intp]
    params: Mapping[str, object]

    def rows(self) -> list[Row]:
        """One row per kind of error, the split of Cls below it, then the special ones."""
        rows: list[Row] = []
        for name in ERRORS:
            rows.append({"error": name, "count": self.counts[name], "dAP": self.main[name]})
            if name == "Cls":
                rows += [
                    {"error": f"  {part}", "count": count, "dAP": self.split_cost[part]}
                    for part, count in self.split.items()
                ]
        return [
            *rows,
            *({"error": k, "count": None, "dAP": cost} for k, cost in self.special.items()),
        ]

    def notes(self) -> list[str]:
        """What the costs are costs of."""
        return [
            f"AP {self.ap:.4f} at IoU {self.params['iou']:g} with unknown objects as "
            f"{_AS[str(self.params['unknown'])]}; {self.correct} detections are right"
        ]


def tide(
    truth: Annotations,
    detections: Detections,
    vocabulary: Vocabulary,
    *,
    unknown: Unknown = "class",
    difficult: Difficult = "ignore",
    iou: float = 0.5,
    background: float = 0.1,
) -> Tide:
    """Find the errors of a detector and what each kind costs.

    Args:
        truth: The ground truth. Crowds are ignore regions of their class.
        detections: What the detector said; the best 100 per image take part.
        vocabulary: Roles of the labels.
        unknown: Unknown objects are an ordinary ``class``; or they and unknown-labelled detections
            are left out (``drop``); or the objects are regions to ``ignore`` for every class, and
            unknown-labelled detections are left out.
        difficult: Difficult objects are an ``object`` like others, or regions to ``ignore``.
        iou: Overlap that makes a match, TIDE's foreground threshold.
        background: Overlap up to which a detection is on background.
    """
    _check(unknown, difficult)
    found = cast(truth, detections, vocabulary, unknown=unknown, difficult=difficult, iou=iou)
    costs = Costs(found, iou, background)
    kind = np.full(len(detections), ABSENT, np.int8)
    kind[found.row] = costs.kind
    base = costs.ap
    names = list(costs.split) if unknown == "class" else []
    return Tide(
        ap=base,
        counts=costs.counts,
        main={name: max(costs.repaired(name) - base, 0.0) for name in ERRORS},
        special={
            "FalsePos": costs.without_false_positives() - base,
            "FalseNeg": costs.without_false_negatives() - base,
        },
        split={name: int(costs.split[name].sum()) for name in names},
        split_cost={
            name: max(costs.repaired_rows(costs.split[name]) - base, 0.0) for name in names
        },
        correct=int(np.count_nonzero(costs.correct)),
        kind=kind,
        missed=found.object_row[costs.missed],
        params={"unknown": unknown, "difficult": difficult, "iou": iou, "background": background},
    )


@question("tide", title="TIDE", paper="Bolya et al., TIDE, ECCV 2020")
def cost_of_errors(one: Deployed) -> Tide:
    """How much average precision each kind of error costs, unknown objects being a class."""
    return tide(one.truth, one.judged, one.matches.vocabulary)


def _check(unknown: str, difficult: str) -> None:
    for name, value, allowed in (
        ("unknown", unknown, ("class", "drop", "ignore")),
        ("difficult", difficult, ("object", "ignore")),
    ):
        if value not in allowed:
            raise UsageError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
