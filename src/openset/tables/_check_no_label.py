"""Check that no label is a word for a missing value.

An empty label is refused when a file is read; `str(None)`, and tables that write what is missing as
``nan``, make a word of it, which is then the name of a class like any other: one that is unknown.
A class may be called so, though: known classes are, and what both files name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, first, object_at, share
from openset.tables._check_numbers import names_of
from openset.tables.annotations import Annotations
from openset.tables.vocabulary import Role, Vocabulary
from openset.wording import some

_NOTHING = frozenset({"nan", "<na>", "n/a", "na", "none", "null", "nil", "undefined", "#n/a"})


def objects_of_nothing(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """The finding that objects have such a label."""
    words = _words(truth.labels, vocabulary)
    rows = np.isin(truth.label, np.flatnonzero([name in words for name in truth.labels]))
    if words and rows.any():
        yield _said(Level.WARNING, "objects", rows, words, object_at(truth, first(rows)))


def detected_nothing(case: Case) -> Iterator[Finding]:
    """The finding that detections have such a label, which is no class of the ground truth."""
    words = _words(names_of(case), case.vocabulary) - set(case.truth.labels)
    if words:
        rows = np.array([name in words for name in case.detections.labels])[case.detections.label]
        yield _said(Level.ERROR, "detections", rows, words, case.where(first(rows)))


def _words(labels: list[str] | tuple[str, ...], vocabulary: Vocabulary) -> set[str]:
    """Labels that are words for nothing, but for known classes."""
    nothing = {name for name in labels if name.strip().lower() in _NOTHING}
    return {name for name in nothing if vocabulary.role(name) is not Role.KNOWN}


def _said(level: Level, noun: str, rows: NDArray[np.bool_], words: set[str], at: str) -> Finding:
    count = int(np.count_nonzero(rows))
    said = f"{share(count, len(rows), noun)} have the label {some(map(repr, sorted(words)))}"
    return Finding("OS338", level, said, count=count, example=at)
