"""CEC: a class expels what it is less sure of than of what it got right in training.

Zhao et al., Revisiting Open World Object Detection, Section 4.2. A class whose probability is not
above alpha times its mean over right training detections expels the box (Eqs. 6 and 7); what all
classes expel is unknown, and any other box goes to the best class that keeps it. The release
collects such means and never applies them; this is written from the equations, in which the sum
must run over the training detections (printed is the index of the one that is judged).

Right is a detection that claimed an object of its class and overlaps it by more than phi. The
release has 0.7 in place of the paper's 0.9, and counts several detections of one object, which
suppression leaves none of at such overlaps. A class without a right one has no mean and expels none
of its detections, which is said (OS670). Taken as a mean of 0, as in the release, it would keep the
boxes of all other classes, too, and nothing would ever be unknown. The paper gives all unknowns the
score 1, ties; here they are ranked by unknownness, and ``ranking="constant"`` is the paper's.

A detector that names unknowns itself (PAD, with which it is the paper's full method) keeps those,
and what it calls known is judged by its probabilities, in which the unknown has its share.

Not a calibration of probabilities: those that stay are as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level, UsageError, refuse
from openset.scorers import ledger
from openset.scorers._evidence import Evidence, gather
from openset.scorers._fitted import Fitted, Unknownness
from openset.scorers._logits import class_probabilities
from openset.scorers._spec import TRAINING, scorer
from openset.scorers.gamma_rule import every_score
from openset.scorers.ranking import RANKINGS, RankBy, unknown_score
from openset.scorers.rule import (
    are_regions,
    best_of_region,
    called,
    check_knowns,
    decided,
    filters_of,
    known_names,
    suppressed,
)
from openset.tables import Detections

Array = NDArray[np.float64]


ALPHAS = tuple(step / 20 for step in range(21))
"""What alpha is chosen from."""


@scorer(
    "cec",
    title="CEC",
    paper="Zhao et al., Revisiting Open World Object Detection (RE-OWOD), 2022",
    requires=("logits", "label"),
    fit_requires=("overlap",),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class CEC:
    """How little any class is as sure as it was of its right training detections.

    With p the probability of a class and m its mean over right training detections, the least
    ``m / (m + p)`` of all classes: where it is at least ``1 / (1 + alpha)``, all expel the box. 0
    for a detection whose class has no right one. ``openset score --rule cec`` decides.

    Args:
        phi: Right detections are those that overlap their object by more.
    """

    mean: Array
    phi: float

    @classmethod
    def fit(cls, evidence: Evidence, *, phi: float = 0.9) -> CEC:
        """The mean of every class; 0 where it has no right detection."""
        if not 0 <= phi < 1:
            raise UsageError(f"phi must be in [0, 1), not {phi}")
        shares, label = _shares(evidence), evidence["label"]
        classes = shares.shape[1]
        right = np.flatnonzero((evidence["overlap"] > phi) & (label < classes))  # else: unknown
        if not len(right):
            message = f"none of {evidence.size} detections overlaps its object by more than {phi:g}"
            raise refuse("OS671", message, count=evidence.size)
        own, count = shares[right, label[right]], np.bincount(label[right], minlength=classes)
        return cls(np.bincount(label[right], own, classes) / np.maximum(count, 1), phi)

    def score(self, evidence: Evidence) -> Unknownness:
        """The least m / (m + p)."""
        ratio = self.mean / np.maximum(self.mean + _shares(evidence), 1e-300)
        ratio[:, self.blank] = 1.0
        own = np.append(self.blank, False)[np.minimum(evidence["label"], len(self.mean))]
        return np.where(own, 0.0, ratio.min(axis=1))

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Classes without a right training detection."""
        return self.mean == 0

    def keeps(self, shares: Array, label: NDArray[np.int64], alpha: float) -> NDArray[np.bool_]:
        """Which classes do not expel each detection (Eq. 7)."""
        kept = (shares > alpha * self.mean) & ~self.blank
        own = np.flatnonzero(self.blank[label])
        kept[own, label[own]] = True
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class CecRule:
    """CEC with the alpha at which it decides.

    Attributes:
        fitted: The scorer, with its means and phi.
        alpha: A class expels what is not above this share of its mean; with 0 nothing is unknown.
            The paper has 0.5, chosen so that known mAP falls by at most 1 % on validation pictures.
        ranking: The score of an unknown (`openset.scorers.ranking`).
    """

    kind: ClassVar[str] = "cec"

    fitted: Fitted
    alpha: float = 0.5
    ranking: RankBy = "unknownness"

    def __post_init__(self) -> None:
        if not self.alpha >= 0:
            raise UsageError(f"alpha must be at least 0, not {self.alpha}")
        if self.ranking not in RANKINGS:
            raise UsageError(f"ranking must be one of {', '.join(RANKINGS)}, not {self.ranking!r}")

    def __str__(self) -> str:
        return f"alpha {self.alpha:g}, phi {self.learned.phi:g}"

    @property
    def learned(self) -> CEC:
        """Means and phi."""
        return cast(CEC, self.fitted.state)

    @property
    def file_name(self) -> str:
        """What its file among those of a sweep is called."""
        return f"alpha{self.alpha:g}-phi{self.learned.phi:g}"

    @property
    def swept(self) -> Mapping[str, float]:
        """What it is chosen by."""
        return {"alpha": self.alpha, "phi": self.learned.phi}

    @property
    def options(self) -> Mapping[str, Any]:
        """All of it."""
        return {**self.swept, "ranking": self.ranking}

    @property
    def margin(self) -> float:
        """The mean probability up to which classes expel."""
        return float(self.alpha * self.learned.mean.mean())

    def idle(self) -> CecRule:
        """The same with nothing unknown."""
        return replace(self, alpha=0.0)

    def findings(self, detections: Detections) -> list[Finding]:
        """Classes without a right training detection."""
        absent = [detections.labels[at] for at in np.flatnonzero(self.learned.blank)]
        if not absent:
            return []
        message = (
            f"{len(absent)} classes have no training detection that overlaps its object by more "
            f"than {self.learned.phi:g}: they expel none of theirs"
        )
        return [Finding("OS670", Level.WARNING, message, len(absent), absent[0])]

    def apply(self, detections: Detections, chosen_on: Detections | None = None) -> Detections:
        """Detections with the labels that their classes leave them, and alpha in their ledger.

        A row stays while its own class keeps it, as each is a claim of its own. Regions before
        suppression (`openset run --regions`) are suppressed afterwards, unknown being one class.

        Args:
            detections: Detections with all class scores, or regions.
            chosen_on: What alpha was chosen on; by default it is the user's.
        """
        if detections.layout is None or not detections.layout.has_unknown:
            check_knowns(detections)
        scored = self.fitted.scored(detections)
        columns = self._columns(scored)
        found = _suppressed(scored, columns) if are_regions(detections) else _all(scored, columns)
        return ledger.recorded(found, decided(self, chosen_on, detections))

    def keeps(self, detections: Detections) -> NDArray[np.bool_]:
        """Which classes do not expel each detection."""
        shares = _shares(gather("cec", detections, ("logits",)))
        return self.learned.keeps(shares, detections.label, self.alpha)

    def _columns(self, scored: Detections) -> dict[str, NDArray[Any]]:
        """Label and score of each; what the detector calls unknown stays so."""
        names = known_names(scored)
        label, score = np.full(len(scored), len(names)), scored.score.astype(np.float64)
        mine = np.flatnonzero(scored.label < len(names))
        label[mine], score[mine] = self._judged(replace(scored.select(mine), labels=names))
        return {"label": label, "score": score}

    def _judged(self, scored: Detections) -> tuple[NDArray[np.int64], Array]:
        """Label and score of each: its own, those of the best class that keeps it, or unknown."""
        keeps, scores, rows = self.keeps(scored), every_score(scored), np.arange(len(scored))
        best = np.where(keeps, scores, -1.0).argmax(axis=1)
        label = np.where(keeps[rows, scored.label], scored.label, best)
        unknown = ~keeps.any(axis=1)
        assert scored.unknownness is not None
        limit = 1 / (1 + self.alpha)
        ranked = unknown_score(scored, scored.score, scored.unknownness, limit, self.ranking)
        found = np.where(unknown, ranked, np.minimum(scores[rows, label], 1))
        return np.where(unknown, len(scored.labels), label), found


def _shares(evidence: Evidence) -> Array:
    """The probability of each class, the unknown having its share."""
    known = np.asarray(evidence.known_share)
    return class_probabilities(evidence) * (known[:, None] if known.ndim else known)


def _all(scored: Detections, columns: Mapping[str, NDArray[Any]]) -> Detections:
    return called(scored, np.arange(len(scored)), columns)


def _suppressed(scored: Detections, columns: Mapping[str, NDArray[Any]]) -> Detections:
    """A class that keeps a region has a row of its own; of an unknown region one row is left."""
    every, label = np.arange(len(scored)), columns["label"]
    unknown = (label == len(known_names(scored))) & best_of_region(scored, scored.score, every)
    rows = np.flatnonzero(unknown | (label == scored.label))
    filters = filters_of(scored)
    return suppressed(scored, rows, columns, columns["score"], (filters["nms"], filters["most"]))
