"""Evidence: does a classifier with a background class see its own objects as objects?

Figure 8 and Table 3 of Dhamija et al. (The Overlooked Elephant of Object Detection, WACV 2020,
supplement). A softmax over K classes and background gives each region a probability ``p_i`` of the
class it was detected as, and one of background, ``p_b``. Over the *correct* detections of a class,
the distribution of ``p_i - p_b`` says whether a region might be rejected as soon as background is
the likelier: each negative difference is a correct detection that would be lost. Detections on
unknown objects are set beside them: rejection helps as far as these are negative more often.

The paper prints mean and standard deviation, and does not say of which matching; here correct is
what the protocol of the matches calls correct, and the deviation is that of the population. Neither
does it say which detections a detector keeps. Most keep those whose ``p_i`` exceeds 0.05, so the
objects that background hides entirely are missing here: read the share of negative differences as
a lower bound.

Not a calibration, and not defined for sigmoids, whose background has no probability of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.evaluation.run import Run
from openset.findings import UsageError, refuse
from openset.matching import Matches
from openset.tables import Detections, LogitLayout
from openset.tables.logits import class_columns, softmax, without_unknown
from openset.tables.vocabulary import is_unknown_spelling

BINS = 20
ALL, ON_UNKNOWN = "all", "on unknown objects"
BACKGROUND = (LogitLayout.SOFTMAX_BACKGROUND_FIRST, LogitLayout.SOFTMAX_BACKGROUND_LAST)


@dataclass(frozen=True, slots=True)
class Spread:
    """How the difference is distributed over some detections.

    Attributes:
        count: Number of detections.
        mean: Mean of ``p_i - p_b``; None without detections.
        deviation: Its standard deviation.
        negative: Share of the detections in which background is the likelier.
        histogram: Detections in bins of equal width from -1 to 1.
    """

    count: int
    mean: float | None
    deviation: float | None
    negative: float | None
    histogram: tuple[int, ...]

    @classmethod
    def of(cls, difference: NDArray[np.float64]) -> Spread:
        """The spread of some differences."""
        counts, _ = np.histogram(difference, BINS, (-1.0, 1.0))
        bins = tuple(counts.tolist())
        if not len(difference):
            return cls(0, None, None, None, bins)
        mean, deviation = float(difference.mean()), float(difference.std())
        return cls(len(difference), mean, deviation, float((difference < 0).mean()), bins)


@dataclass(frozen=True)
class ObjectEvidence(Diagnosis):
    """Object against background, per class.

    Attributes:
        classes: The spread over the correct detections of each known class.
        correct: Over all of them.
        on_unknown: Over the known-labelled detections on unknown objects.
    """

    classes: dict[str, Spread]
    correct: Spread
    on_unknown: Spread

    def rows(self) -> list[Row]:
        """One row for all, one for unknown objects, and one per class."""
        named = {ALL: self.correct, ON_UNKNOWN: self.on_unknown, **self.classes}
        return [
            {
                "class": name,
                "detections": spread.count,
                "mean": spread.mean,
                "deviation": spread.deviation,
                "negative": spread.negative,
            }
            for name, spread in named.items()
        ]


def object_evidence(
    matches: Matches, detections: Detections, *, names: Sequence[str] | None = None
) -> ObjectEvidence:
    """The distribution of ``p_i - p_b`` over correct detections, per class.

    Args:
        matches: Matched detections.
        detections: The same detections, with the logits of a softmax that has a background column.
        names: What the class columns of the logits are called, in their order; by default the
            labels of the detections but for ``unknown``.

    Raises:
        InputError: There are no logits, or they have no background.
        UsageError: The columns of the logits cannot be named.
    """
    known = np.arange(len(matches)) < matches.known_end
    difference = np.full(len(matches), np.nan)
    difference[known] = _differences(matches, detections, names, known)
    correct = matches.outcome().correct & known
    of_class = {
        name: Spread.of(difference[correct & (matches.klass == klass)])
        for klass, name in enumerate(matches.vocabulary.known)
    }
    on_unknown = Spread.of(difference[matches.open_set_errors & known])
    return ObjectEvidence(of_class, Spread.of(difference[correct]), on_unknown)


@question(
    "object_evidence",
    title="Object against background",
    paper="Dhamija et al., WACV 2020, Figure 8 and Table 3",
)
def against_background(one: Deployed) -> ObjectEvidence:
    """How far the class is likelier than background in correct detections, by their logits."""
    return object_evidence(one.matches, one.detections)


def evidence_of(run: Run) -> Iterator[tuple[str, ObjectEvidence]]:
    """By detector; those without logits of a background, or with unnamed columns, have none.

    Nor have those whose tables are in parts: a run that is kept holds them, and can be asked.
    """
    if run.in_parts is not None:
        return
    for name, detections in run.detections.items():
        matches = run.evaluations[name].matches
        if detections.layout in BACKGROUND and matches is not None:
            try:
                yield name, object_evidence(matches, detections)
            except UsageError:  # nothing says which column is which class
                continue


def _differences(
    matches: Matches, detections: Detections, names: Sequence[str] | None, known: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """``p_i - p_b`` of the detections labelled with a known class, in class order."""
    logits, layout = detections.logits, detections.layout
    if logits is not None:
        logits, layout = without_unknown(logits, layout)
    if logits is None or layout not in BACKGROUND:
        have = "none" if logits is None else f"those of layout {layout}"
        message = f"object evidence reads logits with a background column, but there are {have}"
        raise refuse("OS501", message, fix="a softmax detector that keeps all its logits")
    columns = np.arange(logits.shape[1])[class_columns(layout)]
    column = columns[_places(matches, detections, names, len(columns))]
    shares = softmax(logits[matches.row[known]].astype(np.float64))
    background = 0 if layout is LogitLayout.SOFTMAX_BACKGROUND_FIRST else -1
    own = shares[np.arange(len(shares)), column[matches.klass[known]]]
    return np.asarray(own - shares[:, background])


def _places(
    matches: Matches, detections: Detections, names: Sequence[str] | None, count: int
) -> NDArray[np.int64]:
    """Which class column of the logits is that of each known class; -1 where there is none."""
    said = names or tuple(n for n in detections.labels if not is_unknown_spelling(n))
    if len(said) != count:
        raise UsageError(f"names must name the {count} class columns of the logits, in order")
    vocabulary = matches.vocabulary
    klass = vocabulary.classes(tuple(said))
    places = np.full(matches.n_known, -1, np.int64)
    inside = (klass >= 0) & (klass < matches.n_known)
    places[klass[inside]] = np.flatnonzero(inside)
    used = np.unique(matches.klass[: matches.known_end])
    if (places[used] < 0).any():
        absent = vocabulary.known[int(used[places[used] < 0][0])]
        raise UsageError(f"no class column of the logits is called {absent!r}")
    return places
