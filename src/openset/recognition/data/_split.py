"""Splits: known classes to train and test on, unknown classes to test with, as published."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from openset.findings import UsageError
from openset.plugins import lookup
from openset.recognition.data._spec import Dataset, Part, Samples, Source

Level = Literal["all", "easy", "medium", "hard"]
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
    level: Level = "all",
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


def _read(
    of: Dataset, folder: str | Path, part: Part, classes: tuple[int, ...], size: int
) -> Samples:
    return of.read(Source(Path(folder), part, classes, size)).of(classes)


@cache
def published() -> Mapping[str, Any]:
    """The published splits, by data set."""
    return tomllib.loads(Path(__file__).with_name("splits.toml").read_text("utf-8"))


def _classes(chosen: Dataset, trial: int, level: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if chosen.splits not in published():
        raise UsageError(f"data set {chosen.name!r} has no published split of its own")
    stated = published()[chosen.splits]
    trials = stated["known"]
    if not 0 <= trial < len(trials):
        raise UsageError(f"data set {chosen.name!r} has trials 0 to {len(trials) - 1}, not {trial}")
    lookup(dict.fromkeys(("all", *LEVELS)), level, "level")
    if level != "all" and level not in stated:
        raise UsageError(f"data set {chosen.name!r} has no levels; level='all' takes all classes")
    known = tuple(trials[trial])
    if level != "all":
        return known, tuple(stated[level])
    if "unknown" in stated:
        return known, tuple(stated["unknown"][trial])
    return known, tuple(c for c in range(chosen.n_classes) if c not in known)


def _numbered(samples: Samples, known: Sequence[int]) -> Samples:
    """Labels as places in the list of known classes."""
    place = np.zeros(max(known) + 1, np.int64)
    place[list(known)] = np.arange(len(known))
    return Samples(samples.images, place[samples.label])


def _spread(samples: Samples, n: int) -> Samples:
    """`n` of the samples, evenly spaced."""
    rows = np.linspace(0, len(samples.label) - 1, n).round().astype(int)
    return Samples(samples.images[rows], samples.label[rows])
