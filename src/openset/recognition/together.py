"""Together: what several classifiers' scores say of each other, before they are compared.

Comparisons are by sample, and labels alone tell whether samples are the same: a file may be given
twice, and samples may be in another order. Ids, where files have them, settle it; labels do where
the order of these differs; and where nothing is said, openness that goes together does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.ranking import area_under_roc
from openset.recognition._names import spelt_otherwise
from openset.recognition._numbered import numbered_otherwise
from openset.recognition.scores import Scores

Floats = NDArray[np.float64]
Names = NDArray[np.str_]
_NEARLY, _NEARLY_ALL = 0.01, 0.99  # of the deviation, and of samples: what rounding changes
_FEWEST = 50  # samples of a kind, of which order can be told
_RELATED, _SURE, _CHANCE = 0.2, 5.0, 2.0  # correlation, and standard deviations of it
_RIGHT, _APART = 0.5, 0.6  # accuracy and area under the ROC curve of a classifier that knows much


def repeated_scores(scores: Mapping[str, Scores]) -> dict[str, Finding]:
    """A finding for each classifier whose scores are those of one before it, but for rounding."""
    found: dict[str, Finding] = {}
    for name, before in _pairs(scores):
        if _same(scores[name], scores[before]):
            message = f"the scores are those of {before}, but for rounding"
            n = scores[name].n_known + scores[name].n_unknown
            found.setdefault(name, Finding("OS447", Level.WARNING, message, n, before))
    return found


def kept_apart(first: str, one: Scores, other: Scores) -> Finding | None:
    """What keeps a classifier from being compared with the first: names, or the order of samples.

    As ids or labels say: two sets of as many samples of every class look the same, and cannot be
    compared either.
    """
    called = spelt_otherwise(first, one, other) or numbered_otherwise(first, one, other)
    if called is not None:
        return called
    if (one.n_known, one.n_unknown) != (other.n_known, other.n_unknown):
        same = set(one.classes) == set(other.classes)  # what has other classes is refused for that
        return _of_other_samples(first, one, other) if same else None
    named = [_ids(scores) for scores in (one, other)]
    if named[0] is not None and named[1] is not None:
        by_id = _moved(first, named[0], named[1], "id")
        if by_id is not None:
            return _with_labels(by_id, _sorted_by(named[0], one), _sorted_by(named[1], other))
    return _moved(first, one.label_names, other.label_names, "label")


def _of_other_samples(first: str, one: Scores, other: Scores) -> Finding:
    sizes = [f"{each.n_known} known and {each.n_unknown} unknown" for each in (other, one)]
    away = abs(one.n_known - other.n_known) + abs(one.n_unknown - other.n_unknown)
    return Finding("OS834", Level.ERROR, f"{sizes[0]} samples, and {sizes[1]} in {first}", away)


def _with_labels(by_id: Finding, ours: Names, theirs: Names) -> Finding:
    """What to do about ids in another order: sorting helps if labels went with them."""
    if np.array_equal(ours, theirs):
        return replace(by_id, fix="sort the rows of all files by id; --force compares them as is")
    return replace(by_id, cause="ids were written in another order than labels and scores")


def _sorted_by(ids: Names, scores: Scores) -> Names:
    """Labels of known samples in the order of their ids."""
    return np.asarray(scores.label_names[np.argsort(ids[: scores.n_known])])


def _moved(first: str, ours: Names, theirs: Names, what: str) -> Finding | None:
    moved = np.flatnonzero(ours != theirs)
    if not len(moved) or not np.array_equal(np.sort(ours), np.sort(theirs)):
        return None
    whose = "samples" if what == "id" else "known samples"
    said = f"{len(moved)} of {len(ours)} {whose} have another {what} than in {first}, and every "
    said += f"{what} is there as often: samples are in another order"
    example = f"{what} {theirs[moved[0]]}, and {ours[moved[0]]} in {first}"
    return Finding("OS830", Level.ERROR, said, len(moved), f"sample {moved[0] + 1}: {example}")


def _ids(scores: Scores) -> Names | None:
    return None if scores.ids is None else np.concatenate([ids.astype(str) for ids in scores.ids])


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
    not_at_all = [k for k in r if _nothing(r[k], size[k])]
    excluded = all(_RELATED - r[k] >= _SURE / size[k] ** 0.5 for k in r)
    if len(not_at_all) == len(r) and excluded and _knows(one) and _knows(other):
        said = f"openness has nothing to do with that of {name} (correlation {r['known']:.2f} on "
        said += f"known samples, {r['unknown']:.2f} on unknown ones), though both tell them apart: "
        said += "as if samples were in another order"
        n = size["known"] + size["unknown"]
        return Finding("OS827", Level.NOTE, said, n, f"{n} samples")
    if not related or not not_at_all:
        return None
    kind, with_ = not_at_all[0], related[0]
    said = (
        f"openness goes with that of {name} on {with_} samples (correlation {r[with_]:.2f}), and "
    )
    said += f"not on {kind} ones ({r[kind]:.2f}), as if these were in another order"
    return Finding("OS827", Level.NOTE, said, size[kind], f"{size[kind]} {kind} samples")


def _nothing(r: float, n: int) -> bool:
    """Whether a correlation is chance, and half as much as that of a pair is excluded, too.

    Real pairs have 0.1 and more, also where one of them is hardly taught.
    """
    deviation = n**-0.5
    return r <= _CHANCE * deviation and r + _CHANCE * deviation < _RELATED / 2


def _knows(scores: Scores) -> bool:
    """Whether a classifier names most known samples rightly, and tells unknown ones from them.

    Two that do find the same samples hard; of one that knows nothing that cannot be said.
    """
    right = float((scores.predicted == scores.label).mean())
    return right >= _RIGHT and area_under_roc(scores.ranking) >= _APART


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
