"""compare: do two detectors differ, beyond what the choice of test images explains?

Both results must come from the same ground truth and vocabulary, and from the same groups of images
if they were resampled by group. From resamples of one seed, every
resample took the same images for both, and the differences are paired. From different seeds they
are not: the interval is then that of detectors tested on different images, and wider.

Interval and p-value of a difference come from the same resamples, and p is below 0.05 exactly where
the interval leaves out 0. Not corrected for how many differences are looked at: a table does that
(`openset.evaluation.scoreboard`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.result import Evaluation
from openset.findings import UsageError
from openset.metrics import Metric, table
from openset.resampling.intervals import ALPHA, equal, p_value, percentiles

Numbers = NDArray[np.float64] | float
LEAST = 20  # images, or groups: with fewer, resamples are too few in kind for a p-value
NO_RESAMPLES = "no interval: a result has no resamples, no value, or hardly any resample has one"
CONSTANT = "no p-value where no resample differs from another"
UNPAIRED = "not paired, since resamples are of other images, groups or seeds: intervals are wider"


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
    """

    first: float | None
    second: float | None
    difference: float | None
    interval: tuple[float, float] | None = None
    p: float | None = None
    better: bool | None = None
    remark: str = NO_RESAMPLES

    @property
    def significant(self) -> bool:
        """Whether p is below 0.05, which is where the interval leaves out 0.

        For one difference that was chosen beforehand. Of many, some are so by chance: see the star
        of a scoreboard.
        """
        return self.p is not None and self.p < ALPHA


@dataclass(frozen=True)
class Comparison:
    """Two results side by side, with intervals of their differences."""

    differences: Mapping[str, Difference]
    metrics: Mapping[str, Metric] = field(default_factory=table, repr=False)

    def __getitem__(self, name: str) -> Difference:
        return self.differences[name]

    def __repr__(self) -> str:
        from openset.evaluation.scoreboard import Scoreboard  # which is made from comparisons

        return Scoreboard.between(self, ("first", "second")).differences().text()


def compare(first: Evaluation, second: Evaluation, *, force: bool = False) -> Comparison:
    """Compare two results on one benchmark, metric by metric.

    Args:
        first: The reference.
        second: What is compared with it.
        force: Compare in spite of different ground truth, vocabulary, protocol or groups.
    """
    if not force:
        _refuse_unlike(first, second)
    names = [name for name in first.values if name in second.values]
    differences = {name: _difference(first, second, name) for name in names}
    return Comparison(differences, first.metrics)


def against_first(results: Sequence[Evaluation], *, force: bool = False) -> list[Comparison | None]:
    """Every result against the first; None for the first itself."""
    first, *others = results
    return [None, *(compare(first, other, force=force) for other in others)]


def _refuse_unlike(first: Evaluation, second: Evaluation) -> None:
    a, b = first.provenance, second.provenance
    pairs = {
        # First, since a protocol also decides which synonyms join and which objects are ignored.
        "protocols": ((a.protocol, a.deviations), (b.protocol, b.deviations)),
        "vocabularies": (a.vocabulary_hash, b.vocabulary_hash),
        "ground truths": (a.truth_hash, b.truth_hash),
        "groups": (a.groups_hash or "none", b.groups_hash or "none"),
    }
    for what, (x, y) in pairs.items():
        if x != y:
            raise UsageError(
                f"the results have different {what} ({x} and {y}); force=True compares"
            )


def _difference(first: Evaluation, second: Evaluation, name: str) -> Difference:
    a, b = first.values[name].value, second.values[name].value
    if a is None or b is None:
        return Difference(a, b, None)
    metric = first.metrics.get(name)
    sign = {"higher": 1, "lower": -1}.get(str(metric.better) if metric else "", 0)
    better = None if not sign or isclose(a, b) else (b - a) * sign > 0
    found = Difference(a, b, b - a, better=better)
    if name not in first.replicates or name not in second.replicates:
        return found
    drawn, remark = _drawn(first, second, name)
    ends, p = percentiles(drawn), p_value(drawn)
    if ends is None:
        return found
    smaller = min(first, second, key=lambda result: result.size)
    if smaller.size < LEAST:
        p, remark = None, few(smaller.drawn)
    elif p is None:
        remark = CONSTANT
    return replace(found, interval=ends, p=p, remark=remark)


def _drawn(first: Evaluation, second: Evaluation, name: str) -> tuple[NDArray[np.float64], str]:
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
