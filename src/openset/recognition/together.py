"""Together: what several classifiers' scores say of each other, before they are compared.

Comparisons are by sample, and labels alone tell whether samples are the same: a file may be given
twice, and samples of one label may be in another order. Ids, where files have them, settle it
(`openset.evaluation.trainings.unlike`); this is for those that have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.recognition.scores import Scores

Floats = NDArray[np.float64]
_NEARLY, _NEARLY_ALL = 0.01, 0.99  # of the deviation, and of samples: what rounding changes
_FEWEST = 50  # samples of a kind, of which order can be told
_RELATED, _SURE, _CHANCE = 0.2, 5.0, 2.0  # correlation, and standard deviations of it


def repeated_scores(scores: Mapping[str, Scores]) -> dict[str, Finding]:
    """A finding for each classifier whose scores are those of one before it, but for rounding."""
    found: dict[str, Finding] = {}
    for name, before in _pairs(scores):
        if _same(scores[name], scores[before]):
            message = f"the scores are those of {before}, but for rounding"
            n = scores[name].n_known + scores[name].n_unknown
            found.setdefault(name, Finding("OS447", Level.WARNING, message, n, before))
    return found


def in_another_order(scores: Mapping[str, Scores]) -> dict[str, Finding]:
    """A finding for each whose openness goes with the first one's on one kind of samples alone."""
    first, *others = scores
    found = {name: _unrelated(first, scores[first], scores[name]) for name in others}
    return {name: finding for name, finding in found.items() if finding is not None}


def _pairs(scores: Mapping[str, Scores]) -> Iterator[tuple[str, str]]:
    names = list(scores)
    yield from ((name, before) for at, name in enumerate(names) for before in names[:at])


def _alike(one: Scores, other: Scores) -> bool:
    """Whether samples may be the same ones."""
    same = np.array_equal(one.label_names, other.label_names)
    return one.n_unknown == other.n_unknown and same


def _same(one: Scores, other: Scores) -> bool:
    if not _alike(one, other) or _agree(one, other) < _NEARLY_ALL:
        return False
    pairs = ((one.openness, other.openness), (one.unknown_openness, other.unknown_openness))
    return all(_close(x, y) for x, y in pairs)


def _agree(one: Scores, other: Scores) -> float:
    """The share of known samples that both give one name."""
    return float((one.predicted_names == other.predicted_names).mean())


def _close(one: Floats, other: Floats) -> bool:
    equal = one == other  # which infinities may be
    if equal.all():
        return True
    near = np.abs(one[~equal] - other[~equal]) <= _NEARLY * one.std()
    return bool(near.all())


def _unrelated(name: str, one: Scores, other: Scores) -> Finding | None:
    if not _alike(one, other) or min(one.n_known, one.n_unknown) < _FEWEST or one.ids is not None:
        return None
    ranks = [_ranks(x.openness, x.label) for x in (one, other)]
    unknown = [_ranks(x.unknown_openness, None) for x in (one, other)]
    r = {"known": _correlation(*ranks), "unknown": _correlation(*unknown)}
    size = {"known": one.n_known, "unknown": one.n_unknown}
    related = [k for k in r if r[k] >= max(_RELATED, _SURE / size[k] ** 0.5)]
    not_at_all = [k for k in r if r[k] <= _CHANCE / size[k] ** 0.5]
    if not related or not not_at_all:
        return None
    kind, with_ = not_at_all[0], related[0]
    said = (
        f"openness goes with that of {name} on {with_} samples (correlation {r[with_]:.2f}), and "
    )
    said += f"not on {kind} ones ({r[kind]:.2f}), as if these were in another order"
    return Finding("OS827", Level.NOTE, said, size[kind], f"{size[kind]} {kind} samples")


def _ranks(openness: Floats, label: NDArray[np.int32] | None) -> Floats:
    """Ranks, less the mean of their class: what a sample's class alone explains is left out."""
    ranks = np.empty(len(openness))
    ranks[np.argsort(openness, kind="stable")] = np.arange(len(openness))
    if label is None:
        return ranks - ranks.mean()
    sizes = np.maximum(np.bincount(label), 1)
    return np.asarray(ranks - (np.bincount(label, ranks) / sizes)[label])


def _correlation(one: Floats, other: Floats) -> float:
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale else 0.0
