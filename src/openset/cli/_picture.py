"""Pictures: an image with what a detector did on it.

Five kinds of boxes, told apart by line, by words and by colours that the colour-blind can tell
(Okabe and Ito): right, found as unknown, confused, missed, and on nothing. What is confused or
missed comes last, on top of the rest. A legend below the image says which is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.cli._console import clean
from openset.diagnosis.deployed import Deployed, deployed
from openset.diagnosis.flow import MISSED, called, fates
from openset.diagnosis.outcomes import kinds_of_boxes
from openset.evaluation.run import Run
from openset.findings import refuse
from openset.tables import Images

Four = tuple[float, float, float, float]
LONGEST = 1600  # larger images are made smaller
SHORTEST = 960  # smaller ones larger, so that words fit


@dataclass(frozen=True, slots=True)
class Look:
    """How a kind of box is drawn: colours of line and words, dashes (0 for a line), meaning."""

    colour: str
    ink: str
    dash: int
    words: str


LOOKS = {
    "false": Look("#999999", "#000000", 2, "on nothing"),
    "known": Look("#0072B2", "#FFFFFF", 0, "known, right"),
    "unknown": Look("#009E73", "#000000", 0, "unknown, found"),
    "missed": Look("#CC79A7", "#000000", 3, "missed"),
    "confused": Look("#D55E00", "#000000", 8, "confused"),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A box to draw: its kind, ``x, y, width, height`` in the ground truth's pixels, its words."""

    kind: str
    box: Four
    words: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """An image and the boxes on it.

    Attributes:
        name: File name, or the id where the ground truth has none.
        size: Width and height that the boxes refer to, NaN where unknown.
        marks: The boxes.
    """

    name: str
    size: tuple[float, float]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Drawings:
    """Images to draw, and the score from which boxes are drawn."""

    drawings: list[Drawing]
    level: float


def drawings(
    run: Run, name: str, rows: Sequence[int] | None, score: float | None, limit: int
) -> Drawings:
    """What a detector did on some images; without `rows`, on those with most mistakes."""
    model = next(model for model in deployed(run) if model.name == name)
    said = _Said(run, model, model.score if score is None else score)
    chosen = said.worst() if rows is None else list(rows)
    return Drawings([said.drawing(at) for at in chosen[:limit]], said.level)


class _Said:
    """A detector's boxes at a score."""

    def __init__(self, run: Run, model: Deployed, level: float) -> None:
        self.run, self.model, self.level = run, model, level
        self.matches, self.target = model.matches, model.targets
        self.call = called(model.matches, level, model.second)

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """The kind of every box, "" for those that are not drawn."""
        return kinds_of_boxes(self.matches, self.call, self.target)

    @cached_property
    def missed(self) -> NDArray[np.bool_]:
        """Objects that no box speaks of."""
        return np.asarray(fates(self.matches, self.call, self.target) == MISSED)

    def worst(self) -> list[int]:
        """Images by unknown objects called known, then by other mistakes, most first."""
        m = self.matches
        confused = self.kinds == "confused"
        aim = np.maximum(self.target.known, 0)
        absorbed = confused & self.call.known & (m.objects.klass[aim] == m.n_known)
        lost = self.missed & (m.objects.klass == m.n_known)
        by = (m.objects.image[lost], m.image[confused], m.image[absorbed])
        counts = [-np.bincount(image, minlength=m.n_images) for image in by]
        return [int(at) for at in np.lexsort(counts)]

    def drawing(self, image: int) -> Drawing:
        """One image."""
        m, kinds = self.matches, self.kinds
        rows = np.flatnonzero((m.image == image) & (kinds != ""))
        marks = [
            Mark(kinds[r], _four(self.model.detections.box[m.row[r]]), self._words(r))
            for r in rows.tolist()
        ]
        for at in np.flatnonzero((m.objects.image == image) & self.missed).tolist():
            marks.append(Mark("missed", _four(m.objects.box[at]), f"missed {self._label(at)}"))
        order = list(LOOKS)
        marks.sort(key=lambda mark: order.index(mark.kind))
        images = self.run.truth.images
        return Drawing(_name(images, image), _size(images, image), tuple(marks))

    def _words(self, row: int) -> str:
        """What a box says, and of what, where the two differ."""
        m = self.matches
        said = "unknown" if self.call.unknown[row] else m.vocabulary.known[m.klass[row]]
        text = f"{said} {m.score[row]:.2f}"
        if self.kinds[row] != "confused":
            return text
        aim = self.target.unknown if self.call.unknown[row] else self.target.known
        return f"{self._label(int(aim[row]))} as {text}"

    def _label(self, at: int) -> str:
        return self.matches.labels[self.matches.objects.label[at]]


def _four(box: NDArray[np.float64]) -> Four:
    x, y, w, h = np.nan_to_num(box).tolist()
    return x, y, w, h


def _name(images: Images, at: int) -> str:
    if images.file_name is not None and images.file_name[at]:
        return str(images.file_name[at])
    return str(images.id[at])


def _size(images: Images, at: int) -> tuple[float, float]:
    assert images.width is not None
    assert images.height is not None
    return float(images.width[at]), float(images.height[at])


class Painter:
    """Draws on images."""

    def paint(self, path: Path, drawing: Drawing) -> Any:
        """The image with its boxes and a legend, as a Pillow image."""
        from PIL import Image, ImageDraw, UnidentifiedImageError

        try:
            with Image.open(path) as opened:
                picture = opened.convert("RGB")
        except (OSError, UnidentifiedImageError, ValueError, Image.DecompressionBombError) as error:
            raise refuse("OS102", f"cannot read the image {path}: {error}") from error
        real = picture.size
        picture = _resized(picture)
        fx, fy = (
            new / (stated if np.isfinite(stated) and stated > 0 else old)
            for new, stated, old in zip(picture.size, drawing.size, real, strict=True)
        )
        pen = Pen(ImageDraw.Draw(picture), picture.size)
        scaled = [
            (m, (m.box[0] * fx, m.box[1] * fy, m.box[2] * fx, m.box[3] * fy)) for m in drawing.marks
        ]
        for mark, box in scaled:
            pen.box(box, LOOKS[mark.kind])
        for mark, box in reversed(scaled):  # what matters most finds room first
            pen.tag(box, mark.words, LOOKS[mark.kind], always=mark.kind == "confused")
        return _with_legend(picture, drawing, pen)


def _resized(picture: Any) -> Any:
    width, height = picture.size
    factor = max(1.0, SHORTEST / max(width, height)) * min(1.0, LONGEST / max(width, height))
    return picture.resize((max(1, round(width * factor)), max(1, round(height * factor))))


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

    def tag(self, box: Four, words: str, look: Look, *, always: bool) -> None:
        """Words on a patch of colour at a corner of their box, left out where there is no room."""
        words = clean(words)[:60]
        _, _, right, bottom = self.canvas.textbbox((0, 0), words, font=self.font)
        patches = self._corners(box, right + 6, bottom + 4)
        free = [patch for patch in patches if not any(_cross(patch, t) for t in self.taken)]
        if not free and not always:
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


def _with_legend(picture: Any, drawing: Drawing, pen: Pen) -> Any:
    """The picture above a strip that says what the boxes mean and how many there are."""
    from PIL import Image, ImageDraw

    kinds = [mark.kind for mark in drawing.marks]
    texts = {kind: f"{look.words} ({kinds.count(kind)})" for kind, look in LOOKS.items()}
    row, swatch = round(pen.height * 1.6), pen.height * 3
    columns = max(1, picture.width // round(pen.height * 12))
    lines = -(-len(texts) // columns)
    page = Image.new("RGB", (picture.width, picture.height + row * lines + 6), "#FFFFFF")
    page.paste(picture, (0, 0))
    canvas = ImageDraw.Draw(page)
    under = Pen(canvas, picture.size)
    for at, (kind, text) in enumerate(texts.items()):
        x = (at % columns) * (picture.width // columns) + 6
        y = picture.height + (at // columns) * row + row // 2 + 3
        under.line((x, y), (x + swatch, y), LOOKS[kind].colour, LOOKS[kind].dash, under.thick + 1)
        place = (x + swatch + 6, y - pen.height * 0.6)
        canvas.text(place, text, fill="#000000", font=pen.font)
    return page
