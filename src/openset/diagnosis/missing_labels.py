"""Missing labels: background detections that are probably objects nobody labelled.

Open-set ground truth is rarely exhaustive, and every unlabelled object that a detector finds counts
against it. This lists detections that touch no labelled object (IoU below 0.1 with each), the most
likely first, for a person to look at.

The probability is a heuristic and says so: among detections of the same kind (known-labelled,
unknown-labelled) that *do* touch a labelled object, ``q(s)`` is the share at score ``s`` that fit
one well (IoU of at least 0.5, whatever the class), in bins of equal size, made monotone in ``s``.
It is what the score would be worth if the unlabelled part of the images were like the labelled
part. True background has no object to fit, so `q` is an upper estimate where the labels are nearly
complete; use it to rank, not to count.

Not a correction of any metric: nothing is removed from the evaluation. Crowd regions are no objects
here, so a detection inside a crowd of another class may be listed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._points import TOUCH, within_limit
from openset.diagnosis._regions import intersection, pairs
from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.matching import Matches
from openset.tables import Detections

FIT = 0.5
BINS = 50
LEAST_PER_BIN = 20
POOL = 20_000  # most candidates whose boxes are compared


@dataclass(frozen=True, slots=True)
class Suspect:
    """A detection to look at.

    Attributes:
        image: Id of the image.
        row: Row in the detections.
        label: What the detector called it.
        score: Its score.
        overlap: Its best overlap with any labelled object.
        probability: Estimate that an object is there; see the module.
        support: Other background detections on the same spot, None if boxes were not given.
    """

    image: int | str
    row: int
    label: str
    score: float
    overlap: float
    probability: float
    support: int | None


@dataclass(frozen=True)
class MissingLabels(Diagnosis):
    """Suspects, the most probable first.

    Attributes:
        suspects: What to look at.
        candidates: Background detections that were considered.
    """

    suspects: tuple[Suspect, ...]
    candidates: int

    def rows(self) -> list[Row]:
        """One row per suspect."""
        return [asdict(suspect) for suspect in self.suspects]

    def notes(self) -> list[str]:
        """How many there were to choose from."""
        return [f"of {self.candidates} detections that touch no labelled object"]


def missing_labels(
    matches: Matches,
    detections: Detections | None = None,
    *,
    limit: int = 200,
    minimum_score: float = 0.0,
    least_support: int = 0,
) -> MissingLabels:
    """List background detections that are probably unlabelled objects.

    Args:
        matches: Matched detections.
        detections: The detections that were matched. With their boxes, detections on one spot
            become one suspect with the others as `support`; without, each is its own suspect.
        limit: Most suspects to return.
        minimum_score: Least score of a suspect.
        least_support: Least `support` of a suspect; needs `detections`.
    """
    overlap, _ = matches.best_any
    taking = within_limit(matches) & ~matches.outcome().ignored
    background = np.flatnonzero(taking & (overlap < TOUCH) & (matches.score >= minimum_score))
    chance = _chance(matches, overlap, taking, background)
    order = np.lexsort((matches.row[background], -matches.score[background], -chance))
    pool = background[order[: limit if detections is None else max(limit, POOL)]]
    chance = chance[order[: len(pool)]]
    support = None
    if detections is not None:
        peak, count = _spots(matches, detections, pool)
        chosen = peak & (count >= least_support)
        pool, chance, support = pool[chosen], chance[chosen], count[chosen]
    support = None if support is None else support[:limit]
    suspects = _suspects(matches, pool[:limit], overlap, chance[:limit], support)
    return MissingLabels(suspects, len(background))


@question("missing_labels", title="Labels that may be missing")
def unlabelled(one: Deployed) -> MissingLabels:
    """Detections on nothing, at the operating point's score or above, that are probably objects."""
    return missing_labels(one.matches, one.detections, minimum_score=one.score)


def _suspects(
    matches: Matches,
    rows: NDArray[np.intp],
    overlap: NDArray[np.float64],
    chance: NDArray[np.float64],
    support: NDArray[np.int64] | None,
) -> tuple[Suspect, ...]:
    names = np.array([*matches.vocabulary.known, "unknown"])
    columns = (
        matches.image_ids[matches.image[rows]],
        matches.row[rows],
        names[matches.klass[rows]],
        matches.score[rows],
        overlap[rows],
        chance,
    )
    others = [None] * len(rows) if support is None else support.tolist()
    listed = zip(*(column.tolist() for column in columns), others, strict=True)
    return tuple(Suspect(*values) for values in listed)


def _chance(
    matches: Matches,
    overlap: NDArray[np.float64],
    taking: NDArray[np.bool_],
    wanted: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Per wanted detection, the calibrated share of well-fitting detections at its score."""
    result = np.zeros(len(wanted))
    said = matches.labelled_unknown
    for unknown in (False, True):
        here = said[wanted] == unknown
        near = taking & (overlap >= TOUCH) & (said == unknown)
        result[here] = calibrated(
            matches.score[near], overlap[near] >= FIT, matches.score[wanted[here]]
        )
    return result


def calibrated(
    score: NDArray[np.float64], success: NDArray[np.bool_], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of successes as a rising step function of the score, read at other scores.

    Bins hold equally many scores; the share of a bin is smoothed by one success and one failure, so
    that no score is certain. Scores below the lowest bin take its share. Without data: 0.

    >>> ten = np.repeat([0.1, 0.9], 20)
    >>> calibrated(ten, ten > 0.5, np.array([0.05, 0.5, 0.95])).round(2).tolist()
    [0.05, 0.05, 0.95]
    """
    if not len(score):
        return np.zeros(len(at))
    bins = int(np.clip(len(score) // LEAST_PER_BIN, 1, BINS))
    order = np.argsort(score)
    begin = np.arange(bins) * len(score) // bins
    sizes = np.diff(np.append(begin, len(score)))
    share = (np.add.reduceat(success[order], begin, dtype=np.int64) + 1) / (sizes + 2)
    step = np.searchsorted(score[order][begin], at, side="right") - 1
    return rising(share, sizes)[np.maximum(step, 0)]


def rising(values: NDArray[np.float64], weights: NDArray[np.integer]) -> NDArray[np.float64]:
    """Isotonic regression: the nearest rising sequence in weighted least squares.

    By the min-max formula, ``max over j <= i of min over k >= i of mean(j..k)``: quadratic, and
    meant for a few bins.

    >>> rising(np.array([1.0, 3.0, 2.0]), np.array([1, 1, 1])).tolist()
    [1.0, 2.5, 2.5]
    """
    total = np.concatenate([[0.0], np.cumsum(values * weights)])
    mass = np.concatenate([[0.0], np.cumsum(weights)])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (total[None, 1:] - total[:-1, None]) / (mass[None, 1:] - mass[:-1, None])
    n = len(values)
    lower = np.tril(np.ones((n, n), np.bool_), -1)
    least = np.minimum.accumulate(np.where(lower, np.inf, mean)[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.where(lower.T | np.eye(n, dtype=np.bool_), least, -np.inf).max(axis=0))


def _spots(
    matches: Matches, detections: Detections, pool: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which of the pool no better one overlaps (by half), and how many others each overlaps.

    The pool comes best first, so "better" is "earlier".
    """
    image, box = matches.image[pool], detections.box[matches.row[pool]]
    area = box[:, 2] * box[:, 3]
    peak, count = np.ones(len(pool), np.bool_), np.zeros(len(pool), np.int64)
    for a, b in pairs(image, image, matches.n_images):
        common = intersection(box[a], box[b])
        with np.errstate(invalid="ignore", divide="ignore"):
            close = (common / (area[a] + area[b] - common) >= FIT) & (a != b)
        peak[a[close & (b < a)]] = False
        count += np.bincount(a[close], minlength=len(pool))
    return peak, count
