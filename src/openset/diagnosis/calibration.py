"""Calibration: does a score mean what it says, on known data and with unknown objects there?

The detection expected calibration error of Küppers et al. (CVPR workshops, 2020) over scores alone:
boxes in ten equal bins of their score; in each the distance of the mean score from the share of
boxes that are right; the mean of these, weighed by boxes. A box is right if it claims an object of
its class at the protocol's first overlap; ignored boxes take no part.

Three views. "closed set": boxes labelled by a known class on images that are not wild, without
those on unknown objects, what calibration papers report. "open set": the same of all images and
with those on unknown objects, which are wrong: the difference is what unknown objects do to the
meaning of a score. "unknown": boxes labelled unknown, right if they claim an unknown object.

Missed objects are no part of it: it says what a kept box is worth. Not a fitting of scores (that is
the holder's choice), and not the threshold of unknownness (`openset.scorers.calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.findings import refuse
from openset.matching import Matches

BINS = 10
ALL = "all"
Mask = NDArray[np.bool_]
OPEN, CLOSED, UNKNOWN = VIEWS = ("open set", "closed set", "unknown")


@dataclass(frozen=True, eq=False)
class Reliability:
    """Boxes of one view by their score.

    Attributes:
        view: One of `VIEWS`.
        boxes: Boxes per bin.
        score: Sum of their scores per bin.
        right: How many of them are right, per bin.
        on_unknown: How many of them lie on an unknown object, per bin.

    >>> one = Reliability("open set", *np.array([[2, 2], [0.5, 1.5], [0, 2], [1, 0]]))
    >>> one.gaps.tolist(), one.ece
    ([0.25, -0.25], 0.25)
    """

    view: str
    boxes: NDArray[np.int64]
    score: NDArray[np.float64]
    right: NDArray[np.int64]
    on_unknown: NDArray[np.int64]

    @property
    def gaps(self) -> NDArray[np.float64]:
        """Per bin the mean score less the share that is right; 0 where there is no box."""
        return (self.score - self.right) / np.maximum(self.boxes, 1)

    @property
    def ece(self) -> float | None:
        """The expected calibration error; None without a box."""
        total = self.boxes.sum()
        return float((np.abs(self.gaps) * self.boxes).sum() / total) if total else None

    @property
    def largest(self) -> float | None:
        """The largest gap of a bin."""
        return float(np.abs(self.gaps).max()) if self.boxes.any() else None

    def rows(self) -> list[Row]:
        """All boxes together, with their error, then each bin that has boxes, highest first."""
        columns = (self.boxes, self.score, self.right, self.on_unknown)
        found = [_row(self.view, ALL, *(float(of.sum()) for of in columns)) | {"ece": self.ece}]
        edges = np.linspace(0, 1, len(self.boxes) + 1)
        for at in np.flatnonzero(self.boxes)[::-1].tolist():
            span = f"{edges[at]:.1f}-{edges[at + 1]:.1f}"
            row = _row(self.view, span, *(float(of[at]) for of in columns))
            found.append(row | {"ece": None})
        return found


def _row(view: str, span: str, boxes: float, score: float, right: float, alien: float) -> Row:
    n = boxes or None
    return {
        "view": view,
        "scores": span,
        "boxes": int(boxes),
        "mean_score": n and score / n,
        "right": n and right / n,
        "too_sure": n and (score - right) / n,
        "on_unknown": n and alien / n,
    }


@dataclass(frozen=True)
class Calibrated(Diagnosis):
    """All views of one detector."""

    views: tuple[Reliability, ...]

    def __getitem__(self, view: str) -> Reliability:
        return self.views[VIEWS.index(view)]

    def rows(self) -> list[Row]:
        """The whole of each view, then their bins."""
        each = [view.rows() for view in self.views]
        return [rows[0] for rows in each] + [row for rows in each for row in rows[1:]]

    def notes(self) -> list[str]:
        """What unknown objects do to it."""
        closed, opened = self[CLOSED].ece, self[OPEN].ece
        if closed is None or opened is None:
            return []
        return [
            f"expected calibration error {100 * closed:.1f} % on closed-set images, "
            f"{100 * opened:.1f} % with unknown objects and wild images"
        ]


def calibration(matches: Matches) -> Calibrated:
    """Reliability of the scores of matched detections.

    Raises:
        InputError: Scores are not all within 0 and 1 (OS380).
    """
    score = matches.score
    outside = np.flatnonzero(~((score >= 0) & (score <= 1)))
    if len(outside):
        raise refuse(
            "OS380",
            f"{len(outside)} of {len(score)} scores are outside of 0..1",
            count=len(outside),
            example=f"score {score[outside[0]]:g} on image {_image(matches, int(outside[0]))}",
        )
    known, alien = ~matches.labelled_unknown, _on_unknown(matches)
    closed = known & ~matches.wild[matches.image] & ~alien
    return Calibrated(
        tuple(
            _reliability(matches, view, mask, alien)
            for view, mask in zip(VIEWS, (known, closed, ~known), strict=True)
        )
    )


@question("calibration", title="Calibration", paper="Küppers et al., CVPR workshops 2020")
def of_detector(one: Deployed) -> Calibrated:
    """What scores are worth: mean score against the share of boxes that are right, bin by bin."""
    return calibration(one.matches)


def _on_unknown(matches: Matches) -> Mask:
    """Boxes that lie on an unknown object, and found none of a known class."""
    columns, outcome = matches.columns, matches.outcome()
    nearest = columns.iou_unknown >= columns.iou_known
    found = outcome.correct & ~matches.labelled_unknown
    return matches.overlaps(columns.iou_unknown) & nearest & ~found


def _reliability(matches: Matches, view: str, mask: Mask, alien: Mask) -> Reliability:
    outcome = matches.outcome()
    rows = np.flatnonzero(mask & ~outcome.ignored)
    score = matches.score[rows]
    place = np.minimum((score * BINS).astype(np.int64), BINS - 1)
    sums = np.bincount(place, score, minlength=BINS).astype(np.float64)
    boxes, right, on_unknown = (
        np.bincount(place[which], minlength=BINS)
        for which in (slice(None), outcome.correct[rows], alien[rows])
    )
    return Reliability(view, boxes, sums, right, on_unknown)


def _image(matches: Matches, row: int) -> str:
    return str(matches.image_ids[matches.image[row]])
