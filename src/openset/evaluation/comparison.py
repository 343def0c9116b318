"""compare: do two detectors differ, beyond what the choice of test images explains?

Both results must come from the same ground truth and vocabulary, and from resamples of one seed:
then every resample drew the same images for both, and the differences are paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.result import Evaluation
from openset.findings import UsageError
from openset.metrics import Metric, table
from openset.resampling.intervals import equal, interval, p_value

Numbers = NDArray[np.float64] | float


@dataclass(frozen=True, slots=True)
class Difference:
    """How one metric differs between two results.

    Attributes:
        first: Value of the first result.
        second: Value of the second result.
        difference: Second minus first.
        interval: Its 95 % interval, if both results have resamples.
        p: Two-sided p-value of no difference.
        better: Whether the second is better (True), worse (False), or neither can be said (None).
    """

    first: float | None
    second: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    better: bool | None

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference leaves out 0."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


@dataclass(frozen=True)
class Comparison:
    """Two results side by side, with paired intervals of their differences."""

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
        force: Compare in spite of different ground truth, vocabulary or protocol.
    """
    if not force:
        _refuse_unlike(first, second)
    paired = first.provenance.seed == second.provenance.seed
    names = [name for name in first.values if name in second.values]
    differences = {name: _difference(first, second, name, paired) for name in names}
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
    }
    for what, (x, y) in pairs.items():
        if x != y:
            raise UsageError(
                f"the results have different {what} ({x} and {y}); force=True compares"
            )


def _difference(first: Evaluation, second: Evaluation, name: str, paired: bool) -> Difference:
    a, b = first.values[name].value, second.values[name].value
    if a is None or b is None:
        return Difference(a, b, None, None, None, None)
    ends, p = None, None
    if paired and name in first.replicates and name in second.replicates:
        scale = max(abs(a), abs(b))
        drawn = _apart(first.replicates[name], second.replicates[name], scale)
        ends, p = interval(drawn, float(_apart(a, b, scale)), scale=scale), p_value(drawn)
    metric = first.metrics.get(name)
    sign = {"higher": 1, "lower": -1}.get(str(metric.better) if metric else "", 0)
    better = None if not sign or isclose(a, b) else (b - a) * sign > 0
    return Difference(a, b, b - a, ends, p, better)


def _apart(first: Numbers, second: Numbers, scale: float) -> NDArray[np.float64]:
    """Second minus first, 0 where they differ by rounding only."""
    return np.where(equal(first, second, scale), 0.0, second - first)
