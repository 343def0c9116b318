"""Standing: detectors beside each other at one common operating point, ranked in groups.

At its own operating point a detector that finds few known objects names few unknown ones, too, and
looks good. Here each keeps its second threshold and has the highest minimum score at which it finds
as many known objects as the one that finds fewest at its own operating point: known recall is
equal, but for ties of scores, and what differs is how many unknown objects get a known name.

Detectors of a group do not differ from its best beyond what the choice of images explains: the
paired resamples of the run, thresholds held, p corrected for all pairs (Holm 1979). Without
resamples there are no groups. Thresholds are chosen on the data that they are shown on.

Not a metric, and not the scoreboard, whose numbers count all boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import WRONG, Flow, called, fates, operating_flow
from openset.evaluation.comparison import LEAST
from openset.resampling.draws import draw
from openset.resampling.intervals import ALPHA, Ends, holm, interval, p_value

Drawn = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Place:
    """A detector at the common operating point.

    Attributes:
        model: The detector.
        score: Its minimum score there.
        flow: What becomes of objects there.
        interval: Of the share of unknown objects under a known name; None without resamples.
        group: From 0, the best; detectors of a group do not differ from its best.
    """

    model: Deployed
    score: float
    flow: Flow
    interval: Ends | None = None
    group: int = 0

    @property
    def named(self) -> float:
        """Share of unknown objects under a known name."""
        return self.flow.unknown_as_known or 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Detectors by the share of unknown objects under a known name, least first.

    Attributes:
        recall: Known recall of all, that of the detector with the least.
        places: The detectors.
        tested: Whether resamples say which of them differ.
    """

    recall: float
    places: tuple[Place, ...]
    tested: bool

    @property
    def groups(self) -> list[list[Place]]:
        """The detectors by group, best first; of one each where nothing was tested."""
        if not self.tested:
            return [[place] for place in self.places]
        numbers = dict.fromkeys(place.group for place in self.places)
        return [[place for place in self.places if place.group == n] for n in numbers]


def standing(models: Sequence[Deployed]) -> Standing | None:
    """Detectors at a common known recall; None where there is nothing to compare."""
    least = int(min(model.flow.known_right for model in models))
    if len(models) < 2 or not least or not models[0].flow.unknown:
        return None
    found = [_place(model, least) for model in models]
    drawn = _drawn(found)
    for at, one in enumerate(drawn):
        found[at] = replace(found[at], interval=interval(one, found[at].named, within=(0, 1)))
    order = sorted(range(len(found)), key=lambda at: (found[at].named, at))
    tested = bool(drawn) and models[0].matches.n_units >= LEAST
    group = _groups([drawn[at] for at in order]) if tested else [0] * len(order)
    places = (replace(found[at], group=n) for at, n in zip(order, group, strict=True))
    return Standing(least / models[0].flow.known, tuple(places), tested)


def _place(model: Deployed, least: int) -> Place:
    score = _score_finding(model, least)
    return Place(model, score, operating_flow(model.matches, score, model.second))


def _score_finding(model: Deployed, least: int) -> float:
    """The highest minimum score at which `least` known objects are called by their class."""
    matches, target = model.matches, model.targets.known
    named = np.flatnonzero(called(matches, -np.inf, model.second).known & (target >= 0))
    right = named[matches.objects.klass[target[named]] == matches.klass[named]]
    best = np.full(len(matches.objects), -np.inf)
    np.maximum.at(best, target[right], matches.score[right])
    return float(np.sort(best)[-least])


def _drawn(places: Sequence[Place]) -> list[Drawn]:
    """Per detector the share in every resample; nothing without resamples."""
    first = places[0].model
    origin, matches = first.evaluation.provenance, first.matches
    if not origin.resamples:
        return []
    objects = matches.objects
    unknown = (objects.klass == matches.n_known) & ~objects.ignored
    unit = matches.units[objects.image]
    held, row = np.unique(unit[unknown], return_inverse=True)
    weights = draw(matches.n_units, origin.seed, origin.resamples)[held].astype(np.float32)
    total = np.bincount(row) @ weights
    with np.errstate(invalid="ignore"):
        return [
            (np.bincount(row, _named(place)[unknown], len(held)) @ weights) / total
            for place in places
        ]


def _named(place: Place) -> NDArray[np.bool_]:
    """Objects under a wrong known name."""
    model = place.model
    call = called(model.matches, place.score, model.second)
    return np.asarray(fates(model.matches, call, model.targets) == WRONG)


def _groups(drawn: Sequence[Drawn]) -> list[int]:
    """The group of each, best first: a new one begins with whoever differs from the last's best."""
    pairs = list(combinations(range(len(drawn)), 2))
    corrected = holm([p_value(drawn[b] - drawn[a]) for a, b in pairs])
    found = zip(pairs, corrected, strict=True)
    differ = {pair for pair, p in found if p is not None and p < ALPHA}
    best, groups = 0, [0]
    for at in range(1, len(drawn)):
        if (best, at) in differ:
            best = at
        groups.append(groups[-1] + (best == at))
    return groups
