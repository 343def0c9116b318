"""Crops: the piece of an image around a box, with everything that lies in it.

Pixels come from a folder of images, found by file name inside it and nowhere else; an image that is
not there leaves a drawing of the boxes without pixels. Images may be smaller or larger than the
ground truth says (a thumbnail set): boxes are scaled.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.deployed import Deployed
from openset.evaluation.run import Run
from openset.files import ImageFolder
from openset.formats.imagesize import as_stated
from openset.nets.pictures import of_eight_bits
from openset.report.gallery import Item
from openset.wording import short

SIDE = 224  # longest side of a crop, in pixels
QUALITY = 80
MARGIN = 1.9  # side of the region relative to the box
LEAST = 72.0  # least side of the region, in pixels of the image
MOST_BOXES = 8  # of one detector in a crop, the best scored
MOST_PIXELS = 1 << 28  # a larger image is taken for a decompression bomb
MANY_PIXELS = 1 << 24  # larger images are decoded one by one, however many threads there are

Region = tuple[float, float, float, float]
_one_by_one = Lock()


@dataclass(frozen=True)
class Boxes:
    """Boxes sorted by image, so that those of one image are a slice."""

    image: NDArray[np.int32]
    order: NDArray[np.intp]

    @classmethod
    def of(cls, image: NDArray[np.int32]) -> Boxes:
        """Sort boxes by their image."""
        order = np.argsort(image, kind="stable")
        return cls(image[order], order)

    def on(self, image: int) -> NDArray[np.intp]:
        """Rows of the boxes on an image."""
        low, high = np.searchsorted(self.image, [image, image + 1])
        return self.order[low:high]


@dataclass(frozen=True, slots=True)
class View:
    """A part of an image.

    Attributes:
        image: Which image.
        region: Left, top, width and height.
        most: Boxes of one detector that are shown, the best scored.
        item: What it is about, if it is about anything.
    """

    image: int
    region: Region
    most: int
    item: Item | None = None

    def box_of(self, model: int) -> int:
        """The box of a detector that the view is about; -1 for none."""
        return self.item.box if self.item is not None and self.item.model == model else -1


class Surroundings:
    """Regions of a run's images, and the boxes in them."""

    def __init__(self, run: Run, models: Sequence[Deployed]) -> None:
        self.run, self.models = run, models
        self.objects = models[0].matches.objects
        self._by_image = Boxes.of(self.objects.image)

    @cached_property
    def _said(self) -> list[Boxes]:
        """Per detector, its boxes, whatever their score: the page knows where the sliders stand."""
        return [Boxes.of(model.matches.image) for model in self.models]

    def view(self, item: Item) -> View:
        """The square around an item, moved and cut to lie inside of the image."""
        if item.box >= 0:
            model = self.models[item.model]
            row = model.matches.row[item.box]
            at, box = int(model.matches.image[item.box]), model.detections.box[row]
        else:
            at, box = int(self.objects.image[item.object]), self.objects.box[item.object]
        x, y, w, h = np.nan_to_num(box).tolist()
        side = max(MARGIN * max(w, h), LEAST)
        lengths = self.size(at)
        left, width = _span(x + w / 2, side, lengths[0])
        top, height = _span(y + h / 2, side, lengths[1])
        return View(at, (left, top, width, height), MOST_BOXES, item)

    def whole(self, image: int, most: int) -> View:
        """All of an image; where its size is not known, as far as objects reach."""
        x, y, w, h = np.nan_to_num(self.objects.box[self._by_image.on(image)]).T
        width, height = self.size(image)
        width = width if width > 0 else float((x + w).max(initial=LEAST))
        height = height if height > 0 else float((y + h).max(initial=LEAST))
        return View(image, (0.0, 0.0, width, height), most)

    def size(self, image: int) -> tuple[float, float]:
        """Width and height of an image, as the ground truth says."""
        images = self.run.truth.images
        assert images.width is not None
        assert images.height is not None
        return float(images.width[image]), float(images.height[image])

    def boxes(self, view: View) -> list[list[Any]]:
        """Boxes in a view.

        Those of the truth are -1, x, y, w, h, label, role; those of a detector its place, x, y, w,
        h, class, score, and the rungs of both (`openset.diagnosis.sliders`), so that the page draws
        what is said where its sliders stand. Both end with whether the view is about the box.
        """
        truth = self._by_image.on(view.image)
        truth = truth[_meet(self.objects.box[truth], view.region)]
        mine = -1 if view.item is None else view.item.object
        found = [[*self._object(row), int(row == mine)] for row in truth.tolist()]
        for at in range(len(self.models)):
            shown, _ = self._near(at, view)
            mine = view.box_of(at)
            found += [[*self._detection(at, row), int(row == mine)] for row in shown.tolist()]
        return found

    def cut(self, view: View) -> list[int]:
        """Per detector, how many rungs of score the best box has that `boxes` leaves out."""
        left = [self._near(at, view)[1] for at in range(len(self.models))]
        best = [m.matches.score[rows[:1]] for m, rows in zip(self.models, left, strict=True)]
        ladder = self.models[0].sliders.score
        return [int(np.searchsorted(ladder, score, side="right").sum()) for score in best]

    def _near(self, at: int, view: View) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """A detector's boxes in a view, best first: those shown, and those left out."""
        matches = self.models[at].matches
        rows = self._said[at].on(view.image)
        boxes = self.models[at].detections.box[matches.row[rows]]
        rows = rows[_meet(boxes, view.region)]
        rows = rows[np.argsort(-matches.score[rows], kind="stable")]
        shown = (np.arange(len(rows)) < view.most) | (rows == view.box_of(at))
        return rows[shown], rows[~shown]

    def _object(self, row: int) -> list[Any]:
        matches = self.models[0].matches
        unknown = matches.objects.klass[row] == matches.n_known
        role = "ignored" if matches.objects.ignored[row] else "unknown" if unknown else "known"
        label = short(matches.labels[matches.objects.label[row]], 40)
        return [-1, *_rounded(matches.objects.box[row]), label, role]

    def _detection(self, at: int, row: int) -> list[Any]:
        model = self.models[at]
        box = _rounded(model.detections.box[model.matches.row[row]])
        score = round(float(model.matches.score[row]), 2)
        return [at, *box, int(model.matches.klass[row]), score, *(int(r[row]) for r in model.rungs)]


def _span(middle: float, side: float, length: float) -> tuple[float, float]:
    """Start and size of a stretch of about `side`, inside 0 to `length` where that is known."""
    if not np.isfinite(length) or length <= 0:
        return middle - side / 2, side
    side = min(side, length)
    return min(max(middle - side / 2, 0.0), length - side), side


def _rounded(box: NDArray[np.float64]) -> list[float]:
    values = box if np.isfinite(box).all() else np.nan_to_num(box)
    return [round(value, 1) for value in values.tolist()]


def _meet(boxes: NDArray[np.float64], region: Region) -> NDArray[np.bool_]:
    x, y, w, h = np.nan_to_num(boxes).T
    left, top, width, height = region
    inside = (x < left + width) & (x + w > left) & (y < top + height) & (y + h > top)
    return np.asarray(inside)


class Pixels(ImageFolder):
    """A folder of images to cut crops from; `missing` counts those that could not be had."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.missing = 0

    def crop(
        self, name: str, region: Region, size: tuple[float, float], side: int = SIDE
    ) -> bytes | None:
        """A region as JPEG, its longest `side` at most so; None if the image cannot be read."""
        from PIL import Image, UnidentifiedImageError

        path = self.find(name)
        try:
            if path is None:
                raise FileNotFoundError(name)
            with Image.open(path) as image:
                if image.width * image.height > MOST_PIXELS:
                    raise OSError("the image is too large")
                alone = image.width * image.height > MANY_PIXELS
                with _one_by_one if alone else nullcontext():
                    turned = as_stated(image, size)
                    return _jpeg(turned, _scaled(region, size, turned.size), side)
        except (
            OSError,
            UnidentifiedImageError,
            ValueError,
            SyntaxError,
            ImportError,
            Image.DecompressionBombError,
        ):
            self.missing += 1
            return None


def _scaled(region: Region, size: tuple[float, float], real: tuple[int, int]) -> Region:
    """A region as left, top, right, bottom in the pixels of the file."""
    fx, fy = (r / s if np.isfinite(s) and s > 0 else 1.0 for r, s in zip(real, size, strict=True))
    left, top, width, height = region
    return left * fx, top * fy, (left + width) * fx, (top + height) * fy


def _jpeg(image: Any, box: Region, side: int) -> bytes:
    """A piece of an image, no larger than its own pixels; beyond the edges it is black."""
    left, top = round(box[0]), round(box[1])
    right, bottom = max(round(box[2]), left + 1), max(round(box[3]), top + 1)
    piece = of_eight_bits(image.crop((left, top, right, bottom)))
    piece = piece if piece.mode == "RGB" else piece.convert("RGB")  # which copies in any case
    piece.thumbnail((side, side))
    stream = io.BytesIO()
    piece.save(stream, "JPEG", quality=QUALITY, optimize=True)
    return stream.getvalue()
