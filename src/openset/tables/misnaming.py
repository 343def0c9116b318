"""Misnaming: labels that consistently mean another class, seen in a table of labels x classes.

A file whose categories are numbered otherwise, or in which two classes are exchanged, is no weak
detector: what one label is put on is one other class, and that class gets no other label. A weak
detector spreads its labels, and one that says the same of everything says it of all classes; both
are left alone. So a label is misnamed only if

- it means one other class far more often than itself and than that class's own label does,
- other labels are put on that class so rarely that chance is no explanation (Chernoff's bound of
  the binomial tail, one in a thousand for each label after Bonferroni), and
- it is not alone: two that are exchanged (or a longer circle), or three at least.

Not a confusion matrix for people (see `openset.diagnosis.confusion`), and not the best assignment
of labels at any price: only what is certain is said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEWEST = 4  # times that a label must be seen on another class
RATIO = 3  # ... in relation to what it should be on
SHARE = 3  # ... and one in so many of all times that it is seen
CHANCE = 1e-3
MOST_LABELS = 2_000  # of more, a table of labels and classes would be large: no verdict


def misnamed(counts: NDArray[np.int64]) -> dict[int, int]:
    """What labels mean instead of what they say; empty if they mean what they say.

    Args:
        counts: How often (in how many independent images or samples) each label, a row, is put on
            each class, a column; label and class of one index belong together.

    >>> misnamed(np.array([[1, 30, 0], [28, 0, 2], [0, 1, 40]]))
    {0: 1, 1: 0}
    >>> misnamed(np.array([[20, 30, 0], [28, 19, 2], [0, 1, 40]]))
    {}
    """
    own = np.diag(counts)
    least = RATIO * np.maximum(own[:, None], own[None])
    fits = (counts >= FEWEST) & (counts >= least) & (counts == counts.max(axis=0))
    fits &= SHARE * counts >= counts.sum(axis=1, keepdims=True)
    found: dict[int, int] = {}
    for label in np.flatnonzero(fits.any(axis=1)).tolist():
        means = int(np.where(fits[label], counts[label], 0).argmax())
        if means != label and means not in found.values() and _beyond_chance(counts, label, means):
            found[label] = means
    return found if len(found) > 2 or _circle(found) else {}


def _beyond_chance(counts: NDArray[np.int64], label: int, means: int) -> bool:
    """Whether a label is on a class more often than other labels make likely."""
    total, times = int(counts[label].sum()), int(counts[label, means])
    others = counts.sum() - total
    # Of one that none of the others names, little is known: half of one case is assumed.
    expected = (counts[:, means].sum() - times + 0.5) / (others + 1)
    share = times / total
    if share <= expected:
        return False
    unlikely = share * np.log(share / expected)
    if share < 1:
        unlikely += (1 - share) * np.log((1 - share) / (1 - expected))
    return bool(total * unlikely >= np.log(len(counts) / CHANCE))


def _circle(found: dict[int, int]) -> bool:
    """Whether some labels mean each other: then none of them can be right."""
    for start in found:
        at = found[start]
        for _ in found:
            if at == start:
                return True
            at = found.get(at, -1)
    return False


def completed(found: dict[int, int], counts: NDArray[np.int64]) -> dict[int, int]:
    """The same with what labels too rare to judge would mean, of what no other label means.

    >>> counts = np.array([[0, 30, 0, 0], [0, 0, 30, 0], [30, 0, 0, 2], [1, 0, 0, 9]])
    >>> completed({0: 1, 1: 2, 2: 0}, counts)
    {0: 1, 1: 2, 2: 0}
    """
    whole = dict(found)
    keeps = np.flatnonzero(np.diag(counts) == counts.max(axis=1))
    whole |= {int(k): int(k) for k in keeps if k not in whole and k not in whole.values()}
    for flat in np.argsort(-counts, axis=None, kind="stable")[: np.count_nonzero(counts)]:
        label, means = divmod(int(flat), len(counts))
        if label not in whole and means not in whole.values():
            whole[label] = means
    return {label: whole[label] for label in sorted(whole) if whole[label] != label}
