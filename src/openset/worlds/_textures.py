"""Textures: what lies behind the objects, and the grain over everything.

A background is one colour with a soft cloud, on it stripes, checks, patches or nothing, and then
some straight lines as clutter. Grain is the noise of a camera, over objects too. None of it is ever
annotated, and none of it has the outline of a letter or a shape, which are unknown and must not be
seen before the test.

Pixels are three planes (red, green, blue) until the end: NumPy is fastest along whole rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, pi, sin

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.float32]
Colour = tuple[float, float, float]
_CELLS = 4  # cells of the cloud at each side
_TRIES = 8


def luminance(colour: Colour) -> float:
    """How bright a colour looks, 0 to 255."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def planes(colour: Iterable[float]) -> Pixels:
    """A colour in a shape that spreads over three planes."""
    return np.array(tuple(colour), np.float32)[:, None, None]


def background(size: int, clutter: int, rng: np.random.Generator) -> tuple[Pixels, Colour]:
    """A textured background with at most `clutter` lines, and its main colour."""
    colour = _colour(rng, 30, 225)
    pixels = _cloud(size, rng, 36) + planes(colour)
    overlay = (_stripes, _checks, _patches, None)[int(rng.integers(4))]
    if overlay is not None:
        pixels += overlay(size, rng) * planes(_colour(rng, -22, 22))
    for _ in range(int(rng.integers(clutter + 1))):
        pixels += _line(size, rng) * planes(_colour(rng, -45, 45))
    return pixels, colour


def contrasting(behind: Colour, others: Iterable[Colour], rng: np.random.Generator) -> Colour:
    """A random colour, brighter or darker than what is behind and unlike the others."""
    there = luminance(behind)
    taken = [*others]
    best: Colour = (12.0, 12.0, 12.0) if there > 127 else (243.0, 243.0, 243.0)
    for red, green, blue in (255 * rng.random((_TRIES, 3))).tolist():
        colour = (red, green, blue)
        if abs(luminance(colour) - there) > 75:
            best = colour
            if all(_difference(colour, other) > 120 for other in taken):
                break
    return best


def _difference(one: Colour, other: Colour) -> float:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def grain(pixels: Pixels, rng: np.random.Generator) -> NDArray[np.uint8]:
    """The finished image, height x width x 3: noise of a random strength, and whole numbers."""
    size = pixels.shape[-1]
    noise = np.frombuffer(rng.bytes(size * size), np.int8).reshape(size, size)
    pixels += noise >> int(rng.integers(4, 7))  # 16, 8 or 4 levels, on average -1/2
    pixels += np.float32(1)
    np.clip(pixels, 0, 255, out=pixels)
    image = np.empty((size, size, 3), np.uint8)
    for channel in range(3):
        image[:, :, channel] = pixels[channel]
    return image


def _colour(rng: np.random.Generator, low: float, high: float) -> Colour:
    red, green, blue = (low + (high - low) * rng.random(3)).tolist()
    return red, green, blue


def _cloud(size: int, rng: np.random.Generator, strength: float) -> Pixels:
    """Random values on a coarse lattice, interpolated in between."""
    lattice = ((rng.random((3, _CELLS + 1, _CELLS + 1)) - 0.5) * strength).astype(np.float32)
    at = np.linspace(0, _CELLS, size, endpoint=False, dtype=np.float32)
    cell = at.astype(np.int32)
    weight = at - cell
    rows = lattice[:, :, cell] * (1 - weight) + lattice[:, :, cell + 1] * weight
    weight = weight[:, None]
    return rows[:, cell] * (1 - weight) + rows[:, cell + 1] * weight


def _steps(size: int, count: float) -> Pixels:
    """0 to `count` along a side."""
    return np.arange(size, dtype=np.float32) * np.float32(count / size)


def _bands(ramp: Pixels) -> Pixels:
    return (ramp.astype(np.int32) & 1).astype(np.float32)


def _stripes(size: int, rng: np.random.Generator) -> Pixels:
    run, rise = _steps(size, 1 + 11 * rng.random()), _steps(size, 1 + 11 * rng.random())
    return _bands(run + (rise if rng.random() < 0.5 else rise[::-1])[:, None])


def _checks(size: int, rng: np.random.Generator) -> Pixels:
    band = _bands(_steps(size, 4 + 8 * rng.random()))
    return np.abs(band - band[:, None])


def _patches(size: int, rng: np.random.Generator) -> Pixels:
    """A few overlapping rectangles, stronger where they overlap."""
    layer = np.zeros((size, size), np.float32)
    for _ in range(5):
        x, y, width, height = (rng.random(4) * size * 0.8).astype(int).tolist()
        layer[y : y + height, x : x + width] += np.float32(0.7)
    return layer


def _line(size: int, rng: np.random.Generator) -> Pixels:
    """A straight bar somewhere, with soft edges."""
    x, y, length, width, angle = rng.random(5).tolist()
    turn, sway = cos(pi * angle), sin(pi * angle)
    across, down = (_steps(size, size) - np.float32(at * size) for at in (x, y))
    along = across * np.float32(turn) + (down * np.float32(sway))[:, None]
    aside = across * np.float32(-sway) + (down * np.float32(turn))[:, None]
    half_length, half_width = (0.08 + 0.3 * length) * size, (0.008 + 0.03 * width) * size
    inside = np.minimum(half_length - np.abs(along), half_width - np.abs(aside))
    return (inside + np.float32(0.5)).clip(0, 1)
