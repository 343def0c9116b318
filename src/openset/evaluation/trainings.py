"""Trainings: results of one method that was trained several times, as one result.

A value is the mean over the trainings. Two kinds of chance made it, and its interval holds both:
which test images there are (every resample takes the same images for all trainings, and their
numbers are averaged resample by resample) and how training went (`openset.resampling.trainings`).
What a single training would have been by another seed is not known, and is not guessed.

Trainings are of one method only if they differ in nothing but chance: the same test images,
vocabulary, protocol and resamples. The same detections twice are not two trainings, and would make
the spread too small. Not a comparison of methods: see `openset.evaluation.comparison`.

Benchmarks that split one set of classes several times (OSOD-III) report means over the splits. Each
is a training of its own, with another vocabulary: with ``splits`` that is what must differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.leaks import taught
from openset.evaluation.provenance import Provenance
from openset.evaluation.result import Evaluation
from openset.evaluation.roles import Sides, differ
from openset.evaluation.steps import errors, settle, with_interval
from openset.findings import Finding, InputError, Level, UsageError
from openset.metrics import Metric, Value
from openset.resampling.intervals import deviation
from openset.resampling.trainings import Spread, spread

T = TypeVar("T")
NOT_COMPUTED = Value.missing("not computed")


@dataclass(frozen=True, slots=True)
class Chance:
    """What chance does to a value, by where it comes from.

    Attributes:
        runs: The value of each training.
        sd_images: One deviation by the choice of test images; None without resamples.
        sd_training: One deviation by training; None of one training, which does not tell.
    """

    runs: tuple[float | None, ...] = ()
    sd_images: float | None = None
    sd_training: float | None = None


@dataclass(frozen=True, eq=False)
class Trainings:
    """One method: the results of one training or more.

    Attributes:
        results: One per training.
        splits: Whether each is of another split of one benchmark's classes.
    """

    results: tuple[Evaluation, ...]
    splits: bool = False

    @classmethod
    def of(cls, given: Given, *, force: bool = False, splits: bool = False) -> Trainings:
        """The trainings of a method, from one result or several.

        Raises:
            InputError: When they are not trainings of one method, unless forced.
        """
        if isinstance(given, Trainings):
            return given
        made = cls((given,) if isinstance(given, Evaluation) else tuple(given), splits)
        if not made.results:
            raise UsageError("a method has at least one training")
        if splits and len(made) == 1:
            raise UsageError("class splits are at least two: a=s1.result.json,s2.result.json")
        wrong = errors(list(made.findings()))
        if wrong and not force:
            raise InputError(wrong)
        return made

    def findings(self) -> Iterator[Finding]:
        """What speaks against taking the results for trainings of one method."""
        if len(self.results) > 1:
            yield from (_unlike_splits if self.splits else _unlike)(self.results)
            yield from _repeated(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What is known about every metric, by name."""
        return self.results[0].metrics

    @property
    def provenance(self) -> Provenance:
        """Where the numbers of the first training come from."""
        return self.results[0].provenance

    @property
    def size(self) -> int:
        """How many things resamples are drawn from, at least."""
        return min(one.size for one in self.results)

    @property
    def drawn(self) -> str:
        """What these things are called."""
        return self.results[0].drawn

    @cached_property
    def replicates(self) -> Mapping[str, NDArray[np.float64]]:
        """Metric name → its mean over trainings in every resample; none if they are not paired."""
        first, *others = self.results
        # Draws belong to image ids, so that those of splits of one test set are paired, too.
        part = slice(1 if self.splits else 0, None)
        if any(_draws(one)[part] != _draws(first)[part] for one in others):
            return {}
        return {
            name: np.mean([one.replicates[name] for one in self.results], axis=0)
            if others
            else drawn
            for name, drawn in first.replicates.items()
            if all(name in one.replicates for one in others)
        }

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Metric name → its mean over trainings, with an interval that holds both chances."""
        if len(self) == 1:
            return self.results[0].values
        return {name: self._mean(name) for name in self.results[0].values}

    def runs(self, name: str) -> tuple[float | None, ...]:
        """A metric of each training."""
        return tuple(one.values.get(name, NOT_COMPUTED).value for one in self.results)

    def spread(self, name: str) -> Spread | None:
        """The spread of a metric over trainings; None if it is not known."""
        values = [value for value in self.runs(name) if value is not None]
        return spread(values) if len(values) == len(self) else None

    def chance(self, name: str) -> Chance:
        """What chance does to a metric."""
        value, known = self.values.get(name, NOT_COMPUTED).value, self.spread(name)
        drawn = self.replicates.get(name)
        by_images = None if value is None or drawn is None else deviation(drawn, value)
        return Chance(self.runs(name), by_images, known.deviation if known else None)

    def document(self) -> dict[str, Any]:
        """The method for programs: what each metric is, and what chance does to it."""
        return {
            "runs": len(self),
            "values": {name: self._fields(name) for name in self.values},
        }

    def _fields(self, name: str) -> dict[str, Any]:
        value, chance = self.values[name], self.chance(name)
        return {
            "value": value.value,
            "interval": value.interval,
            "sd_images": chance.sd_images,
            "sd_training": chance.sd_training,
            "runs": chance.runs,
        }

    def _mean(self, name: str) -> Value:
        each = [one.values.get(name, NOT_COMPUTED) for one in self.results]
        lacking = [value.reason for value in each if value.value is None]
        if lacking:
            said = f"no value in {len(lacking)} of {len(each)} trainings: {lacking[0]}"
            return Value.missing(said, params=each[0].params)
        mean = Value(
            float(np.mean([value.value for value in each])),
            count=each[0].count,
            params=each[0].params,
            step=float(np.mean([value.step for value in each])),
            rests_on=each[0].rests_on,
            left_out=next((value.left_out for value in each if value.left_out), ()),
        )
        metric, drawn = self.metrics.get(name), self.replicates.get(name)
        if metric is None or drawn is None:
            return mean
        return with_interval(mean, metric, Value(drawn), self.spread(name))


_EFFECT = "they cannot be found, nor be wrong"
Given = Evaluation | Sequence[Evaluation] | Trainings
"""What stands for a method: a result, results of several trainings, or these as one."""


def apart(methods: Mapping[str, Sequence[T]]) -> tuple[dict[str, T], dict[str, tuple[str, ...]]]:
    """Every training by a name of its own, and the names of those of one method.

    >>> apart({"a": [1, 2], "b": [3]})
    ({'a.1': 1, 'a.2': 2, 'b': 3}, {'a': ('a.1', 'a.2')})
    """
    found: dict[str, T] = {}
    trainings: dict[str, tuple[str, ...]] = {}
    for name, several in methods.items():
        names = [name]
        if len(several) > 1:
            names = [f"{name}.{at}" for at in range(1, len(several) + 1)]
            trainings[name] = tuple(names)
        for own, one in zip(names, several, strict=True):
            if own in found:
                raise UsageError(f"two trainings are called {own!r}")
            found[own] = one
    return found, trainings


def named_together(
    names: Iterable[str], trainings: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The names of the trainings of every method, by its name; what stands alone has its own.

    >>> named_together(["a.1", "a.2", "b"], {"a": ("a.1", "a.2")})
    {'a': ('a.1', 'a.2'), 'b': ('b',)}
    """
    owner = {name: method for method, several in trainings.items() for name in several}
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        method = owner.get(name, name)
        found[method] = (*found.get(method, ()), name)
    return found


def grouped(
    results: Mapping[str, Evaluation], trainings: Mapping[str, Sequence[str]]
) -> dict[str, Trainings]:
    """Every method by its name, from results by the names of trainings."""
    return {
        method: Trainings(tuple(results[name] for name in names))
        for method, names in named_together(results, trainings).items()
    }


def methods_of(
    results: Mapping[str, Given], *, force: bool = False, splits: bool = False
) -> dict[str, Trainings]:
    """Every method by its name; what is wrong with any is said with that name.

    Raises:
        InputError: When some are not trainings of one method, unless forced.
    """
    found = {name: Trainings.of(one, force=True, splits=splits) for name, one in results.items()}
    wrong = [
        replace(finding, message=f"{name}: {finding.message}")
        for name, one in found.items()
        for finding in errors(list(one.findings()))
    ]
    if wrong and not force:
        raise InputError(wrong)
    return found


def findings_of(methods: Mapping[str, Trainings]) -> dict[str, tuple[Finding, ...]]:
    """What is to be known about the trainings of each method, where a method has several."""
    if all(len(one) == 1 for one in methods.values()):
        return {}
    said = "one training only: what another would change is not known, and in no interval"
    alone = Finding("OS419", Level.NOTE, said)
    found = {
        name: (alone,) if len(one) == 1 else settle(list(one.findings()), force=True)
        for name, one in methods.items()
    }
    return {name: findings for name, findings in found.items() if findings}


def repeated_methods(methods: Mapping[str, Trainings]) -> dict[str, Finding]:
    """A finding for each method whose detections are those of one before it.

    Of one detector under several scorers boxes are the same, and numbers are not.
    """
    seen: dict[str, str] = {}
    found = {}
    for name, method in methods.items():
        held = [(one.provenance.detections_hash, one.values) for one in method.results]
        before = seen.setdefault(str(held), name)
        if before != name:
            message = f"the detections are those of {before}, to the last digit"
            found[name] = Finding("OS447", Level.WARNING, message, len(held), before)
    return found


def left_out_otherwise(methods: Mapping[str, Trainings]) -> dict[str, tuple[Finding, ...]]:
    """Findings about each method of which other detections were left out than of the first one.

    Below another minimum score, or as of classes that the detector should not know.
    """
    first, *others = methods
    found: dict[str, tuple[Finding, ...]] = {}
    for name in others:
        pairs = [(name, first), (first, name)]
        said = [[*_cuts(methods[a], methods[b]), *_drops(methods[a], methods[b])] for a, b in pairs]
        alone = [
            replace(one, level=Level.WARNING, message=f"{one.message} of {which} alone: {_EFFECT}")
            for (which, _), findings in zip(pairs, said, strict=True)
            for one in findings
        ]
        found[name] = tuple({one.code: one for one in reversed(alone)}.values())
    return found


def _cuts(method: Trainings, other: Trainings) -> list[Finding]:
    """What is said of minimum scores that another method does not have."""
    same = {result.provenance.minimum_score for result in other.results}
    apart = [one for one in method.results if one.provenance.minimum_score not in same]
    return [finding for one in apart for finding in one.findings if finding.code == "OS214"]


def _drops(method: Trainings, other: Trainings) -> list[Finding]:
    """What is said of leaked detections that were dropped, where those of another count."""
    counted = [one for one in other.results if taught(one.findings) and not _dropped(one)]
    return [said for one in method.results for said in _dropped(one)] if counted else []


def _dropped(one: Evaluation) -> list[Finding]:
    return [finding for finding in one.findings if finding.code == "OS465"]


def population(runs: Iterable[float | None]) -> tuple[float, float] | None:
    """Mean and sample deviation of the values of several trainings or splits, if all have one.

    >>> population([0.3, 0.4, 0.5])
    (0.4, 0.1)
    """
    held = list(runs)
    values = [value for value in held if value is not None]
    if len(values) < max(2, len(held)):
        return None
    return round(float(np.mean(values)), 12), round(float(np.std(values, ddof=1)), 12)


class Unlike(NamedTuple):
    """What keeps two results from being compared.

    Attributes:
        what: What differs.
        how: What it is in either, in words.
        fix: What to do about it.
    """

    what: str
    how: str
    fix: str


def unlike(
    first: Provenance, second: Provenance, sides: Sides = ("the first", "the second")
) -> Unlike | None:
    """The first thing that keeps two results from being compared, if there is one."""
    pairs: dict[str, tuple[list[Any], str]] = {
        # First, since a protocol also decides which synonyms join and which objects are ignored.
        "protocols": ([_rules(one) for one in (first, second)], "protocol="),
        "vocabularies": ([one.vocabulary_hash for one in (first, second)], _classes_of(first)),
        "ground truths": ([one.truth_hash for one in (first, second)], _truth_of(first)),
        "detections of classes that are unknown here": (_leaks(first, second), "leaked="),
        "groups": ([one.groups_hash or "none" for one in (first, second)], "groups="),
        "samples": (_named(first, second), "samples, in one order"),
    }
    for what, ((x, y), same) in pairs.items():
        if x != y:
            said = differ(first.roles, second.roles, sides) if what == "vocabularies" else ""
            plain = f"{x} in {sides[0]} and {y} in {sides[1]}"
            return Unlike(what, said or plain, f"evaluate both with the same {same}")
    return None


def _classes_of(one: Provenance) -> str:
    """What says which classes are known; those of classifiers are what their files name."""
    return "names of classes" if one.protocol == "recognition" else "known="


def _truth_of(one: Provenance) -> str:
    """What is to be the same; what classifiers are held against has an order."""
    return "samples, in one order" if one.protocol == "recognition" else "ground truth"


def _named(first: Provenance, second: Provenance) -> list[str]:
    """Which samples either was measured on; nothing is known where one does not name them."""
    held = [first.samples_hash, second.samples_hash]
    return held if all(held) else ["", ""]


def _leaks(first: Provenance, second: Provenance) -> list[str]:
    """What became of the leaks of either; where one has none, there is nothing to tell apart."""
    said = [one.leaked for one in (first, second)]
    return [f"leaked={one}" for one in said] if all(said) else ["none", "none"]


def _rules(one: Provenance) -> str:
    """A protocol by its name, and what was changed of it."""
    changed = [f"{name}={used!r}" for name, (_, used) in one.deviations.items()]
    return " with ".join(filter(None, [one.protocol, ", ".join(changed)]))


def _draws(one: Evaluation) -> tuple[str, str, int, int]:
    origin = one.provenance
    return origin.truth_hash, origin.groups_hash, origin.seed, origin.resamples


def _unlike(results: Sequence[Evaluation]) -> Iterator[Finding]:
    first, *others = (one.provenance for one in results)
    for at, other in enumerate(others, start=2):
        sides = "training 1", f"training {at}"
        found = unlike(first, other, sides)
        if found is None and _draws(results[0]) != _draws(results[at - 1]):
            drawn = (f"{one.resamples} of seed {one.seed}" for one in (first, other))
            said = " and ".join(f"{own} in {side}" for own, side in zip(drawn, sides, strict=True))
            found = Unlike("resamples of images", said, "")
        if found is not None:
            message = f"trainings of one method have different {found.what}"
            yield Finding("OS418", Level.ERROR, message, example=found.how, fix=found.fix)
            return


def _unlike_splits(results: Sequence[Evaluation]) -> Iterator[Finding]:
    """What keeps results from being those of several splits of one benchmark's classes."""
    first = results[0].provenance
    seen: dict[str, int] = {}
    for at, one in enumerate(results, start=1):
        origin = one.provenance
        pairs = {
            "protocols": ((first.protocol, first.deviations), (origin.protocol, origin.deviations)),
            "resamples of images": (_draws(results[0])[1:], _draws(one)[1:]),
        }
        what = next((what for what, (mine, theirs) in pairs.items() if mine != theirs), None)
        before = seen.setdefault(origin.vocabulary_hash, at)
        if what is not None:
            message, example = f"splits have different {what}", f"those of splits 1 and {at}"
        elif before != at:
            message, example = "two results are of one split", f"splits {before} and {at}"
        else:
            continue
        yield Finding("OS653", Level.ERROR, message, example=example)
        return


def _repeated(results: Sequence[Evaluation]) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    again = []
    for at, one in enumerate(results, start=1):
        before = seen.setdefault(one.provenance.detections_hash, at)
        if before != at:
            again.append(f"training {at} has the detections of training {before}")
    if again:
        yield Finding(
            "OS417",
            Level.ERROR,
            f"{len(again)} of {len(results)} trainings repeat another",
            len(again),
            again[0],
        )
