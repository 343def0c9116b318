"""Misnaming: labels that consistently mean another class, seen in a table of labels x classes.

A file whose categories are numbered otherwise, or in which two classes are exchanged, is no weak
detector: what one label is put on is one other class, and that class gets no other label. A weak
detector spreads its labels, and one that says the same of everything says it of all classes; both
are left alone. So a label is misnamed only if

- it means one other class far more often than itself and than that class's own label does,
- other labels are put on that class so rarely that chance is no explanation (Chernoff's bound of
  the binomial tail, one in a thousand for each label after Bonferroni), and
- it is not alone: two that are exchanged (or a longer circle), a chain of three (each means what
  the one before says), or more than are right.

Not a confusion matrix for people (see `openset.diagnosis.confusion`), and not the best assignment
of labels at any price: only what is certain is said.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from openset.tables.columns import distinct, longest_run

_IN_A_ROW, _OFTENER = 4, 2  # labels that are one off, and times that they are right together
FEWEST = 4  # times that a label must be seen on another class
RATIO = 3  # ... in relation to what it should be on
SHARE = 3  # ... and one in so many of all times that it is seen
CHANCE = 1e-3
_IMAGES, _PART = 8, 0.2  # images of two classes that are wrong throughout, and their share
_EXPLAINED = 0.6  # of what is in them, by one class for each label
_STRETCHES, _RIGHT = (2, 4), 0.75  # parts of the images; share of labels that are right elsewhere
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
    fits = (counts >= FEWEST) & (counts >= least)
    if not fits.any():  # as of nearly all files
        return {}
    fits &= counts == counts.max(axis=0)
    fits &= SHARE * counts >= counts.sum(axis=1, keepdims=True)
    found: dict[int, int] = {}
    for label in np.flatnonzero(fits.any(axis=1)).tolist():
        means = int(np.where(fits[label], counts[label], 0).argmax())
        if means != label and means not in found.values() and _beyond_chance(counts, label, means):
            found[label] = means
    return found if _circle(found) or _many(found, counts) else {}


def exchanged(counts: NDArray[np.int64]) -> dict[int, int]:
    """Pairs of labels that are on each other's classes, of fewer cases than `misnamed` needs.

    Both together are on the other's class three times as often as on their own, and each on none
    more often. A detector that cannot tell two classes is on either as often; enough to warn.

    >>> exchanged(np.array([[1, 12, 0], [10, 4, 2], [0, 1, 40]]))
    {0: 1, 1: 0}
    >>> exchanged(np.array([[6, 12, 0], [10, 4, 2], [0, 1, 40]]))
    {}
    """
    most = (counts == counts.max(axis=1, keepdims=True)) & (counts == counts.max(axis=0))
    most &= (counts >= FEWEST) & (SHARE * counts >= counts.sum(axis=1, keepdims=True))
    own, both = np.diag(counts), counts + counts.T
    pairs = np.argwhere(most & most.T & (both >= RATIO * (own[:, None] + own[None])))
    return {int(one): int(other) for one, other in pairs if one != other}


def one_off(counts: NDArray[np.int64], listed: NDArray[np.int64]) -> dict[int, int]:
    """Labels, one after the other in a list, that are each put on the class beside it.

    Where a class was removed from a list, or put into it, all that come later are one off. Each of
    them may be too rare to say so, and the class beside it too much like it; but of four in a row
    that each name the next more often than any other, and twice as often as themselves together,
    no weak detector is capable. Those that are seen too rarely are passed over.

    Args:
        counts: As of `misnamed`.
        listed: Labels in the order of the list.

    >>> counts = np.diag([9, 9, 0, 2, 0, 2, 0])
    >>> counts[[2, 3, 4, 5], [3, 4, 5, 6]] = 5
    >>> one_off(counts, np.arange(7))
    {2: 3, 3: 4, 4: 5, 5: 6}
    >>> one_off(counts[:6, :6], np.arange(6))
    {}
    """
    most, seen = counts.argmax(axis=1), counts.max(axis=1) >= FEWEST
    place = np.full(len(counts), -2)
    place[listed] = np.arange(len(listed))
    judged = listed[seen[listed]]
    apart = place[most[judged]] - place[judged]
    for step in (1, -1):
        found = judged[slice(*longest_run(apart == step))]
        own, other = counts[found, found].sum(), counts[found, most[found]].sum()
        if len(found) >= _IN_A_ROW and other >= _OFTENER * own:
            return dict(zip(found.tolist(), most[found].tolist(), strict=True))
    return {}


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


def _many(found: dict[int, int], counts: NDArray[np.int64]) -> bool:
    """Whether three at least are a chain, or more than are right: a few may be hard to tell."""
    own = np.diag(counts)
    right = np.count_nonzero((own >= FEWEST) & (own == counts.max(axis=1)))
    chained = sum(means in found for means in found.values())
    return len(found) > 2 and (chained > 1 or len(found) > int(right))


def misnamed_in_part(
    image: NDArray[np.int64], label: NDArray[np.int64], klass: NDArray[np.int64], size: int
) -> tuple[dict[int, int], NDArray[np.int64]]:
    """The same in those images alone whose labels are wrong throughout, and these images.

    Where labels of some images mean other classes, an image is wrong as a whole or right; a weak
    detector is right about one object and wrong about the next. So images with objects of two
    classes at least are looked at, and if more are mixed than wrong, nothing is said.

    Args:
        image: The image of each detection on an object.
        label: What the detection says.
        klass: The class of the object.
        size: How many labels there are.

    >>> image, klass = np.repeat(np.arange(40), 3), np.tile([0, 1, 2], 40)
    >>> label = np.where(image < 20, klass, (klass + 1) % 3)
    >>> found, images = misnamed_in_part(image, label, klass, 3)
    >>> found, len(images)
    ({0: 2, 1: 0, 2: 1}, 20)
    """
    nothing = np.empty(0, np.int64)
    keys, at = np.unique(image * size + klass, return_inverse=True)
    right = np.bincount(at, label == klass) > 0
    images, slot, several = np.unique(keys // size, return_inverse=True, return_counts=True)
    good = np.bincount(slot, right, len(images))
    wrong, mixed = (several > 1) & (good == 0), (several > 1) & (good > 0) & (good < several)
    least = max(_IMAGES, _PART * int(np.count_nonzero(several > 1)), int(np.count_nonzero(mixed)))
    if np.count_nonzero(wrong) < least:
        return {}, nothing
    once = _Once.of(image, label, klass, size)
    counts = once.counts(np.isin(once.image, images[wrong]))
    found = misnamed(counts)
    explained = sum(int(counts[d, o]) for d, o in found.items())
    return (found, images[wrong]) if explained >= _EXPLAINED * counts.sum() else ({}, nothing)


def misnamed_in_a_stretch(
    image: NDArray[np.int64], label: NDArray[np.int64], klass: NDArray[np.int64], size: int
) -> tuple[dict[int, int], NDArray[np.int64]]:
    """The same in a half or a quarter of the images, in order, and these images.

    In the others labels are right: of those that are misnamed here, three in four that are judged
    there mean what they say. A class that is hard to tell is so everywhere.

    >>> image, klass = np.arange(120), np.tile([0, 1, 2], 40)
    >>> label = np.where(image < 60, klass, (klass + 1) % 3)
    >>> found, images = misnamed_in_a_stretch(image, label, klass, 3)
    >>> found, int(images[0]), len(images)
    ({0: 2, 1: 0, 2: 1}, 60, 60)
    """
    once = _Once.of(image, label, klass, size)
    every = distinct(image, int(image.max(initial=0)) + 1)
    for parts in _STRETCHES:
        for images in filter(len, np.array_split(every, parts)):
            there = (once.image >= images[0]) & (once.image <= images[-1])
            found = misnamed(once.counts(there))
            if not found:  # as nearly always
                continue
            others = once.counts(~there)
            own = np.diag(others)
            right = (own >= FEWEST) & (own == others.max(axis=1))
            judged = [one for one in found if others[one].max() >= FEWEST]
            if judged and right[judged].mean() >= _RIGHT:
                return found, images
    return {}, np.empty(0, np.int64)


class _Once(NamedTuple):
    """Each label on each class once an image.

    Attributes:
        image: The image.
        pair: Row and column of label and class, in a table that is laid out row by row.
        size: How many labels there are.
    """

    image: NDArray[np.int64]
    pair: NDArray[np.int64]
    size: int

    @classmethod
    def of(
        cls,
        image: NDArray[np.int64],
        label: NDArray[np.int64],
        klass: NDArray[np.int64],
        size: int,
    ) -> Self:
        """The distinct ones, of any detections."""
        image, pair = np.divmod(np.unique((image * size + label) * size + klass), size * size)
        return cls(image, pair, size)

    def counts(self, there: NDArray[np.bool_]) -> NDArray[np.int64]:
        """In how many of some images each label is on each class."""
        counts = np.bincount(self.pair[there], minlength=self.size**2)
        return counts.reshape(self.size, self.size)


def mended(found: dict[int, int], counts: NDArray[np.int64]) -> tuple[dict[int, int], list[int]]:
    """What labels are to be read as, and which of them the counts do not tell.

    A label that is right stays what it is. Of one that is too rare to judge nothing is known if
    another label means its class, or if most labels mean another; the last of them means the last
    class that is left.

    >>> counts = np.array([[0, 30, 0, 0], [0, 0, 30, 0], [2, 0, 0, 1], [0, 0, 0, 9]])
    >>> mended({0: 1, 1: 2}, counts)
    ({0: 1, 1: 2, 2: 0}, [])
    >>> mended({0: 1, 1: 2}, counts - np.diag([0, 0, 0, 9]) + np.diag([0, 0, 0, 1]))
    ({0: 1, 1: 2}, [2, 3])
    """
    own, taken = np.diag(counts), set(found.values())
    judged = np.flatnonzero((own >= FEWEST) & (own == counts.max(axis=1))).tolist()
    right = {label for label in judged if label not in found and label not in taken}
    said = np.flatnonzero(counts.any(axis=1)).tolist()
    doubt = [label for label in said if label not in found and label not in right]
    left = [label for label in doubt if label in taken or len(found) > len(right)]
    free = [klass for klass in range(len(counts)) if klass not in taken and klass not in right]
    if len(left) == len(free) == 1:
        return {**found, left[0]: free[0]}, []
    return found, left
