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

Where two values rest on different classes (those that reach a recall, say), the difference is taken
on the classes of both, and says so: else it would be in part one of classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.provenance import Provenance
from openset.evaluation.trainings import Given, Trainings, unlike
from openset.findings import UsageError
from openset.metrics import ByClass, Metric, on_all, table
from openset.resampling.intervals import ALPHA, deviation, equal, judged
from openset.resampling.trainings import Spread, spread, together

Numbers = NDArray[np.float64] | float
LEAST = 20  # images, or groups: with fewer, resamples are too few in kind for a p-value
NO_RESAMPLES = "no interval: a result has no resamples, no value, or hardly any resample has one"
CONSTANT = "no p-value where no resample differs from another"
NO_CLASS = "no difference: the two values rest on no class in common"
UNSPLIT = "no interval: the resamples of a result are not kept class by class"
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
        difference: Second minus first, on the classes of both.
        interval: Its 95 % interval, if both results have resamples.
        p: Two-sided p-value of no difference, for this difference alone.
        better: Whether the second is better (True), worse (False), or neither can be said (None).
        remark: Why there is no interval or no p-value, or what is special about them.
        runs: How many trainings both have.
        sd_images: One deviation of the difference by the choice of test images.
        sd_training: One deviation by training, as far as there are several; else None.
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
    runs: tuple[int, int] = (1, 1)
    sd_images: float | None = None
    sd_training: float | None = None
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
    first: Given,
    second: Given,
    *,
    force: bool = False,
    paired: bool = False,
    splits: bool = False,
) -> Comparison:
    """Compare two methods on one benchmark, metric by metric.

    Args:
        first: The reference: a result, or those of several trainings.
        second: What is compared with it, likewise.
        force: Compare in spite of different ground truth, vocabulary, protocol or groups.
        paired: Whether the trainings of both belong together, each to that in its place.
        splits: Whether they are of several splits of one benchmark's classes, the same in each
            place: vocabularies differ between places, and all are paired.
    """
    a, b = (Trainings.of(one, force=force, splits=splits) for one in (first, second))
    paired = paired or splits
    if paired and len(a) != len(b):
        raise UsageError(f"{len(a)} and {len(b)} trainings cannot be paired")
    if not force:
        for x, y in zip(a.results, b.results, strict=True) if splits else ((a, b),):
            _refuse_unlike(x.provenance, y.provenance)
    names = [name for name in a.values if name in b.values]
    differences = {name: _difference(a, b, name, paired) for name in names}
    return Comparison(differences, (a, b), a.metrics)


def against_first(
    methods: Iterable[Trainings], *, force: bool = False, paired: bool = False
) -> list[Comparison | None]:
    """Every method against the first; None for the first itself."""
    first, *others = methods
    return [None, *(compare(first, other, force=force, paired=paired) for other in others)]


def _refuse_unlike(first: Provenance, second: Provenance) -> None:
    found = unlike(first, second)
    if found is not None:
        raise UsageError(
            f"the results have different {found.what} ({found.how}); {found.fix}, or force=True "
            "compares"
        )


class _Side(NamedTuple):
    """What is subtracted, of one method.

    Attributes:
        value: The mean over trainings.
        runs: The value of each training.
        drawn: The mean over trainings in every resample; None without resamples.
    """

    value: float
    runs: tuple[float, ...]
    drawn: NDArray[np.float64] | None

    @classmethod
    def of(cls, method: Trainings, name: str) -> Self:
        """A metric as it is."""
        runs = tuple(value for value in method.runs(name) if value is not None)
        return cls(method.values[name].value, runs, method.replicates.get(name))

    @classmethod
    def over(cls, each: Sequence[ByClass]) -> Self:
        """A metric made again from what the classes of each training contributed."""
        runs = tuple(float(one.number()[0]) for one in each)
        drawn = [one.numbers_drawn() for one in each]
        kept = [numbers for numbers in drawn if numbers is not None]
        mean = np.mean(kept, axis=0) if len(kept) == len(each) else None
        return cls(float(np.mean(runs)), runs, mean)


class _Sides(NamedTuple):
    """What is subtracted.

    Attributes:
        first: Of the first method.
        second: Of the second.
        basis: On which classes, if not on those of the values themselves.
        remark: Why there are no resamples, if so.
    """

    first: _Side
    second: _Side
    basis: str = ""
    remark: str = NO_RESAMPLES


def _difference(first: Trainings, second: Trainings, name: str, paired: bool) -> Difference:
    a, b = first.values[name].value, second.values[name].value
    found = Difference(a, b, None, runs=(len(first), len(second)))
    if a is None or b is None:
        return found
    same = _same_images(first, second, name)
    sides = _sides(first, second, name, same)
    if sides is None:
        return replace(found, remark=NO_CLASS)
    found = _plain(found, sides, first.metrics.get(name), paired)
    x, y = sides.first, sides.second
    if x.drawn is None or y.drawn is None:
        return found
    scale = max(abs(x.value), abs(y.value))
    drawn = _apart(*_to_subtract(x.drawn, y.drawn, same), scale)
    value = float(_apart(x.value, y.value, scale))
    said = judged(drawn, value, _spreads(sides, paired))
    if said is None:
        return found
    (ends, p), remark = said, "" if same else UNPAIRED
    smaller = min(first, second, key=lambda result: result.size)
    if smaller.size < LEAST:
        p, remark = None, few(smaller.drawn)
    elif p is None:
        remark = CONSTANT
    elif 1 in found.runs and found.runs != (1, 1):
        remark = "; ".join(filter(None, (remark, ONE_TRAINING)))
    by_images = deviation(drawn, value)
    return replace(found, interval=ends, p=p, remark=remark, sd_images=by_images)


def _plain(found: Difference, sides: _Sides, metric: Metric | None, paired: bool) -> Difference:
    """The difference without what resamples say."""
    x, y = sides.first.value, sides.second.value
    by_training = _spreads(sides, paired)
    return replace(
        found,
        difference=y - x,
        better=_better(metric, x, y),
        remark=sides.remark,
        common=(x, y) if sides.basis else None,
        basis=sides.basis,
        sd_training=together(0.0, *by_training).deviation if by_training else None,
    )


def _spreads(sides: _Sides, paired: bool) -> list[Spread]:
    """The spreads of trainings that a difference has: none of single ones."""
    a, b = sides.first.runs, sides.second.runs
    each = [[y - x for x, y in zip(a, b, strict=True)]] if paired else [a, b]
    return [one for one in map(spread, each) if one is not None]


def _better(metric: Metric | None, first: float, second: float) -> bool | None:
    sign = {"higher": 1, "lower": -1}.get(str(metric.better) if metric else "", 0)
    return None if not sign or isclose(first, second) else (second - first) * sign > 0


def _sides(first: Trainings, second: Trainings, name: str, same_images: bool) -> _Sides | None:
    """Both values and their resamples, on the classes of all; None if there is none."""
    if first.splits:
        return _by_place(first, second, name, same_images)
    held = [[one.values[name].by_class for one in method.results] for method in (first, second)]
    split = [[one for one in side if one is not None] for side in held]
    every = [one for side in split for one in side]
    if len(every) == len(first) + len(second) and len({frozenset(x.names) for x in every}) > 1:
        return _on_common(split[0], split[1], same_images)
    return _Sides(_Side.of(first, name), _Side.of(second, name))


def _by_place(first: Trainings, second: Trainings, name: str, same_images: bool) -> _Sides | None:
    """Both means over class splits, each split on the classes that both have there."""
    pairs = zip(first.results, second.results, strict=True)
    each = [_sides(Trainings((x,)), Trainings((y,)), name, same_images) for x, y in pairs]
    parts = [one for one in each if one is not None]
    if len(parts) < len(each):
        return None
    basis = next((part.basis for part in parts if part.basis), "")
    remark = next((part.remark for part in parts if part.remark != NO_RESAMPLES), NO_RESAMPLES)
    one, other = _mean([part.first for part in parts]), _mean([part.second for part in parts])
    return _Sides(one, other, basis, remark)


def _mean(sides: Sequence[_Side]) -> _Side:
    runs = tuple(run for side in sides for run in side.runs)
    drawn = [side.drawn for side in sides if side.drawn is not None]
    mean = np.mean(drawn, axis=0) if len(drawn) == len(sides) else None
    return _Side(float(np.mean(runs)), runs, mean)


def _on_common(
    first: Sequence[ByClass], second: Sequence[ByClass], same_images: bool
) -> _Sides | None:
    """Both values on the classes of all."""
    each = [*first, *second]
    names = [name for name in first[0].names if all(name in one.names for one in each)]
    if not names:
        return None
    chosen = [one.over(names) for one in each]
    if same_images:
        chosen = on_all(chosen)
    classes = f"the {len(names)} classes" if len(names) > 1 else "the one class"
    rest = f"{len(first[0].names)} and {len(second[0].names)}"
    basis = f"on {classes} that both rest on; the values beside it rest on {rest}"
    a, b = _Side.over(chosen[: len(first)]), _Side.over(chosen[len(first) :])
    kept = a.drawn is not None and b.drawn is not None
    return _Sides(a, b, basis, NO_RESAMPLES if kept else UNSPLIT)


def _same_images(first: Trainings, second: Trainings, name: str) -> bool:
    """Whether every resample took the same images for both."""
    one, other = (
        (p.seed, p.truth_hash, p.groups_hash, len(method.replicates.get(name, ())))
        for method, p in ((first, first.provenance), (second, second.provenance))
    )
    return one == other


def _to_subtract(
    first: NDArray[np.float64], second: NDArray[np.float64], same_images: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The resamples to subtract; if they are not of the same images, none may meet its like."""
    if same_images:
        return first, second
    shorter = min(len(first), len(second))
    # Two further on, lest draws of one seed, or a draw and its other half, meet.
    return np.roll(first[:shorter], 2), second[:shorter]


def _apart(first: Numbers, second: Numbers, scale: float) -> NDArray[np.float64]:
    """Second minus first, 0 where they differ by rounding only."""
    return np.where(equal(first, second, scale), 0.0, second - first)
