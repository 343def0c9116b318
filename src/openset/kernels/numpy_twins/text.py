"""Finding characters in a long text, and comparing what follows them, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openset.kernels.read import Text

WORD = 8  # bytes
BYTES_PER_BLOCK = 1 << 19  # stays in the processor's cache

Positions = NDArray[np.intp]
Words = NDArray[np.uint64]


def find(text: Text, character: str) -> Positions:
    """Find an ASCII character.

    >>> find(b"a,b,c", ",").tolist()
    [1, 3]
    """
    data, code = np.frombuffer(text, np.uint8), ord(character)
    starts = range(0, len(data), BYTES_PER_BLOCK)
    blocks = [data[start : start + BYTES_PER_BLOCK] for start in starts]
    ends = np.cumsum([0, *(np.count_nonzero(block == code) for block in blocks)])
    found = np.empty(ends[-1], np.intp)  # once: growing a list costs more than counting first
    for start, block, first, last in zip(starts, blocks, ends[:-1], ends[1:], strict=True):
        np.add(np.flatnonzero(block == code), start, out=found[first:last])
    return found


def words_from(text: Text, begin: Positions, n: int) -> Words:
    """Return the n words that begin at each of these bytes, by word and place.

    >>> words_from(b"0123456789abcdefghi", np.array([0, 2]), 2).T.tobytes()
    b'0123456789abcdef23456789abcdefgh'
    """
    width = n * WORD  # item i of the windows is what begins at byte i; only those taken are copied
    windows = np.ndarray(max(len(text) - width + 1, 0), f"V{width}", text, strides=(1,))
    return windows[begin].view("<u8").reshape(-1, n).T


def begin_with(words: Sequence[Words] | Words, prefix: bytes) -> NDArray[np.bool_]:
    """Say in which places the words begin with these bytes.

    >>> begin_with(words_from(b"0123456789", np.array([0, 2]), 1), b"01").tolist()
    [True, False]
    """
    size = -(-len(prefix) // WORD) * WORD
    wanted = np.frombuffer(prefix.ljust(size, b"\0"), "<u8")
    masks = np.frombuffer((b"\xff" * len(prefix)).ljust(size, b"\0"), "<u8")
    same = np.ones(len(words[0]), np.bool_)
    for word, one, mask in zip(words, wanted, masks, strict=False):
        same &= (word ^ one) & mask == 0
    return same
