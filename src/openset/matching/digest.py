"""Digest: a number that changes when the detections that were matched do.

A sum over detections of what is mixed from image, class, score and area, in 64 bits: so it does not
depend on the order of images, and the digests of shards add up to that of all. Told apart is what
differs by accident; it is no proof against whoever wants two files to look alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openset.matching.matches import Matches

Words = NDArray[np.uint64]
BITS = 64
_STEP = 1 << 15  # detections at a time, whose numbers stay in the cache
_LARGE_PRIME = np.uint64(0x100000001B3)


def digest(matches: Matches) -> int:
    """The digest of all detections."""
    images, total = _of_ids(matches.image_ids), 0
    for start in range(0, len(matches), _STEP):
        rows = slice(start, min(start + _STEP, len(matches)))
        mixed = images[matches.image[rows]] + matches.classes_in(rows).astype(np.uint64)
        for column in (matches.score, matches.area):
            value = column[rows] + 0.0  # there is one zero
            mixed = _mixed(mixed ^ value.view(np.uint64))
        total += int(mixed.sum(dtype=np.uint64))
    return total % (1 << BITS)


def _of_ids(ids: NDArray[Any]) -> Words:
    """A number for each image id; text of any width gives what it gives alone."""
    if ids.dtype.kind in "iu":
        return _mixed(ids.astype(np.uint64))
    text = ids.astype(np.str_)
    letters = text.view(np.uint32).reshape(len(text), text.dtype.itemsize // 4)
    powers = np.full(letters.shape[1], _LARGE_PRIME).cumprod(dtype=np.uint64)
    return _mixed((letters * powers).sum(axis=1, dtype=np.uint64))


def _mixed(words: Words) -> Words:
    """Words whose every bit depends on every bit (Steele et al., SplitMix, OOPSLA 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))
