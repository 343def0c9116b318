"""compare: do two detectors differ, beyond what the choice of test images explains?

Both results must come from the same ground truth and vocabulary. From resamples of one seed, every
resample took the same images for both, and the differences are paired. From different seeds they
are not: the interval is then that of detectors tested on different images, and wider.

Interval and p-value of a difference come from the same resamples, and p is below 0.05 exactly where
the interval leaves out 0. Not corrected for how many differences are looked at: a table does that
(`openset.evaluation.scoreboard`).

Where two values rest on different classes (those that reach a recall, say), the difference is taken
on the classes of both, and says so: else it would be in part one of classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.result import Evaluation
from openset.findings import UsageError
from openset.metrics import ByClass, Metric, on_both, table
from openset.resampling.intervals import ALPHA, equal, p_value, percentiles

Numbers = NDArray[np.float64] | float
LEAST = 20  # images: with fewer, resamples are too few in kind for a p-value
NO_RESAMPLES = "no interval: a result has no resamples, no value, or hardly any resample has one"
FEW = f"fewer than {LEAST} images: intervals, but no p-values and no stars"
CONSTANT = "no p-value where no resample differs from another"
NO_CLASS = "no difference: the two values rest on no class in common"
UNSPLIT = "no interval: the resamples of a result are not kept class by class"
UNPAIRED = "not paired, since the resamples are of other images or seeds: intervals are wider"


@dataclass(frozen=True, slots=True)
class Difference:
    """How one metric differs between two results.

    Attributes:
        first: Value of the first result.
        second: Value of the second result.
        difference: Second minus first, on the classes of both.
        interval: Its 95 % interval, if both results have resamples.
        p: Two-sided p-value of no difference, for this difference alone.
        better: Whether the second is better (True), worse (False), or neither can be said (None).
        remark: Why there is no interval or no p-value, or what is special about them.
        common: Both values on the classes of both, where they rest on different ones.
        basis: On what the difference rests then, in words.
    """

    first: float | None
    second: float | None
    difference: float | None
    interval: tuple[float, float] | None = None
    p: float | None = None
    better: bool | None = None
    remark: str = NO_RESAMPLES
    common: tuple[float, float] | None = None
    basis: str = ""

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
        force: Compare in spite of different ground truth, vocabulary or protocol.
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
    }
    for what, (x, y) in pairs.items():
        if x != y:
            raise UsageError(
                f"the results have different {what} ({x} and {y}); force=True compares"
            )


class _Sides(NamedTuple):
    """What is subtracted.

    Attributes:
        values: Of both results.
        drawn: Their resamples; None if one has none.
        basis: On which classes, if not on those of the values themselves.
        remark: Why there are no resamples.
    """

    values: tuple[float, float]
    drawn: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    basis: str = ""
    remark: str = NO_RESAMPLES


def _difference(first: Evaluation, second: Evaluation, name: str) -> Difference:
    a, b = first.values[name].value, second.values[name].value
    if a is None or b is None:
        return Difference(a, b, None)
    paired = _paired(first, second, name)
    sides = _sides(first, second, name, paired)
    if sides is None:
        return Difference(a, b, None, remark=NO_CLASS)
    x, y = sides.values
    better = _better(first.metrics.get(name), x, y)
    common = sides.values if sides.basis else None
    found = Difference(a, b, y - x, None, None, better, sides.remark, common, sides.basis)
    if sides.drawn is None:
        return found
    drawn = _apart(*sides.drawn, scale=max(abs(x), abs(y)))
    ends, p = percentiles(drawn), p_value(drawn)
    if ends is None:
        return found
    remark = "" if paired else UNPAIRED
    if min(first.size, second.size) < LEAST:
        p, remark = None, FEW
    elif p is None:
        remark = CONSTANT
    return replace(found, interval=ends, p=p, remark=remark)


def _better(metric: Metric | None, first: float, second: float) -> bool | None:
    sign = {"higher": 1, "lower": -1}.get(str(metric.better) if metric else "", 0)
    return None if not sign or isclose(first, second) else (second - first) * sign > 0


def _sides(first: Evaluation, second: Evaluation, name: str, paired: bool) -> _Sides | None:
    """Both values and their resamples, on the classes of both; None if there is none."""
    one, other = first.values[name], second.values[name]
    a, b = one.by_class, other.by_class
    if a is not None and b is not None and set(a.names) != set(b.names):
        return _on_common(a, b, paired)
    values = (one.value, other.value)
    if name not in first.replicates or name not in second.replicates:
        return _Sides(values, None)
    return _Sides(values, _drawn(first.replicates[name], second.replicates[name], paired))


def _on_common(first: ByClass, second: ByClass, paired: bool) -> _Sides | None:
    """Both values on the classes of both."""
    names = [name for name in first.names if name in second.names]
    if not names:
        return None
    a, b = first.over(names), second.over(names)
    if paired:
        a, b = on_both(a, b)
    classes = f"the {len(names)} classes" if len(names) > 1 else "the one class"
    rest = f"{len(first.names)} and {len(second.names)}"
    basis = f"on {classes} that both rest on; the values beside it rest on {rest}"
    values = (float(a.number()[0]), float(b.number()[0]))
    x, y = a.numbers_drawn(), b.numbers_drawn()
    if x is None or y is None:
        return _Sides(values, None, basis, UNSPLIT)
    return _Sides(values, _drawn(x, y, paired), basis)


def _paired(first: Evaluation, second: Evaluation, name: str) -> bool:
    """Whether every resample took the same images for both."""
    one, other = first.provenance, second.provenance
    a, b = (len(result.replicates.get(name, ())) for result in (first, second))
    return (one.seed, one.truth_hash, a) == (other.seed, other.truth_hash, b)


def _drawn(
    first: NDArray[np.float64], second: NDArray[np.float64], paired: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The resamples to subtract; if they are not paired, none may meet its like."""
    if paired:
        return first, second
    shorter = min(len(first), len(second))
    # Two further on, lest draws of one seed, or a draw and its other half, meet.
    return np.roll(first[:shorter], 2), second[:shorter]


def _apart(first: Numbers, second: Numbers, scale: float) -> NDArray[np.float64]:
    """Second minus first, 0 where they differ by rounding only."""
    return np.where(equal(first, second, scale), 0.0, second - first)
