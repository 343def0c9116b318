"""Flaws: examples of models that F-score, Youden's index and normalised accuracy reward wrongly.

The inconsistency properties of the OpenAUC paper (Propositions 1 to 3), on generated scores and on
the embedded digits. ``docs/metrics-flaws.md`` is made from here; a test keeps it current.

Not a proof: the propositions, with the conditions that they need, are property tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from openset.recognition.answers import answers_at
from openset.recognition.metrics import compute, table
from openset.recognition.scores import Scores
from openset.render import Table

THRESHOLD = 1.0
_AT = ("f_score_macro", "f_score_micro", "youden_macro", "youden_micro")
_FREE = ("closed_set_accuracy", "auc", "openauc")


def rejecting() -> Scores:
    """A classifier of six classes that misnames many known samples, and rejects most unknown ones.

    >>> answers_at(rejecting(), THRESHOLD).rejected >= 80
    np.True_
    """
    rng = np.random.default_rng(0)
    label = np.arange(400, dtype=np.int32) % 6
    predicted = np.where(rng.random(400) < 0.35, (label + 1) % 6, label)
    known, unknown = rng.normal(0, 0.6, 400), rng.normal(2, 0.8, 100)
    named = rng.integers(0, 6, 100, dtype=np.int32)
    return Scores(predicted, label, known, unknown, named, tuple("ABCDEF"))


def rejecting_nothing(scores: Scores, threshold: float = THRESHOLD) -> Scores:
    """The same classifier with answers exchanged, so that every unknown sample is accepted.

    Each unknown sample that is rejected trades its answer with a known sample that is accepted and
    misnamed (Proposition 1). Counts of known classes stay: one wrong answer less, one more.
    """
    misnamed = np.flatnonzero((scores.openness <= threshold) & ~scores.correct)
    rejected = np.flatnonzero(scores.unknown_openness > threshold)
    k, u = misnamed[: len(rejected)], rejected[: len(misnamed)]
    assert scores.unknown_predicted is not None
    openness, predicted = scores.openness.copy(), scores.predicted.copy()
    unknown, named = scores.unknown_openness.copy(), scores.unknown_predicted.copy()
    openness[k], unknown[u] = scores.unknown_openness[u], scores.openness[k]
    predicted[k], named[u] = scores.unknown_predicted[u], scores.predicted[k]
    return replace(
        scores,
        openness=openness,
        predicted=predicted,
        unknown_openness=unknown,
        unknown_predicted=named,
    )


def property_1() -> Table:
    """F-score and Youden's index do not see that every unknown sample is accepted."""
    models = rejecting(), rejecting_nothing(rejecting())
    rows = [("unknown samples rejected", *(_rejected(one) for one in models))]
    rows += [_row(name, models, threshold=THRESHOLD) for name in _AT]
    rows.append(_row("openauc", models))
    return Table(("", "rejects unknown samples", "rejects none of them"), tuple(rows))


def property_2() -> Table:
    """Whether normalised accuracy rewards a model that rejects nothing, by weight and 0 / 0."""
    one = rejecting()
    perfect = replace(one, predicted=one.label)
    rows = []
    for weight in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        here = number("normalised_accuracy", one, threshold=THRESHOLD, weight=weight)
        options = {"threshold": np.inf, "weight": weight}
        none = [number("normalised_accuracy", perfect, empty=e, **options) for e in (0.0, 1.0)]
        cells = [f"{percent(one)}{' (more)' if one > here else ''}" for one in none]
        rows.append((f"{weight:g}", percent(here), *cells))
    header = ("weight λ", "rejects unknown samples", "nothing, 0 / 0 = 0", "nothing, 0 / 0 = 1")
    return Table(header, tuple(rows))


def property_3() -> Table:
    """Accuracy and AUC together do not see which known samples are ranked wrongly."""
    sharp = rejecting()
    one = replace(sharp, unknown_openness=sharp.unknown_openness - 1.5)  # some ranks to lose
    right, wrong = np.flatnonzero(one.correct), np.flatnonzero(~one.correct)
    n = len(wrong)
    order = np.argsort(one.openness[right])
    high = right[order[-n:]]  # the correct samples that look most unknown ...
    openness = one.openness.copy()
    both = np.sort(np.concatenate([openness[high], openness[wrong]]))
    good, bad = openness.copy(), openness.copy()
    good[high], good[wrong] = both[:n], both[n:]  # ... rank below the wrong ones, or above
    bad[high], bad[wrong] = both[n:], both[:n]
    models = replace(one, openness=good), replace(one, openness=bad)
    rows = [_row(name, models) for name in _FREE]
    header = ("", "wrong ones look unknown", "correct ones look unknown")
    return Table(header, tuple(rows))


def digits() -> Scores:
    """A nearest-mean classifier of six digits, tested with four others (trial 0)."""
    from openset.recognition.data import open_split

    split = open_split("digits")
    parts = (split.train, split.test, split.unknown_test)
    train, test, strange = (one.images.reshape(len(one.label), -1) / 255.0 for one in parts)
    means = np.stack([train[split.train.label == c].mean(axis=0) for c in range(6)])
    logits = [-((x[:, None] - means) ** 2).sum(axis=2) for x in (test, strange)]
    return Scores.from_logits(
        logits[0], split.test.label, logits[1], classes=[str(c) for c in split.known]
    )


def thresholds(shares: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)) -> Table:
    """What threshold metrics say on the digits while more and more unknown samples are rejected."""
    one = digits()
    rows = []
    for share in shares:
        at = _rejects(one, share)
        cells = [percent(number(name, one, threshold=at)) for name in _AT]
        printed = number("normalised_accuracy", one, threshold=at)
        named = number("normalised_accuracy", one, threshold=at, aks="accuracy", aus="recall")
        counts = answers_at(one, at)
        rejected = counts.rejected / counts.n_unknown, counts.rejected_known / counts.n_known
        rows.append((*map(percent, rejected), *cells, percent(printed), percent(named)))
    header = ("unknown rejected", "known rejected", "F macro", "F micro", "J macro", "J micro")
    return Table((*header, "NAcc as printed", "NAcc as named"), tuple(rows))


TABLES = {
    "property-1": property_1,
    "property-2": property_2,
    "property-3": property_3,
    "thresholds": thresholds,
}


def _rejects(scores: Scores, share: float) -> float:
    """The highest threshold that rejects at least a share of the unknown samples."""
    order = np.sort(scores.unknown_openness)[::-1]
    n = int(np.ceil(share * len(order)))
    if n == 0:
        return float(max(order[0], scores.openness.max()))
    return float(np.nextafter(order[n - 1], -np.inf))


def number(name: str, scores: Scores, **params: float | str) -> float:
    """The number of a metric."""
    return float(compute(table()[name], scores, **params))


def _row(name: str, models: Sequence[Scores], **params: float) -> tuple[str, ...]:
    return (table()[name].title, *(percent(number(name, one, **params)) for one in models))


def _rejected(scores: Scores) -> str:
    counts = answers_at(scores, THRESHOLD)
    return f"{counts.rejected:.0f} of {counts.n_unknown:.0f}"


def percent(share: float) -> str:
    """A share as tables have it."""
    return f"{100 * share:.1f} %"
