"""compare: do two methods differ, beyond what the choice of test images and training explain?

Both must come from the same ground truth and vocabulary, and from the same groups of images if they
were resampled by group. From resamples of one seed, every resample took the same images for both,
and the differences are paired. From different seeds they are not: the interval is then that of
detectors tested on different images, and wider.

A method is one result, or several of trainings that differ by their seed. Of several the means are
compared, and interval and p hold the spread of the trainings, too. Trainings of two methods are
paired only if that is said: seed 1 of one and of another have nothing in common, unless they share
what the seed decides (initial weights, order of images, or the detector that scorers look at).

Interval and p-value of a difference come from the same resamples, and p is below 0.05 exactly where
the interval leaves out 0. Not corrected for how many differences are looked at: a table does that
(`openset.evaluation.scoreboard`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import isclose

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.trainings import Given, Trainings, unlike
from openset.findings import UsageError
from openset.metrics import Metric, table
from openset.resampling.intervals import ALPHA, deviation, equal, judged
from openset.resampling.trainings import Spread, spread, together

Numbers = NDArray[np.float64] | float
LEAST = 20  # images, or groups: with fewer, resamples are too few in kind for a p-value
NO_RESAMPLES = "no interval: a result has no resamples, no value, or hardly any resample has one"
CONSTANT = "no p-value where no resample differs from another"
UNPAIRED = "not paired, since resamples are of other images, groups or seeds: intervals are wider"
ONE_TRAINING = "of a method with one training, what another would change is in no interval"


def few(drawn: str) -> str:
    """The remark on p-values where there are too few of what resamples draw."""
    return f"fewer than {LEAST} {drawn}: intervals, but no p-values and no stars"


@dataclass(frozen=True, slots=True)
class Difference:
    """How one metric differs between two results.

    Attributes:
        first: Value of the first result.
        second: Value of the second result.
        difference: Second minus first.
        interval: Its 95 % interval, if both results have resamples.
        p: Two-sided p-value of no difference, for this difference alone.
        better: Whether the second is better (True), worse (False), or neither can be said (None).
        remark: Why there is no interval or no p-value, or what is special about them.
        runs: How many trainings both have.
        sd_images: One deviation of the difference by the choice of test images.
        sd_training: One deviation by training, as far as there are several; else None.
    """

    first: float | None
    second: float | None
    difference: float | None
    interval: tuple[float, float] | None = None
    p: float | None = None
    better: bool | None = None
    remark: str = NO_RESAMPLES
    runs: tuple[int, int] = (1, 1)
    sd_images: float | None = None
    sd_training: float | None = None

    @property
    def significant(self) -> bool:
        """Whether p is below 0.05, which is where the interval leaves out 0.

        For one difference that was chosen beforehand. Of many, some are so by chance: see the star
        of a scoreboard.
        """
        return self.p is not None and self.p < ALPHA


@dataclass(frozen=True)
class Comparison:
    """Two methods side by side, with intervals of their differences.

    Attributes:
        differences: Metric name → how it differs.
        methods: The two.
        metrics: What is known about every metric, by name.
    """

    differences: Mapping[str, Difference]
    methods: tuple[Trainings, Trainings] = field(repr=False)
    metrics: Mapping[str, Metric] = field(default_factory=table, repr=False)

    def __getitem__(self, name: str) -> Difference:
        return self.differences[name]

    def __repr__(self) -> str:
        from openset.evaluation.scoreboard import Scoreboard  # which is made from comparisons

        return Scoreboard.between(self, ("first", "second")).differences().text()


def compare(
    first: Given, second: Given, *, force: bool = False, paired: bool = False
) -> Comparison:
    """Compare two methods on one benchmark, metric by metric.

    Args:
        first: The reference: a result, or those of several trainings.
        second: What is compared with it, likewise.
        force: Compare in spite of different ground truth, vocabulary, protocol or groups.
        paired: Whether the trainings of both belong together, each to that in its place.
    """
    a, b = Trainings.of(first, force=force), Trainings.of(second, force=force)
    if not force:
        _refuse_unlike(a, b)
    if paired and len(a) != len(b):
        raise UsageError(f"{len(a)} and {len(b)} trainings cannot be paired")
    names = [name for name in a.values if name in b.values]
    differences = {name: _difference(a, b, name, paired) for name in names}
    return Comparison(differences, (a, b), a.metrics)


def against_first(
    methods: Iterable[Trainings], *, force: bool = False, paired: bool = False
) -> list[Comparison | None]:
    """Every method against the first; None for the first itself."""
    first, *others = methods
    return [None, *(compare(first, other, force=force, paired=paired) for other in others)]


def _refuse_unlike(first: Trainings, second: Trainings) -> None:
    found = unlike(first.provenance, second.provenance)
    if found is not None:
        what, x, y = found
        raise UsageError(f"the results have different {what} ({x} and {y}); force=True compares")


def _difference(first: Trainings, second: Trainings, name: str, paired: bool) -> Difference:
    a, b = first.values[name].value, second.values[name].value
    found = Difference(a, b, None, runs=(len(first), len(second)))
    if a is None or b is None:
        return found
    metric = first.metrics.get(name)
    sign = {"higher": 1, "lower": -1}.get(str(metric.better) if metric else "", 0)
    better = None if not sign or isclose(a, b) else (b - a) * sign > 0
    by_training = _spreads(first, second, name, paired)
    known = together(0.0, *by_training).deviation if by_training else None
    found = replace(found, difference=b - a, better=better, sd_training=known)
    if name not in first.replicates or name not in second.replicates:
        return found
    drawn, remark = _drawn(first, second, name)
    value = float(_apart(a, b, max(abs(a), abs(b))))
    said = judged(drawn, value, by_training)
    if said is None:
        return found
    ends, p = said
    smaller = min(first, second, key=lambda result: result.size)
    if smaller.size < LEAST:
        p, remark = None, few(smaller.drawn)
    elif p is None:
        remark = CONSTANT
    elif 1 in found.runs and found.runs != (1, 1):
        remark = "; ".join(filter(None, (remark, ONE_TRAINING)))
    by_images = deviation(drawn, value)
    return replace(found, interval=ends, p=p, remark=remark, sd_images=by_images)


def _spreads(first: Trainings, second: Trainings, name: str, paired: bool) -> list[Spread]:
    """The spreads of trainings that a difference has: none of single ones."""
    if paired:
        each = zip(first.runs(name), second.runs(name), strict=True)
        found = [spread([b - a for a, b in each if a is not None and b is not None])]
    else:
        found = [first.spread(name), second.spread(name)]
    return [one for one in found if one is not None]


def _drawn(first: Trainings, second: Trainings, name: str) -> tuple[NDArray[np.float64], str]:
    """The difference in every resample, and a remark if it is not paired."""
    a, b = first.replicates[name], second.replicates[name]
    one, other = first.provenance, second.provenance
    scale = max(abs(first.values[name].value), abs(second.values[name].value))
    drawn = [(p.seed, p.truth_hash, p.groups_hash) for p in (one, other)]
    if drawn[0] == drawn[1] and len(a) == len(b):
        return _apart(a, b, scale), ""
    shorter = min(len(a), len(b))
    # Two further on, lest draws of one seed, or a draw and its other half, meet.
    return _apart(np.roll(a[:shorter], 2), b[:shorter], scale), UNPAIRED


def _apart(first: Numbers, second: Numbers, scale: float) -> NDArray[np.float64]:
    """Second minus first, 0 where they differ by rounding only."""
    return np.where(equal(first, second, scale), 0.0, second - first)
