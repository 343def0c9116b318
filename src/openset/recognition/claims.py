"""Claims: what the OpenAUC paper states of metrics, tried on examples and counted out.

Its Table 1 (which metric has which property), its Figure 1 (metrics against the rejection of
unknown samples), the bound of Proposition 6, and how often Propositions 1 and 3 and Remark 2 fail
as printed: on all models of a few samples. ``docs/metrics-flaws.md`` is made from here.

Not a proof: what the propositions really need is a property test each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from openset.recognition.answers import answers_at
from openset.recognition.flaws import (
    THRESHOLD,
    digits,
    number,
    percent,
    rejecting,
    rejecting_nothing,
)
from openset.recognition.metrics import table
from openset.recognition.scores import Scores
from openset.render import Table

_AT = ("f_score_macro", "f_score_micro", "youden_macro", "youden_micro", "normalised_accuracy")


# ---------------------------------------------------------------------- Table 1


def misnaming(scores: Scores) -> Scores:
    """The same classifier with every third known sample under a wrong name, ranked as before."""
    wrong = np.arange(scores.n_known) % 3 == 0
    other = np.where(wrong, (scores.label + 1) % scores.n_classes, scores.predicted)
    return replace(scores, predicted=other.astype(np.int32))


def properties() -> Table:
    """Which property each metric has: Table 1 of the paper, from examples.

    A metric has P1 and P2 if it falls for a classifier that is worse in just that. The OSCR curve
    is judged by its area, but is no number itself.
    """
    one = rejecting()
    worse = misnaming(one), rejecting_nothing(one)
    rows = []
    for name in (*_AT, "auc", "oscr", "openauc"):
        at = {"threshold": THRESHOLD} if name in _AT else {}
        before, *after = (number(name, model, **at) for model in (one, *worse))
        held = [each < before - 1e-12 for each in after]
        title = "OSCR curve" if name == "oscr" else table()[name].title
        rows.append((title, *map(_mark, (*held, name not in _AT, name != "oscr"))))
    header = ("", "P1: sees wrong names", "P2: sees accepted unknowns", "P3: no threshold")
    return Table((*header, "P4: one number"), tuple(rows))


def _mark(has: bool) -> str:
    return "yes" if has else "no"


# ---------------------------------------------------------------------- Figure 1


def figure_1() -> Table:
    """Where metrics of a threshold are best, as more and more unknown samples are rejected."""
    one = digits()
    ends = np.sort(one.unknown_openness)[::-1]
    places = [float(np.inf), *(float(np.nextafter(end, -np.inf)) for end in ends)]
    rejected = np.arange(len(places)) / one.n_unknown
    rows = []
    for name in _AT:
        values = np.array([number(name, one, threshold=at) for at in places])
        best = int(values.argmax())
        cells = (values[0], values[best], rejected[best], values[-1])
        rows.append((table()[name].title, *map(percent, cells)))
    header = ("", "rejecting none", "best", "unknown samples rejected there", "rejecting all")
    return Table(header, tuple(rows))


# ---------------------------------------------------------------------- Proposition 6


def bound(shares: Sequence[float] = (0.1, 0.18, 0.25, 0.5, 0.75, 1.0)) -> Table:
    """What OpenAUC promises of the rejection of unknown samples, and what there is."""
    one = digits()
    openauc = number("openauc", one, ties="strict")
    rows = []
    for share in shares:
        at = float(np.quantile(one.openness, 1 - share, method="lower"))
        counts = answers_at(one, at if share < 1 else -np.inf)
        fpr = counts.rejected_known / counts.n_known
        least = max(0.0, 1 - (1 - openauc) / fpr)
        rows.append((percent(fpr), percent(least), percent(counts.rejected / counts.n_unknown)))
    header = ("known samples rejected", "unknown ones rejected, at least", "measured")
    return Table(header, tuple(rows))


# ---------------------------------------------------------------------- all small cases


class Case(NamedTuple):
    """One model of a few samples, as far as a proposition looks at it.

    Attributes:
        sizes: The data set.
        same: What another model must have in common with it, for every metric of the claim.
        values: What each metric says of it that the corollary names.
        worse: The number that must fall, by the claim, to ...
        least: ... at most this.
        printed: Whether the printed condition holds.
        enough: Whether the condition holds that it really takes.
    """

    sizes: tuple[int, ...]
    same: tuple[int, ...]
    values: tuple[Fraction, ...]
    worse: int
    least: int
    printed: bool
    enough: bool


class Counted(NamedTuple):
    """How a claim does on all cases.

    Attributes:
        cases: Those in which the printed condition holds.
        failed: Of these, those without the model that is claimed to exist.
        by_value: The fewest of these that are left where it may be any model of which one of the
            metrics says the same, by whatever counts.
        exact: Whether the model exists where our condition holds, and nowhere else.
    """

    cases: int
    failed: int
    by_value: int
    exact: bool


def counted(cases: Sequence[Case]) -> Counted:
    """Look for the model that is claimed to exist, among all of them."""
    exists = _exists(cases, [case.same for case in cases])
    by_value = [
        _failed(cases, _exists(cases, each))
        for each in zip(*(case.values for case in cases), strict=True)
    ]
    exact = all(case.enough == there for case, there in zip(cases, exists, strict=True))
    printed = sum(case.printed for case in cases)
    return Counted(printed, _failed(cases, exists), min(by_value), exact)


def _exists(cases: Sequence[Case], same: Sequence[Hashable]) -> list[bool]:
    """Whether another model of the same data is as much worse as claimed, by what must stay."""
    keys = [(case.sizes, kept) for case, kept in zip(cases, same, strict=True)]
    lowest: dict[Hashable, int] = defaultdict(lambda: 1 << 30)
    for key, case in zip(keys, cases, strict=True):
        lowest[key] = min(lowest[key], case.worse)
    return [lowest[key] <= case.least for key, case in zip(keys, cases, strict=True)]


def _failed(cases: Sequence[Case], exists: Sequence[bool]) -> int:
    return sum(case.printed and not there for case, there in zip(cases, exists, strict=True))


CLASSES = 2
_SIZES = ((1, 1, 1), (1, 1, 2), (1, 1, 3), (2, 1, 2), (2, 1, 3), (2, 2, 2))
"""Samples of either known class, and of none."""


def answered(remark: bool = False) -> Iterator[Case]:
    """Proposition 1, or its second remark: all answers for two known classes and few samples.

    The counts of known classes (true and false positives of each) must stay, as the claim is about
    all metrics of these; the number of unknown samples that are rejected must become 0, or, by the
    remark, less.
    """
    for sizes in _SIZES:
        truth = np.repeat(np.arange(CLASSES + 1), sizes)
        known = truth < CLASSES
        for given in product(range(CLASSES + 1), repeat=len(truth)):
            answer = np.array(given)
            named = answer < CLASSES
            rejected = int((~known & ~named).sum())
            right = [int(((answer == c) & (truth == c)).sum()) for c in range(CLASSES)]
            false = [int(((answer == c) & (truth != c)).sum()) for c in range(CLASSES)]
            misnamed = int((known & named & (answer != truth)).sum())
            printed = 0 < sum(false) < rejected if remark else sum(false) >= rejected > 0
            enough = min(misnamed, rejected) > 0 if remark else misnamed >= rejected
            least = rejected - 1 if remark else 0
            values = _corollary_1(sizes, right, false)
            yield Case(sizes, (*right, *false), values, rejected, least, printed, enough)


def _corollary_1(
    sizes: Sequence[int], right: Sequence[int], false: Sequence[int]
) -> tuple[Fraction, ...]:
    """Both F-scores and both indices of Youden, from true and false positives of known classes."""
    known, every = sizes[:CLASSES], sum(sizes)
    named = [_share(t, t + f) for t, f in zip(right, false, strict=True)]
    found = [_share(t, n) for t, n in zip(right, known, strict=True)]
    spared = [_share(every - n - f, every - n) for f, n in zip(false, known, strict=True)]
    precision, recall = (sum(shares, Fraction()) / CLASSES for shares in (named, found))
    all_precision = _share(sum(right), sum(right) + sum(false))
    all_recall = _share(sum(right), sum(known))
    others = CLASSES * every - sum(known)
    return (
        _f_score(precision, recall),
        _f_score(all_precision, all_recall),
        recall + sum(spared, Fraction()) / CLASSES - 1,
        all_recall + _share(others - sum(false), others) - 1,
    )


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction()


def _f_score(precision: Fraction, recall: Fraction) -> Fraction:
    both = precision + recall
    return 2 * precision * recall / both if both else Fraction()


def ranked(known: int = 3, unknown: int = 3) -> Iterator[Case]:
    """Proposition 3: all rankings without ties of a few samples, some of them misnamed.

    Accuracy and AUC must stay; OpenAUC must fall. A known sample is how many unknown ones rank
    above it.
    """
    for above in product(range(unknown + 1), repeat=known):
        for right in product((False, True), repeat=known):
            correct, area = sum(right), sum(above)
            openauc = sum(a for a, named in zip(above, right, strict=True) if named)
            wrong = [a for a, named in zip(above, right, strict=True) if not named]
            printed = correct < known and area < known * unknown
            enough = openauc > 0 and any(a < unknown for a in wrong)
            shares = Fraction(correct, known), Fraction(area, known * unknown)
            values = shares[0] * shares[1], shares[0] + shares[1]
            yield Case((), (correct, area), values, openauc, openauc - 1, printed, enough)


PRINTED: dict[str, tuple[Callable[[], Iterator[Case]], str]] = {
    "Proposition 1": (answered, "as many known samples with a wrong name as rejected unknown ones"),
    "Remark 2": (lambda: answered(remark=True), "a known sample with a wrong name"),
    "Proposition 3": (
        ranked,
        "a correct sample below an unknown one, and a misnamed one not below all of them",
    ),
}
"""Claims whose printed condition is not enough: all small cases, and what it takes."""


def small_cases() -> Table:
    """How often claims fail as printed, on all models of a few samples."""
    rows = []
    for name, (cases, takes) in PRINTED.items():
        found = counted(list(cases()))
        counts = (found.cases, found.failed, found.by_value)
        rows.append((name, *(f"{count:,}" for count in counts), takes))
    header = ("", "models that fulfil the condition", "no such model exists")
    return Table((*header, "by a metric's value alone", "it takes"), tuple(rows))


TABLES = {
    "properties": properties,
    "figure-1": figure_1,
    "small-cases": small_cases,
    "bound": bound,
}
