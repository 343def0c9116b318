"""Names of classes: one class that is spelt in two ways, and a class that means "unknown".

A classifier names classes from one list, so that a label that it never says, and that is another
one but for case or spaces, is a slip of whoever wrote the labels. Two that it does say are two
classes (letters, say).
"""

from __future__ import annotations

from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.recognition.scores import Scores
from openset.tables.vocabulary import UNKNOWN_SPELLINGS, is_unknown_spelling, normal
from openset.wording import some

_NEAR = 0.8
_LETTERS, _LOOKED = 4, 100  # of a name that may be misspelt, and how many of them are compared
_ABSENT = frozenset({"nan", "none", "null", "na", "n/a", "<na>"})
_SOME = 5  # samples of labels that are never predicted
_FEWEST, _TAKEN, _RARE = 20, 0.5, 5.0  # unknown samples of absent classes, and known ones' share


def spelt_twice(scores: Scores) -> Finding | None:
    """Labels that are a predicted class but for case, spaces or punctuation."""
    labelled, named = _counts(scores)
    keys = [normal(name) for name in scores.classes]
    said = {key: at for at, key in enumerate(keys) if named[at]}
    twins = {
        at: said[key]
        for at, key in enumerate(keys)
        if labelled[at] and not named[at] and said.get(key, at) != at
    }
    if not twins or _cased(keys, named):
        return None
    names, count = scores.classes, int(labelled[list(twins)].sum())
    pairs = [f"{names[a]!r} for {names[b]!r}" for a, b in twins.items()]
    return Finding(
        "OS821",
        Level.ERROR,
        f"{count} known samples have a label that the predictions spell otherwise: {some(pairs)}",
        count,
        pairs[0],
    )


def spelt_otherwise(first: str, one: Scores, other: Scores) -> Finding | None:
    """Classes that the first classifier calls otherwise, where case, spaces or punctuation is all.

    Files that tell classes apart by these (letters, say) have the same names, or other classes.
    """
    ours, theirs = ({normal(name): name for name in each.classes} for each in (one, other))
    whole = len(ours) == len(one.classes) and len(theirs) == len(other.classes)
    if not whole or ours.keys() != theirs.keys():
        return None
    pairs = [f"{name!r} for {ours[k]!r}" for k, name in theirs.items() if name != ours[k]]
    if not pairs:
        return None
    return Finding(
        "OS821",
        Level.ERROR,
        f"{len(pairs)} of {len(ours)} classes are spelt otherwise than in {first}: {some(pairs)}",
        len(pairs),
        pairs[0],
        cause="the files were written with different lists of names",
        fix="spell classes alike in all files; --force compares them as they are",
    )


def nearly_spelt(scores: Scores) -> Finding | None:
    """A name of one column alone that is nearly one of both: a slip, or two classes alike."""
    labelled, named = _counts(scores)
    names = scores.classes
    both = [name for at, name in enumerate(names) if labelled[at] and named[at]]
    alone = [at for at in np.flatnonzero((labelled > 0) != (named > 0)) if names[at].isalpha()]
    pairs = [(at, get_close_matches(names[at], both, 1, _NEAR)) for at in alone[:_LOOKED]]
    slips = {at: near[0] for at, near in pairs if near and len(names[at]) >= _LETTERS}
    if not slips:
        return None
    count = int((labelled + named)[list(slips)].sum())
    said = [f"{names[at]!r} for {near!r}" for at, near in slips.items()]
    message = f"{count} labels or predictions, of one column alone, are spelt nearly like a class"
    return Finding("OS821", Level.NOTE, f"{message}: {some(said)}", count, said[0])


def _cased(keys: list[str], named: NDArray[np.int64]) -> bool:
    """Whether the classifier itself tells names apart that differ in case or spaces alone."""
    said = [key for key, times in zip(keys, named, strict=True) if times]
    return len(set(said)) < len(said)


def unknown_in_disguise(scores: Scores) -> Finding | None:
    """Labels that are never predicted: nearly "unknown", or any where no sample is unknown.

    A classifier that says fewer classes than it never says is weak, and nothing is concluded.
    """
    labelled, named = _counts(scores)
    never = np.flatnonzero((labelled > 0) & (named == 0)).tolist()
    slips = [at for at in never if says_unknown_badly(scores.classes[at])]
    weak = len(never) >= np.count_nonzero(named) or int(labelled[never].sum()) < _SOME
    found = slips or ([] if scores.n_unknown or weak else never)
    if not found:
        return None
    count, names = int(labelled[found].sum()), [repr(scores.classes[at]) for at in found]
    said = f"{count} of {scores.n_known} known samples have a label that is never predicted"
    level = Level.ERROR if slips else Level.WARNING
    none = "" if scores.n_unknown else ", and no sample is unknown"
    return Finding("OS822", level, f"{said}{none}: {some(names)}", count, names[0])


def says_unknown_badly(name: str) -> bool:
    """Whether a label is a misspelt "unknown", or what a program writes for no value.

    >>> says_unknown_badly("unkown"), says_unknown_badly("NaN"), says_unknown_badly("known")
    (True, True, False)
    """
    key = normal(name)
    longer = [one for one in UNKNOWN_SPELLINGS if len(one) > 3]
    near = key.startswith("un") and get_close_matches(key, longer, 1, _NEAR)
    return key in _ABSENT or bool(near)


def of_absent_classes(scores: Scores) -> Finding | None:
    """Classes without known samples that take most unknown ones: "unknown" itself, or a leak."""
    if scores.unknown_predicted is None or scores.n_unknown < _FEWEST or not scores.n_known:
        return None
    absent = np.bincount(scores.label, minlength=scores.n_classes) == 0
    taken, known = absent[scores.unknown_predicted], absent[scores.predicted]
    called = [name for name in scores.classes if is_unknown_spelling(name)]
    least = max(_TAKEN, _RARE * known.mean(), 2 * absent.mean())  # of many, chance takes many
    if not called and taken.mean() < least:
        return None
    held = np.unique(scores.unknown_predicted[taken])
    names = called or [scores.classes[at] for at in held]
    said = f"{int(taken.sum())} of {scores.n_unknown} unknown and {int(known.sum())} of "
    said += f"{scores.n_known} known samples are named as classes that no known sample has"
    return Finding(
        "OS823",
        Level.ERROR if called else Level.WARNING,
        f"{said}: {some(names)}",
        int(taken.sum()),
        f"class {names[0]}",
    )


def _counts(scores: Scores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each class is a label, and how often it is predicted."""
    n = scores.n_classes
    columns = [scores.predicted]
    if scores.unknown_predicted is not None:
        columns.append(scores.unknown_predicted)
    return np.bincount(scores.label, minlength=n), np.bincount(np.concatenate(columns), minlength=n)
