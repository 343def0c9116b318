"""Decoding short decimal numbers in NumPy, eight characters as one 64-bit word.

A number of at most 8 characters is an integer of at most 8 digits divided by a power of ten. A
double holds both exactly, so their quotient is the double nearest to the number, which is what
every correct reader returns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.kernels.numpy_twins.text import WORD, Words

LONGEST = WORD  # characters
NO_POINT = LONGEST  # place of the point of an integer
# By place of the point: what divides the digits, and the bits by which it moves those before it.
_POWERS = np.array([1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1.0, 1.0])
_SHIFTS = np.array([8] * LONGEST + [0], np.uint64)


@dataclass(frozen=True, slots=True)
class Decimals:
    """Decoded numbers.

    Attributes:
        value: The numbers; anything where they are not plain.
        plain: Whether a number is written without an exponent, in at most 8 characters after its
            sign, as JSON allows.
        whole: Whether it has no decimal point.
    """

    value: NDArray[np.float64]
    plain: NDArray[np.bool_]
    whole: NDArray[np.bool_]


def decode(
    characters: NDArray[np.uint8], words: Words, begin: NDArray[np.intp], end: NDArray[np.intp]
) -> Decimals:
    """Decode numbers.

    Args:
        characters: The text.
        words: The last 8 bytes up to the end of each number.
        begin: Where the numbers begin.
        end: Where they end.
    """
    negative = characters[begin] == ord("-")
    begin = begin + negative
    length = np.minimum(end - begin, LONGEST + 1).astype(np.uint8)
    digits, place, wrong = _digits(words, length)
    value = _integer(digits).view(np.int64) / _POWERS.take(place)
    np.negative(value, out=value, where=negative)
    n_whole = (length + place) - np.uint8(LONGEST)  # digits before the point
    good_start = (n_whole == 1) | (n_whole > 1) & (characters[begin] != ord("0"))
    good_end = place != LONGEST - 1
    whole = place == NO_POINT
    plain = good_start & good_end & (length <= LONGEST) & (wrong == 0)
    return Decimals(value, plain, whole)


def _every(byte: int) -> np.uint64:
    """Repeat a byte in all places of a word."""
    return np.uint64(byte * 0x0101010101010101)


def _digits(words: Words, length: NDArray[np.uint8]) -> tuple[Words, NDArray[np.uint8], Words]:
    """Turn characters into digits, from the lowest byte to the highest, without the point.

    Returns:
        The digits, the byte in which the point was, and a word that is not 0 if a character is
        neither a digit nor the only point.
    """
    blank = np.uint64(64) - 8 * length.astype(np.uint64)  # bits before the number, which become 0
    digits = (words ^ _every(ord("0"))) >> blank << blank
    marks = digits & _every(0x10)  # the point has this bit, and no digit has
    point = marks >> np.uint64(4)
    digits ^= point * np.uint64(ord(".") ^ ord("0"))
    wrong = marks & (marks - np.uint64(1))  # two points
    wrong |= digits & (marks - point)  # another character with this bit
    wrong |= (digits + _every(0x80 - 10) | digits) & _every(0x80)
    before = point - np.uint64(1)  # covers the bytes before the point; all, if there is none
    place = np.bitwise_count(before) >> np.uint8(3)
    integer = digits & before
    digits ^= integer
    digits |= integer << _SHIFTS.take(place)
    return digits, place, wrong


def _integer(digits: Words) -> Words:
    """Join digits to pairs, pairs to fours and fours to an integer of eight digits."""
    for factor, bits, mask in (
        (10, 8, 0x00FF00FF00FF00FF),
        (100, 16, 0x0000FFFF0000FFFF),
        (10_000, 32, 0x00000000FFFFFFFF),
    ):
        digits = (digits * np.uint64(factor) + (digits >> np.uint64(bits))) & np.uint64(mask)
    return digits
