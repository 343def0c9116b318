"""Cast: the classes of the digits world, how far each is from a digit, which split owns a scan.

Which of the scans a split may show depends neither on the seed nor on any parameter:
a detector trained in one digits world is never tested on a scan it has seen, in whichever world.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.worlds import _ink
from openset.worlds._outlines import LETTERS, SHAPES

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SUPERCLASS = (
    dict.fromkeys(DIGITS, "digit")
    | {f"letter {letter}": "letter" for letter in LETTERS}
    | dict.fromkeys(SHAPES, "shape")
)
TIERS = {"digit": "near", "letter": "far", "shape": "farther"}
UNKNOWN = "unknown"  # what detectors may call an object; no object of the world is called so
LABELS = (*SUPERCLASS, UNKNOWN)
CATEGORY_ID = {label: number for number, label in enumerate(LABELS, 1)}
_OWNER = (*["train"] * 6, "val", *["test"] * 3)


class Glyph(NamedTuple):
    """The ink of one object, and the scan it comes from (-1: drawn by us)."""

    ink: _ink.Field
    instance: int


@cache
def instances(digit: int, split: Split) -> NDArray[np.int64]:
    """Scans of a digit that a split may show: 60, 10 and 30 % of them."""
    scans = np.flatnonzero(_ink.digit_labels() == digit)
    owner = np.array(_OWNER)[np.arange(len(scans)) % len(_OWNER)]
    return scans[owner == split]


def glyph(label: str, split: Split, rng: np.random.Generator) -> Glyph:
    """One object of a class, as a split may show it."""
    if label in DIGITS:
        scans = instances(DIGITS.index(label), split)
        instance = int(scans[rng.integers(len(scans))])
        return Glyph(_ink.digit(instance, 0.45 + 0.17 * rng.random()), instance)
    if label in SHAPES:
        return Glyph(_shape(np.array(SHAPES[label], np.float32), rng), -1)
    strokes = [_trembling(np.array(s, np.float32), rng) for s in LETTERS[label.split()[-1]]]
    return Glyph(_ink.lines(strokes, 0.1 + 0.1 * rng.random()), -1)


def _shape(corners: NDArray[np.float32], rng: np.random.Generator) -> _ink.Field:
    corners = _trembling(corners, rng)
    if rng.random() < 0.5:
        return _ink.polygon(corners)
    closed = np.concatenate([corners, corners[:1]])
    return _ink.lines([closed], 0.08 + 0.07 * rng.random())


def _trembling(points: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    return points + ((rng.random(points.shape) - 0.5) * 0.09).astype(np.float32)
