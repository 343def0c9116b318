"""Copies: samples that a file has more than once, or under both kinds.

A sample is known by its openness, to the last digit, and by its label and name. Numbers that
saturate or are rounded are equal by themselves, but among samples of different classes as well: so
distinct ones are counted, and equal ones must be of one class throughout, or all be there again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.recognition.scores import Scores

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]
_FEWEST, _COPIED = 20, 0.9  # unknown samples, and the share of them that are known ones again
_SOME, _BY_CHANCE = 0.02, 5.0  # a lesser share, if it is so many times what rounding makes equal
_TWICE = 0.1  # the share of samples that are copies of another, in one kind
_ALIKE, _OTHERS = 0.9, 0.02  # samples of one class, and equal ones that are of another
_NEARLY = 0.01  # of the deviation: what rounding of one copy takes away


def both_kinds(scores: Scores) -> Finding | None:
    """Unknown samples that are known ones: the same id, or number in single precision."""
    if scores.ids is not None:
        known_ids, ids = (ids.astype(str) for ids in scores.ids)
        there = np.isin(ids, known_ids)
        return _same_ids("OS817", "unknown", scores.ids[1], there, "a known one")
    known, openness = (x.astype(np.float32) for x in (scores.openness, scores.unknown_openness))
    copies = openness[np.isin(openness, known)]
    distinct = len(np.unique(copies))  # numbers that saturate are equal by themselves
    if distinct < max(_FEWEST, _SOME * len(openness)):
        return None
    ties = max(map(_tied_share, (openness, known)))
    if distinct < _COPIED * len(openness) and len(copies) < _BY_CHANCE * ties * len(openness):
        return None
    said = f"{len(copies)} of {len(openness)} unknown samples have exactly the openness of a known"
    return Finding("OS817", Level.WARNING, f"{said} one", len(copies), f"openness {copies[0]:g}")


def _tied_share(values: NDArray[np.float32]) -> float:
    """The share of values that another one equals, as rounding makes them."""
    _, times = np.unique(values, return_counts=True)
    return float(times[times > 1].sum() / max(len(values), 1))


def repeated(scores: Scores) -> Finding | None:
    """Samples that are in the file more than once."""
    for kind, ids in zip(("known", "unknown"), scores.ids or (), strict=False):
        _, at = np.unique(ids, return_index=True)
        again = np.ones(len(ids), np.bool_)
        again[at] = False
        by_id = _same_ids("OS820", kind, ids, again, "another")
        if by_id is not None:
            return by_id
    if scores.ids is not None:
        return None
    kinds = {
        "known": (scores.openness, scores.label.astype(np.int64), scores.predicted),
        "unknown": (scores.unknown_openness, None, scores.unknown_predicted),
    }
    found = {kind: _copies(*columns) for kind, columns in kinds.items()}
    said = {kind: at for kind, at in found.items() if len(at)}
    if not said:
        return None
    sizes = {"known": scores.n_known, "unknown": scores.n_unknown}
    parts = [f"{len(at)} of {sizes[kind]} {kind} samples" for kind, at in said.items()]
    kind, at = next(iter(said.items()))
    openness = kinds[kind][0][at[0]]
    return Finding(
        "OS820",
        Level.WARNING,
        f"{' and '.join(parts)} are another one again: the same openness, label and class",
        sum(map(len, said.values())),
        f"{kind} sample {at[0] + 1}, openness {openness:g}",
    )


def _same_ids(
    code: str, kind: str, ids: NDArray[Any], same: NDArray[np.bool_], whose: str
) -> Finding | None:
    count = int(np.count_nonzero(same))
    if not count:
        return None
    said = f"{count} of {len(ids)} {kind} samples have the id of {whose}"
    return Finding(code, Level.WARNING, said, count, f"id {ids[same][0]}")


def _copies(
    openness: Floats, label: NDArray[np.int64] | None, predicted: Labels | None
) -> NDArray[np.intp]:
    """Where the second and later copies of samples are; nowhere if chance may explain them."""
    n = len(openness)
    if n < 2 * _FEWEST:
        return np.empty(0, np.intp)
    name = np.zeros(n, np.int64) if label is None else label << 32
    name = name if predicted is None else name + predicted
    order = np.lexsort((name, openness))
    value, named = openness[order], name[order]
    equal = (value[1:] == value[:-1]) & (named[1:] == named[:-1])
    later = order[1:][equal]
    many = _distinct(openness[later]) >= _FEWEST and len(later) >= _TWICE * n
    if many and (_whole(equal, n) or not _rounded(openness, name)):
        return np.sort(later)
    return _second_half(openness, name)


def _distinct(values: Floats) -> int:
    return len(np.unique(values))


def _whole(equal: NDArray[np.bool_], n: int) -> bool:
    """Whether every sample is there two or three times, or a multiple: a file joined to itself."""
    starts = np.flatnonzero(np.append(True, ~equal))
    times = np.diff(np.append(starts, n))
    return bool((times % 2 == 0).all() or (times % 3 == 0).all())


def _rounded(openness: Floats, name: NDArray[np.int64]) -> bool:
    """Whether samples of different classes have equal numbers, as rounding makes them.

    In an order by chance, since a file may be sorted by class. Where nearly all are of one class,
    nothing can be told.
    """
    _, times = np.unique(name, return_counts=True)
    if np.square(times / len(name)).sum() > _ALIKE:
        return True
    mixed = np.random.default_rng(0).permutation(len(name))
    order = mixed[np.argsort(openness[mixed], kind="stable")]
    value, named = openness[order], name[order]
    equal = value[1:] == value[:-1]
    other = equal & (named[1:] != named[:-1])
    return bool(np.count_nonzero(other) > _OTHERS * np.count_nonzero(equal))


def _second_half(openness: Floats, name: NDArray[np.int64]) -> NDArray[np.intp]:
    """A copy that was rounded: the second half is the first, or each row is the one before it."""
    n = len(openness)
    spread = float(np.std(openness)) if np.isfinite(openness).all() else 0.0
    if n % 2 or not spread:
        return np.empty(0, np.intp)
    for rows in (np.arange(n).reshape(2, -1), np.arange(n).reshape(-1, 2).T):
        (one, other), (said, again) = openness[rows], name[rows]
        near = np.abs(one - other) <= _NEARLY * spread
        if near.all() and (said == again).mean() >= _COPIED and _distinct(one) >= len(one) / 2:
            return rows[1]
    return np.empty(0, np.intp)
