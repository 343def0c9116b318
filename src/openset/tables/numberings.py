"""Numberings: what numbers of classes might mean, held against the objects that boxes are on.

Ids of the ground truth, positions in its list of categories, or positions in the list of known
classes: the numbers themselves often fit several of them. What boxes are on tells them apart, label
by label: of the labels that two numberings take for different classes, nearly all must be on those
of one of them. One label proves nothing: whoever calls everything a cat is right about cats only.

Not labels that mean other classes one by one (see `openset.tables.misnaming`), and never a
decision: only what is stated is applied (`openset.tables.category_ids`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.tables.annotations import Annotations
from openset.tables.category_ids import LISTED, POSITIONS, Positions, Renamed, category_ids_of, told

_LABELS = 3  # labels that must be better off, and so many times as many as are worse off
_TIMES = 3
_ONE = 0.5  # of the images of a label, on one class: that is no "unknown"
_IDS = "ids of the ground truth"
_IMAGES = 3  # in which a label must be seen to count


class Numbering(NamedTuple):
    """A numbering that fits.

    Attributes:
        option: What `category_ids=` is to be, empty for the ids of the ground truth.
        meaning: What the numbers are, in words.
        left: Numbers to which it gives no category.
        means: The class that it takes each number for, -1 for none.
    """

    option: str
    meaning: str
    left: tuple[int, ...]
    means: NDArray[np.int64]

    @property
    def fix(self) -> str:
        """What reads them."""
        said = f"category_ids={self.option!r} reads them" if self.option else "omit category_ids="
        if len(self.left) == 1:
            said += f", with unknown_label={self.left[0]} if {self.left[0]} is unknown"
        return f"{said}; force=True evaluates as it is"


def fitting_numbering(
    counts: NDArray[np.int64],
    numbers: Sequence[int],
    ours: NDArray[np.int64],
    place: Mapping[str, int],
    key: Callable[[str], str],
    truth: Annotations,
    known: Sequence[str],
) -> Numbering | None:
    """The numbering that fits clearly better than ours, or None.

    Args:
        counts: In how many images each number, a row, is on each class.
        numbers: What the file calls its labels.
        ours: The class that each is taken for, -1 for none.
        place: The class of a name, as the vocabulary compares names.
        key: The vocabulary's way to compare them.
        truth: The ground truth, whose ids and positions may be meant.
        known: The known classes, likewise.
    """
    best: tuple[int, Numbering | None] = (_right(counts, ours), None)
    for option, stated in _candidates(known).items():
        names = stated.names([*map(str, numbers)], truth)
        held = [-1 if name is None else place.get(key(name), -1) for name in names]
        means = np.array(held, np.int64)
        right = _right(counts, means)
        if right > best[0] and _better(counts, ours, means) and not _lost(counts, means):
            left = tuple(n for n, name in zip(numbers, names, strict=True) if name is None)
            meaning = stated.meaning if isinstance(stated, Positions) else _IDS
            best = right, Numbering(option, meaning, left, means)
    return best[1]


def _candidates(known: Sequence[str]) -> Mapping[str, Positions | Renamed]:
    options = {option: category_ids_of(option) for option in (*POSITIONS, *LISTED)}
    return {"": Renamed({})} | {option: told(one, known) for option, one in options.items()}


def on_meant(counts: NDArray[np.int64], means: NDArray[np.int64]) -> NDArray[np.int64]:
    """In how many images each number is on the class that it is taken for."""
    return np.where(means >= 0, counts[np.arange(len(means)), means], 0)


def _right(counts: NDArray[np.int64], means: NDArray[np.int64]) -> int:
    return int(on_meant(counts, means).sum())


def _lost(counts: NDArray[np.int64], means: NDArray[np.int64]) -> bool:
    """Whether a number that would have no category is on a class that no other number means."""
    left = counts[means < 0]
    most = left.max(axis=1)
    free = ~np.isin(left.argmax(axis=1), means)
    return bool((free & (most >= _IMAGES) & (most > _ONE * left.sum(axis=1))).any())


def _better(counts: NDArray[np.int64], ours: NDArray[np.int64], means: NDArray[np.int64]) -> bool:
    """Whether labels that two numberings take for different classes are on those of the second."""
    differ = (ours != means) & (means >= 0)
    own, other = on_meant(counts, ours)[differ], on_meant(counts, means)[differ]
    better = int(np.count_nonzero((other >= _IMAGES) & (other >= _TIMES * own)))
    worse = int(np.count_nonzero((own >= _IMAGES) & (own > other)))
    return better >= max(_LABELS, _TIMES * worse) and other.sum() >= _TIMES * own.sum()
