"""Compose: one scene of the digits world, from its seed, split and index alone.

First the parts are drawn by lot (`_parts`), then background and clutter, then the objects one by
one: some keep apart, some hide a part of another. The first object always fits; a later one that
fits nowhere, even smaller, is left out of picture and annotations alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.worlds import _cast, _ink, _textures
from openset.worlds._canvas import Box, Canvas, Place, Stamp

if TYPE_CHECKING:
    from openset.worlds.digits import DigitsWorld

VERSION = 1  # raise it when the same parameters give other scenes
_TRIES = 12
_SHRINK = (1.0, 0.7, 0.5)
_LEAST_HEIGHT = 7.0


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object, or one crowd, as the complete annotation of a scene holds it.

    Attributes:
        label: Its class.
        tier: ``near``, ``far`` or ``farther`` for an unknown object, empty for a known one.
        box: Tight box of its visible pixels: x, y, width, height.
        visible: Share of its pixels that no other object covers.
        crowd: Many objects of one class, as one region.
        labelled: Whether it is in the annotations that a user of the world is given.
        instance: Index of the scan in `openset.examples.scans`, -1 if drawn by us.
    """

    label: str
    tier: str
    box: Box
    visible: float
    crowd: bool
    labelled: bool
    instance: int


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An image and all that is in it.

    Attributes:
        image: Height x width x 3, 8 bit.
        objects: Every object, labelled or not, from bottom to top.
        owner: The number of the object that each pixel shows, 255 for none.
    """

    image: NDArray[np.uint8]
    objects: tuple[SceneObject, ...]
    owner: NDArray[np.uint8]

    def mask(self, number: int) -> NDArray[np.bool_]:
        """The visible pixels of an object."""
        return self.owner == number

    @property
    def wild(self) -> bool:
        """Whether no object is known."""
        return all(item.tier for item in self.objects)


class _Part(NamedTuple):
    label: str
    crowd: bool = False


def compose(world: DigitsWorld, split: _cast.Split, index: int) -> Scene:
    """The scene of a split at an index."""
    key = (world.seed, world.stream(split), index)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))
    parts = _parts(world, split, index, rng)
    pixels, behind = _textures.background(world.size, world.clutter, rng)
    canvas = Canvas(pixels)
    scale = min(1.0, (8 / len(parts)) ** 0.5)  # smaller where many must fit
    drawn = [(part, _put(world, split, canvas, part, behind, scale, rng)) for part in parts]
    image = _textures.grain(canvas.pixels, rng)
    present = [(part, instance) for part, instance in drawn if instance is not None]
    hides = _hidden(world, key, len(present))
    objects = tuple(
        _record(world, split, canvas, number, part, instance, bool(hides[number]))
        for number, (part, instance) in enumerate(present)
    )
    return Scene(image, objects, canvas.owner)


def _parts(
    world: DigitsWorld, split: _cast.Split, index: int, rng: np.random.Generator
) -> list[_Part]:
    """The classes that appear, in the order they are drawn; the first is what the image is for."""
    wild = split == "test" and world.is_wild(index)
    mixed = not wild and world.holds_unknowns(split) and rng.random() < world.mixed
    fewest, most = world.objects
    count = max(int(rng.integers(fewest, most + 1)), 2 if mixed else 1)
    unknown = [wild or (mixed and (i == 1 or (i > 1 and rng.random() < 0.5))) for i in range(count)]
    parts = [_Part(_label(world, split, is_unknown, rng)) for is_unknown in unknown]
    if rng.random() < world.crowds:
        which = unknown[int(rng.integers(count))]
        parts.insert(1, _Part(_label(world, split, which, rng), crowd=True))
    return parts


def _label(world: DigitsWorld, split: _cast.Split, unknown: bool, rng: np.random.Generator) -> str:
    if not unknown:
        labels = world.taught(split)
        return labels[int(rng.integers(len(labels)))]
    tiers = world.unknown_labels
    weights = [world.tiers[number] if labels else 0.0 for number, labels in enumerate(tiers)]
    lot = rng.random() * sum(weights)
    tier = 0
    while lot >= weights[tier] and tier < len(weights) - 1:
        lot -= weights[tier]
        tier += 1
    return tiers[tier][int(rng.integers(len(tiers[tier])))]


def _put(
    world: DigitsWorld,
    split: _cast.Split,
    canvas: Canvas,
    part: _Part,
    behind: _textures.Colour,
    scale: float,
    rng: np.random.Generator,
) -> int | None:
    """Draw a part and put it where it fits: its scan, or None if it fits nowhere."""
    height = scale * _height(world, rng)
    hides = bool(canvas.places) and rng.random() < world.occlusion
    colours = [behind, *canvas.colours]
    draw = _draw_crowd if part.crowd else _draw
    for shrink in _SHRINK:
        stamp = draw(part.label, split, max(_LEAST_HEIGHT, height * shrink), colours, rng)
        place = _find_place(canvas, stamp.opacity, hides, rng)
        if place is not None:
            canvas.paint(stamp, place)
            return stamp.instance
    return None


def _height(world: DigitsWorld, rng: np.random.Generator) -> float:
    """Pixels: mostly 0.17 to 0.45 of the image, at times small."""
    small = rng.random() < world.small
    share = rng.random()
    return world.size * (0.075 + 0.035 * share if small else 0.17 + 0.28 * share * share)


def _draw(
    label: str,
    split: _cast.Split,
    height: float,
    colours: list[_textures.Colour],
    rng: np.random.Generator,
) -> Stamp:
    glyph = _cast.glyph(label, split, rng)
    lot = rng.random(3).tolist()
    aspect, slant, angle = 0.8 + 0.35 * lot[0], 0.5 * lot[1] - 0.25, 0.4 * lot[2] - 0.2
    opacity = _ink.render(glyph.ink, _ink.Pose(height, aspect, slant, angle))
    colour = _textures.contrasting(colours[0], colours[1:], rng)
    return Stamp(opacity, _textures.planes(colour), colour, glyph.instance)


def _draw_crowd(
    label: str,
    split: _cast.Split,
    height: float,
    colours: list[_textures.Colour],
    rng: np.random.Generator,
) -> Stamp:
    """Ten to sixteen small objects of one class that overlap; the region comes from no one scan."""
    side = int(1.7 * height) + 14
    opacity = np.zeros((side, side), np.float32)
    paint = np.zeros((3, side, side), np.float32)
    for _ in range(int(rng.integers(10, 17))):
        one = _draw(label, split, max(_LEAST_HEIGHT, 0.5 * height), colours, rng)
        tall, wide = one.opacity.shape
        x, y = int(rng.random() * (side - wide)), int(rng.random() * (side - tall))
        here = (slice(y, y + tall), slice(x, x + wide))
        paint[:, *here] += one.opacity * (one.paint - paint[:, *here])
        opacity[here] = np.maximum(opacity[here], one.opacity)
    rows, columns = (np.flatnonzero((opacity >= 0.5).any(axis=axis)) for axis in (1, 0))
    seen = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    return Stamp(opacity[seen], paint[:, *seen], one.colour, -1)


def _find_place(
    canvas: Canvas, opacity: _ink.Field, hides: bool, rng: np.random.Generator
) -> Place | None:
    """A free place; or, for an object that hides another, one that leaves enough of all others."""
    height, width = opacity.shape
    room = np.array([canvas.size - width, canvas.size - height])
    if room.min() < 0:
        return None
    for _ in range(_TRIES):
        corner = rng.random(2) * (room + 1)
        if hides:
            other = canvas.places[int(rng.integers(len(canvas.places)))]
            reach = np.array([width + other.width, height + other.height]) * 0.4
            middle = np.array([other.x + other.width / 2, other.y + other.height / 2])
            corner = middle + (2 * rng.random(2) - 1) * reach - np.array([width, height]) / 2
        x, y = corner.clip(0, room).astype(int).tolist()
        place = Place(x, y, width, height)
        if canvas.spares(opacity, place) if hides else canvas.apart(place):
            return place
    return None


def _hidden(world: DigitsWorld, key: tuple[int, int, int], count: int) -> NDArray[np.bool_]:
    """Which labels are lost: by a lot of its own, so the picture does not depend on the rate."""
    if not world.hidden:
        return np.zeros(count, np.bool_)
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((*key, 1))))
    return rng.random(count) < world.hidden


def _record(
    world: DigitsWorld,
    split: _cast.Split,
    canvas: Canvas,
    number: int,
    part: _Part,
    instance: int,
    hidden: bool,
) -> SceneObject:
    unknown = part.label not in world.known_labels
    tier = _cast.TIERS[_cast.SUPERCLASS[part.label]] if unknown else ""
    taught = not unknown or split == "test"
    labelled = taught and (part.crowd or not hidden)
    box, visible = canvas.box(number), round(canvas.visible(number), 4)
    return SceneObject(part.label, tier, box, visible, part.crowd, labelled, instance)
