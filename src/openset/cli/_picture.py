"""Pictures: images with boxes on them, one by one or as a contact sheet.

Kinds of boxes are told apart by line, by words and by colours that the colour-blind can tell (Okabe
and Ito). A legend below the image says which is which.

Which boxes there are is said elsewhere: where objects are known by `_judged`, else by `_seen`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.cli._terminal import clean

Four = tuple[float, float, float, float]
Sides = tuple[int, int]
WHOLE: Sides = (960, 1600)  # of a picture's longer side, so that words fit and files stay small
TILE: Sides = (480, 480)  # likewise, in a contact sheet
MOST_TILES = 200
_CAPTION = 22  # pixels below a tile
_GAP = 8


@dataclass(frozen=True, slots=True)
class Look:
    """How a kind of box is drawn.

    Attributes:
        colour: Of its line.
        ink: Of its words.
        dash: Length of dashes, 0 for a line.
        words: What it means.
        always: Whether its words are there even where they hide others.
    """

    colour: str
    ink: str
    dash: int
    words: str
    always: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A box to draw: its kind, ``x, y, width, height`` in pixels of the stated size, its words."""

    kind: str
    box: Four
    words: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """An image and the boxes on it.

    Attributes:
        name: File name, or the id where there is none.
        size: Width and height that the boxes refer to, NaN where unknown.
        marks: The boxes.
    """

    name: str
    size: tuple[float, float]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Album:
    """Images to draw, and how.

    Attributes:
        pages: Files and what to draw on each, first those to look at first.
        level: The score from which boxes count.
        looks: The kinds of boxes, the later above the earlier.
        note: What else to say below.
        upright: Whether images are turned as their EXIF tag says.
    """

    pages: Iterable[tuple[Path, Drawing]]
    level: float
    looks: Mapping[str, Look]
    note: str = ""
    upright: bool = False


def four(box: NDArray[np.float64]) -> Four:
    """A box as plain numbers; what is none is 0."""
    x, y, w, h = np.nan_to_num(box).tolist()
    return x, y, w, h


class Painter:
    """Draws on images, with kinds of boxes that look as they are told to."""

    def __init__(self, looks: Mapping[str, Look], note: str = "") -> None:
        self.looks, self.note = looks, note

    def picture(self, pixels: NDArray[np.uint8], drawing: Drawing) -> Any:
        """An image with its boxes above a legend, as a Pillow image."""
        return self._above_legend(self._painted(pixels, drawing, WHOLE), _kinds(drawing))

    def tile(self, pixels: NDArray[np.uint8], drawing: Drawing) -> Any:
        """An image with its boxes above its name, small."""
        from PIL import Image, ImageDraw, ImageFont

        small = self._painted(pixels, drawing, TILE)
        page = Image.new("RGB", (small.width, small.height + _CAPTION), "#FFFFFF")
        page.paste(small, (0, 0))
        name, font = clean(drawing.name)[-60:], ImageFont.load_default(13)
        ImageDraw.Draw(page).text((2, small.height + 2), name, fill="#000000", font=font)
        return page

    def sheet(self, tiles: Sequence[Any], drawings: Sequence[Drawing]) -> Any:
        """Tiles in rows, above one legend for all."""
        from PIL import Image

        columns = math.ceil(math.sqrt(len(tiles)))
        rows = [tiles[at : at + columns] for at in range(0, len(tiles), columns)]
        tall = [max(tile.height for tile in row) + _GAP for row in rows]
        wide = [max(row[at].width for row in rows if at < len(row)) for at in range(columns)]
        page = Image.new("RGB", (sum(wide) + _GAP * (columns + 1), sum(tall) + _GAP), "#FFFFFF")
        for row, tiles_of in enumerate(rows):
            for at, tile in enumerate(tiles_of):
                left = sum(wide[:at]) + _GAP * (at + 1)
                page.paste(tile, (left, sum(tall[:row]) + _GAP))
        return self._above_legend(page, sum(map(_kinds, drawings), Counter()))

    def _painted(self, pixels: NDArray[np.uint8], drawing: Drawing, sides: Sides) -> Any:
        """The image in a size between two, with its boxes."""
        from PIL import Image, ImageDraw

        real = Image.fromarray(pixels)
        picture = _resized(real, sides)
        fx, fy = (
            new / (stated if np.isfinite(stated) and stated > 0 else old)
            for new, stated, old in zip(picture.size, drawing.size, real.size, strict=True)
        )
        pen = Pen(ImageDraw.Draw(picture), picture.size)
        scaled = [
            (m, (m.box[0] * fx, m.box[1] * fy, m.box[2] * fx, m.box[3] * fy)) for m in drawing.marks
        ]
        for mark, box in scaled:
            pen.box(box, self.looks[mark.kind])
        for mark, box in reversed(scaled):  # what matters most finds room first
            pen.tag(box, mark.words, self.looks[mark.kind])
        return picture

    def _above_legend(self, picture: Any, kinds: Counter[str]) -> Any:
        """The picture above a strip that says what the boxes mean and how many there are."""
        from PIL import Image, ImageDraw

        texts = {kind: f"{look.words} ({kinds[kind]})" for kind, look in self.looks.items()}
        pen = Pen(None, (min(picture.width, WHOLE[1]), min(picture.height, WHOLE[1])))
        row, swatch = round(pen.height * 1.6), pen.height * 3
        longest = max(pen.font.getlength(text) for text in texts.values()) + swatch + 18
        columns = min(len(texts), max(1, int(picture.width // longest)))
        lines = -(-len(texts) // columns) + bool(self.note)
        page = Image.new("RGB", (picture.width, picture.height + row * lines + 6), "#FFFFFF")
        page.paste(picture, (0, 0))
        pen.canvas = ImageDraw.Draw(page)
        for at, (kind, text) in enumerate(texts.items()):
            x = (at % columns) * (picture.width // columns) + 6
            y = picture.height + (at // columns) * row + row // 2 + 3
            look = self.looks[kind]
            pen.line((x, y), (x + swatch, y), look.colour, look.dash, pen.thick + 1)
            pen.write((x + swatch + 6, y - pen.height * 0.6), text)
        pen.write((6, page.height - row), clean(self.note))
        return page


def _kinds(drawing: Drawing) -> Counter[str]:
    return Counter(mark.kind for mark in drawing.marks)


def _resized(picture: Any, sides: Sides) -> Any:
    longer = max(picture.size)
    factor = max(1.0, sides[0] / longer) * min(1.0, sides[1] / longer)
    return picture.resize(tuple(max(1, round(side * factor)) for side in picture.size))


class Pen:
    """Lines and words in the size of a picture."""

    def __init__(self, canvas: Any, size: tuple[int, int]) -> None:
        from PIL import ImageFont

        self.canvas, self.size = canvas, size
        self.thick = max(2, round(max(size) / 320))
        self.height = max(12, round(max(size) / 64))
        self.font = ImageFont.load_default(self.height)
        self.taken: list[Four] = []

    def box(self, box: Four, look: Look) -> None:
        """A box, its lines on white ones, so that they show on any ground."""
        left, top, right, bottom = box[0], box[1], box[0] + box[2], box[1] + box[3]
        edges = [((left, top), (right, top)), ((left, bottom), (right, bottom))]
        edges += [((left, top), (left, bottom)), ((right, top), (right, bottom))]
        for start, end in edges:
            self.line(start, end, "#FFFFFF", look.dash, self.thick + 2)
            self.line(start, end, look.colour, look.dash, self.thick)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        colour: str,
        dash: int,
        wide: int,
    ) -> None:
        """A line, in dashes of `dash` times its thickness unless that is 0."""
        a, b = np.array(start), np.array(end)
        length = float(np.hypot(*(b - a)))
        step = dash * self.thick * 2
        starts = np.arange(0.0, length, step) if step and length else np.array([0.0])
        for at in starts[:400]:
            to = min(at + step / 2, length) if step else length
            points = [tuple(a + (b - a) * (t / length if length else 0)) for t in (at, to)]
            self.canvas.line(points, fill=colour, width=wide)

    def write(self, place: tuple[float, float], words: str) -> None:
        """Words in black."""
        self.canvas.text(place, words, fill="#000000", font=self.font)

    def tag(self, box: Four, words: str, look: Look) -> None:
        """Words on a patch of colour at a corner of their box, left out where there is no room."""
        words = clean(words)[:60]
        _, _, right, bottom = self.canvas.textbbox((0, 0), words, font=self.font)
        patches = self._corners(box, right + 6, bottom + 4)
        free = [patch for patch in patches if not any(_cross(patch, t) for t in self.taken)]
        if not free and not look.always:
            return
        patch = (free or patches)[0]
        self.taken.append(patch)
        self.canvas.rectangle(patch, fill=look.colour)
        self.canvas.text((patch[0] + 3, patch[1] + 1), words, fill=look.ink, font=self.font)

    def _corners(self, box: Four, width: float, height: float) -> list[Four]:
        """Patches above, below and inside of a box, kept inside of the picture."""
        x, y, w, h = box
        places = [(x, y - height), (x, y + h), (x + w - width, y - height), (x, y)]
        found = []
        for left, top in places:
            left = min(max(0.0, left), max(0.0, self.size[0] - width))
            top = min(max(0.0, top), max(0.0, self.size[1] - height))
            found.append((left, top, left + width, top + height))
        return found


def _cross(a: Four, b: Four) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
