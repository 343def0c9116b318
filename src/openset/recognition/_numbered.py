"""Classes that two files number, or name, otherwise: each of one is always the same of the other.

Files without names of classes number them from 0, each by its own list: in the order of its
folders, say. Samples in another order do not look like that: a class would then be several.
"""

from __future__ import annotations

import numpy as np

from openset.findings import Finding, Level
from openset.recognition.scores import Scores
from openset.wording import some

_FEWEST = 20  # known samples; of fewer, chance may pair classes


def numbered_otherwise(name: str, first: Scores, other: Scores) -> Finding | None:
    """OS833, if the classes of a file are those of the first one under other numbers or names."""
    if first.n_known != other.n_known or first.n_unknown != other.n_unknown:
        return None
    if first.n_known < _FEWEST or _other_samples(first, other):
        return None
    same = set(first.classes) == set(other.classes)
    if same and not all(one.isdecimal() for one in first.classes):
        return None  # names are believed, and samples are in another order
    ours, theirs = first.label_names, other.label_names
    pairs = {(str(a), str(b)) for a, b in zip(theirs, ours, strict=True)}
    sizes = {len(pairs), len({a for a, _ in pairs}), len({b for _, b in pairs})}
    differ = sorted((a, b) for a, b in pairs if a != b)
    if len(sizes) > 1 or len(pairs) < 2 or not differ:
        return None
    said = f"labels are those of {name}, but {len(differ)} of {len(pairs)} classes "
    said += f"have another {'number' if same else 'name'}: "
    said += some([f"{a} is {b} in {name}" for a, b in differ])
    count = int((ours != theirs).sum())
    at = int((ours != theirs).argmax())
    example = f"sample {at + 1}: label {theirs[at]}, and {ours[at]} in {name}"
    fix = "" if same else "name classes alike in all files; --force compares as is"
    return Finding("OS833", Level.ERROR, said, count, example, fix=fix)


def _other_samples(first: Scores, other: Scores) -> bool:
    """Whether ids say that samples are not the same, row by row."""
    if first.ids is None or other.ids is None:
        return False
    pairs = zip(first.ids, other.ids, strict=True)
    return any(not np.array_equal(a.astype(str), b.astype(str)) for a, b in pairs)
