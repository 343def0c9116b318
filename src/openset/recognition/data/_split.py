"""Splits: known classes to train and test on, unknown classes to test with, as published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from openset.benchmarks.trials import Trial, trials
from openset.findings import UsageError
from openset.plugins import lookup
from openset.recognition.data._spec import Dataset, Part, Samples, Wanted

Difficulty = Literal["all", "easy", "medium", "hard"]
LEVELS = ("easy", "medium", "hard")


@dataclass(frozen=True, eq=False)
class OpenSplit:
    """A closed-set training set, and a test set with known and unknown samples.

    Attributes:
        name: The data set.
        trial: Which published split, from 0.
        known: The known classes, numbered as in the data set; their places are the labels here.
        unknown: The unknown classes, numbered as in the data set they are taken from.
        train: Known samples to train on.
        test: Known samples to test on.
        unknown_test: Unknown samples to test with.
    """

    name: str
    trial: int
    known: tuple[int, ...]
    unknown: tuple[int, ...]
    train: Samples
    test: Samples
    unknown_test: Samples


def open_split(
    name: str,
    *,
    trial: int = 0,
    folder: str | Path = "",
    unknown_folder: str | Path = "",
    level: Difficulty = "all",
    balanced: bool = False,
    size: int = 64,
) -> OpenSplit:
    """Known and unknown samples of a data set, split as in the literature.

    Args:
        name: Data set; `openset.recognition.data.table` lists them.
        trial: Which of the published splits, from 0; ARPL runs them in the reverse order.
        folder: Folder with the official files; the embedded digits need none.
        unknown_folder: Folder of the data set with the unknown classes, if it is another.
        level: Only unknown classes of this difficulty, for data sets that have levels.
        balanced: Cut the larger of the known and unknown test sets, as published evaluations do.
        size: Height and width to resize to, where images have none in common.

    >>> split = open_split("digits", trial=0)
    >>> split.known, split.unknown, split.train.images.shape[1:]
    ((2, 4, 5, 9, 8, 3), (0, 1, 6, 7), (8, 8, 1))
    """
    from openset.recognition.data import table

    chosen = lookup(table(), name, "data set")
    if not chosen.embedded and not folder:
        raise UsageError(f"data set {name!r} is read from local files: give folder=")
    known, unknown = _classes(chosen, trial, level)
    other = lookup(table(), chosen.unknown, "data set")
    train, test = (_read(chosen, folder, part, known, size) for part in ("train", "test"))
    strange = _read(other, unknown_folder or folder, "test", unknown, size)
    test = _numbered(test, known)
    if balanced:
        n = min(len(test.label), len(strange.label))
        test, strange = _spread(test, n), _spread(strange, n)
    return OpenSplit(name, trial, known, unknown, _numbered(train, known), test, strange)


def left_out(split: OpenSplit, classes: Sequence[int], *, train: float = 0.75) -> OpenSplit:
    """A split within the training samples: some known classes are taken for unknown.

    What to choose options on: no test sample and no unknown class takes part.

    Args:
        split: Of which only the training samples are used.
        classes: The known classes to leave out, as places in `split.known`.
        train: Share of the samples of every other class to train on, the first ones; the others
            test.

    >>> inner = left_out(open_split("digits"), (0, 1))
    >>> inner.known, inner.unknown, set(inner.train.label.tolist())
    ((5, 9, 8, 3), (2, 4), {0, 1, 2, 3})
    """
    places = range(len(split.known))
    for place in classes:
        lookup({str(one): one for one in places}, str(place), "place of a known class:")
    kept = [place for place in places if place not in classes]
    if not kept or len(kept) == len(places):
        raise UsageError("at least one known class must be left out, and one kept")
    label = split.train.label
    first = np.zeros(len(label), bool)
    for place in kept:
        rows = np.flatnonzero(label == place)
        first[rows[: round(train * len(rows))]] = True
    known = np.isin(label, kept)
    parts = (Samples(split.train.images[rows], label[rows]) for rows in (first, known & ~first))
    training, test = (_numbered(part, kept) for part in parts)
    strange = Samples(split.train.images[~known], np.array(split.known)[label[~known]])
    names = [tuple(split.known[place] for place in some) for some in (kept, classes)]
    return OpenSplit(split.name, split.trial, names[0], names[1], training, test, strange)


def _read(
    of: Dataset, folder: str | Path, part: Part, classes: tuple[int, ...], size: int
) -> Samples:
    return of.read(Wanted(Path(folder), part, classes, size)).of(classes)


def _classes(chosen: Dataset, trial: int, level: str) -> Trial:
    """The classes of a trial; a data set with levels of difficulty has one trial."""
    stated = trials(chosen.splits)
    if not stated:
        raise UsageError(f"data set {chosen.name!r} has no published split of its own")
    levels = [stated[name] for name in LEVELS if name in stated]
    last = 0 if levels else len(stated) - 1
    if not 0 <= trial <= last:
        raise UsageError(f"data set {chosen.name!r} has trials 0 to {last}, not {trial}")
    lookup(dict.fromkeys(("all", *LEVELS)), level, "level")
    if not levels:
        if level != "all":
            why = f"data set {chosen.name!r} has no levels; level='all' takes all classes"
            raise UsageError(why)
        return list(stated.values())[trial]
    if level != "all":
        return stated[level]
    return Trial(levels[0].known, tuple(sorted(c for one in levels for c in one.unknown)))


def _numbered(samples: Samples, known: Sequence[int]) -> Samples:
    """Labels as places in the list of known classes."""
    place = np.zeros(max(known) + 1, np.int64)
    place[list(known)] = np.arange(len(known))
    return Samples(samples.images, place[samples.label])


def _spread(samples: Samples, n: int) -> Samples:
    """`n` of the samples, evenly spaced."""
    rows = np.linspace(0, len(samples.label) - 1, n).round().astype(int)
    return Samples(samples.images[rows], samples.label[rows])
