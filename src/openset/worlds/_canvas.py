"""Canvas: where objects are put, what hides what, and which box is left.

An object's box is the tight box of the pixels that show it: what another object covers does not
count. No object may be covered so far that less than `MIN_VISIBLE` of it is left, so nothing in a
scene is both present and impossible to label. Objects lie inside the image.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.worlds._ink import Field
from openset.worlds._textures import Colour

MIN_VISIBLE = 0.5
GAP = 1  # free pixels between objects that do not hide each other
NOTHING = 255
Box = tuple[int, int, int, int]
T = TypeVar("T", bound=np.generic)


class Place(NamedTuple):
    """Where an object was put: top left corner and size of all its pixels, seen or not."""

    x: int
    y: int
    width: int
    height: int


class Stamp(NamedTuple):
    """An object ready to be painted.

    Attributes:
        opacity: One value per pixel; half and more is the object.
        paint: Three planes of colour, or three values for all pixels.
        colour: The colour that it has on the whole.
        instance: The scan it comes from, -1 if none.
    """

    opacity: Field
    paint: NDArray[np.float32]
    colour: Colour
    instance: int


class Canvas:
    """An image in the making: three planes of colour, and which object each pixel shows."""

    def __init__(self, pixels: NDArray[np.float32]) -> None:
        """Start with a background, which is painted over in place."""
        self.pixels = pixels
        self.size = pixels.shape[-1]
        self.owner = np.full((self.size, self.size), NOTHING, np.uint8)
        self.places: list[Place] = []
        self.colours: list[Colour] = []
        self._total: list[int] = []
        self._left: list[int] = []

    def apart(self, place: Place) -> bool:
        """Whether a place keeps its distance from all objects."""
        x, y, width, height = place
        return all(
            x >= other.x + other.width + GAP
            or other.x >= x + width + GAP
            or y >= other.y + other.height + GAP
            or other.y >= y + height + GAP
            for other in self.places
        )

    def spares(self, opacity: Field, place: Place) -> bool:
        """Whether every object stays visible enough if this one is painted."""
        covered = self._covered(opacity >= 0.5, place)
        return all(
            left - covered[number] >= MIN_VISIBLE * total
            for number, (left, total) in enumerate(zip(self._left, self._total, strict=True))
        )

    def _covered(self, solid: NDArray[np.bool_], place: Place) -> NDArray[np.int64]:
        return np.bincount(self._window(self.owner, place)[solid], minlength=NOTHING + 1)

    def _window(self, layer: NDArray[T], place: Place) -> NDArray[T]:
        x, y, width, height = place
        return layer[..., y : y + height, x : x + width]

    def paint(self, stamp: Stamp, place: Place) -> None:
        """Put an object on top of everything, as the next number."""
        opacity = stamp.opacity
        solid = opacity >= 0.5
        covered = self._covered(solid, place)
        self._left = [left - int(covered[n]) for n, left in enumerate(self._left)]
        window = self._window(self.pixels, place)
        window += opacity * (stamp.paint - window)
        self._window(self.owner, place)[solid] = len(self.places)
        self.places.append(place)
        self.colours.append(stamp.colour)
        self._total.append(int(solid.sum()))
        self._left.append(self._total[-1])

    def visible(self, number: int) -> float:
        """Share of an object's pixels that are not covered."""
        return self._left[number] / self._total[number]

    def box(self, number: int) -> Box:
        """Tight box of what is seen of an object: x, y, width, height."""
        place = self.places[number]
        if self._left[number] == self._total[number]:
            return place
        seen = self._window(self.owner, place) == number
        rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
        x, y = int(columns[0]), int(rows[0])
        return place.x + x, place.y + y, int(columns[-1]) - x + 1, int(rows[-1]) - y + 1
