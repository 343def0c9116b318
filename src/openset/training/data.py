"""Training data: images with the boxes of known objects, and the order in which they are seen.

The order and the augmentation of every image are functions of the seed and of the step alone, not
of what ran before: a training that goes on after a stop sees what it would have seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset import engines
from openset.detectors import METHOD_BOXES
from openset.findings import Finding, InputError, UsageError, refuse
from openset.formats import read_annotations
from openset.formats.yolo import image_folder
from openset.nets.pictures import ImageFiles
from openset.plugins import lookup
from openset.tables import Annotations
from openset.tables.check import check_layout
from openset.tables.picture_sizes import resized_finding
from openset.tables.smaller_pictures import of_smaller_pictures

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from openset.training._augment import View
    from openset.training.recipe import Recipe

CornerBoxes = NDArray[np.float32]
_OTHER = "of other classes"
_ADVISED = -1  # class of a box that is advised, while it is augmented
Seen = tuple[int, int]
"""Epoch and index of an image."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Images, and the known objects on each; boxes are in pixels of images of the stated sizes.

    Attributes:
        files: The images.
        labels: The classes to be taught.
        boxes: ``x1, y1, x2, y2`` of the objects of each image.
        classes: Indices into `labels`, of each image.
        left_out: Numbers of objects that are not taught, by reason.
        others: ``x1, y1, x2, y2`` of the objects of other classes: only an oracle is taught them.
        advised: Those that an advisor takes for objects (`openset.training.advice`), if asked.
        leaks: What all this tells of what is unknown at test time.
    """

    files: ImageFiles
    labels: tuple[str, ...]
    boxes: tuple[CornerBoxes, ...]
    classes: tuple[NDArray[np.int64], ...]
    left_out: dict[str, int]
    others: tuple[CornerBoxes, ...] = ()
    advised: tuple[CornerBoxes, ...] = ()
    leaks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.files)

    @classmethod
    def of(
        cls,
        truth: str | Path | Annotations,
        folder: str | Path | Sequence[str | Path] | None = None,
        *,
        labels: Sequence[str] | None = None,
        shown: Sequence[str] | None = None,
        empty: bool = False,
    ) -> TrainingData:
        """The known objects of a ground truth.

        Crowds and boxes without area are left out, and counted. Objects marked difficult are
        taught, as in OWOD.

        Args:
            truth: A file, or annotations that were read.
            folder: What the names of images are relative to, one or several; by default the file's
                folder.
            labels: The classes; by default those that the file calls known, or all.
            shown: Those of `labels` whose objects are taught, where a task may show no others; the
                file need not name the rest.
            empty: Whether images without a known object are seen too.

        Raises:
            InputError: Images are missing, a box is not finite, or there is nothing to teach.
        """
        if folder is None and isinstance(truth, Annotations):
            raise UsageError("folder= says where the images of the annotations are")
        table = truth if isinstance(truth, Annotations) else read_truth(Path(truth))
        _refuse_layouts(table)
        root = image_folder(Path(str(truth))) if folder is None else folder
        seen = taught(table, labels if shown is None else shown)
        names = seen if labels is None else tuple(labels)
        rows, left_out = _rows(table, seen)
        images = np.arange(len(table.images)) if empty else np.unique(table.image[rows])
        if len(rows) == 0:
            raise refuse("OS610", "no object is of a known class", example=", ".join(seen))
        files = ImageFiles.of_annotations(table, root)
        column = np.full(len(table.labels), -1)
        column[[table.labels.index(n) for n in seen]] = [names.index(n) for n in seen]
        parts = _by_image(table.image, rows, images)
        return cls(
            files.select(images),
            names,
            tuple(_corners(table.box[part]) for part in parts),
            tuple(column[table.label[part]].astype(np.int64) for part in parts),
            left_out,
            _others(table, names, images),
        )

    def with_unknown(self, truth: str = "") -> TrainingData:
        """The same with objects of other classes, as a class after the last.

        Args:
            truth: A ground truth of the images that has them; by default that of the data. If all
                of its labels are known, as after the last task, there is nothing unknown.

        Raises:
            InputError: There is none, or the file does not have the images.
        """
        others, named = (self.others, True) if not truth else _others_in(truth, self)
        if named and not any(map(len, others)):
            message = f"no image has an object of another class than the {len(self.labels)} known"
            raise refuse("OS674", message, count=len(self), example=", ".join(self.labels[:5]))
        both = [np.concatenate(pair) for pair in zip(self.boxes, others, strict=True)]
        counts = [len(boxes) for boxes in others]
        classes = [
            np.append(known, np.full(count, len(self.labels)))
            for known, count in zip(self.classes, counts, strict=True)
        ]
        left_out = {reason: n for reason, n in self.left_out.items() if reason != _OTHER}
        return replace(self, boxes=tuple(both), classes=tuple(classes), left_out=left_out)

    def resized(self) -> tuple[Finding, ...]:
        """That pictures, or the boxes, are of another size than the ground truth says, if so."""
        smaller = self._of_smaller_pictures()
        if smaller is not None:  # which explains that the pictures are smaller
            return (smaller,)
        there = [(at, size) for at in range(len(self.files)) if (size := self.files.actual(at))]
        if not there:
            return ()
        rows, sizes = zip(*there, strict=True)
        times = 1 / self.files.stated(list(rows), sizes)
        other = np.flatnonzero((times != 1).any(axis=1)).tolist()
        named = [(str(self.files.path[rows[at]]), *times[at].tolist()) for at in other]
        return (resized_finding(named, len(self)),) if named else ()

    def _of_smaller_pictures(self) -> Finding | None:
        """That boxes end where a smaller picture would, if so."""
        if self.files.size is None:
            return None
        corner = np.concatenate(self.boxes).astype(np.float64)
        size = np.repeat(self.files.size, [len(boxes) for boxes in self.boxes], axis=0)
        box = np.concatenate([corner[:, :2], corner[:, 2:] - corner[:, :2]], axis=1)
        return of_smaller_pictures(box, np.where(size > 0, size, np.inf))

    def fingerprint(self) -> str:
        """A hash of ids, boxes and classes: whether a run goes on with the same data."""
        import hashlib

        digest = hashlib.sha256("\0".join((*self.labels, *map(str, self.files.id))).encode())
        for boxes, classes in zip(self.boxes, self.classes, strict=True):
            digest.update(boxes.tobytes() + classes.tobytes())
        for boxes in self.advised:
            digest.update(len(boxes).to_bytes(4, "little") + boxes.tobytes())
        return digest.hexdigest()[:16]


def read_truth(path: Path) -> Annotations:
    """Ground truth; COCO files also on machines that only train, and lack msgspec."""
    from importlib.util import find_spec

    if find_spec("msgspec") is not None:
        return read_annotations(path)
    import json

    from openset.files import load_text
    from openset.formats.coco import annotations_of

    return annotations_of(json.loads(load_text(path)), str(path))


def taught(table: Annotations, labels: Sequence[str] | None = None) -> tuple[str, ...]:
    """The labels given; by default those that a ground truth calls known, or all."""
    if labels is None:
        known = tuple(n for n, r in zip(table.labels, table.role, strict=True) if r == "known")
        return known or table.labels
    for name in labels:
        lookup(dict.fromkeys(table.labels), name, "label")
    return tuple(labels)


def _refuse_layouts(table: Annotations) -> None:
    """Refuse boxes that are no x, y, width, height in pixels: nothing of it would be learned."""
    wrong = check_layout(table)
    if wrong:
        raise InputError(wrong)


def _rows(table: Annotations, taught: tuple[str, ...]) -> tuple[NDArray[Any], dict[str, int]]:
    """Rows of the objects to teach, and how many others there are."""
    assert table.crowd is not None
    bad = ~np.isfinite(table.box).all(axis=1)
    if bad.any():
        first = f"annotation {table.id[np.flatnonzero(bad)[0]]}" if table.id is not None else ""
        message = f"{bad.sum()} boxes are NaN or infinite"
        raise refuse("OS201", message, count=int(bad.sum()), example=first)
    known = np.isin(table.label, [table.labels.index(name) for name in taught])
    flat = (table.box[:, 2:] <= 0).any(axis=1)
    reasons = {_OTHER: ~known, "crowd": known & table.crowd}
    reasons["without area"] = known & ~table.crowd & flat
    rows = np.flatnonzero(known & ~table.crowd & ~flat)
    return rows, {reason: int(mask.sum()) for reason, mask in reasons.items() if mask.any()}


def _others(
    table: Annotations, names: tuple[str, ...], images: NDArray[Any]
) -> tuple[CornerBoxes, ...]:
    """Boxes of the objects of each image that are unknown where these names are known."""
    assert table.crowd is not None
    roles = zip(table.labels, table.role or [""] * len(table.labels), strict=True)
    other = np.array([name not in names and role != "ignored" for name, role in roles], bool)
    fit = ~table.crowd & (table.box[:, 2:] > 0).all(axis=1)
    parts = _by_image(table.image, np.flatnonzero(other[table.label] & fit), images)
    return tuple(_corners(table.box[part]) for part in parts)


def _others_in(truth: str, data: TrainingData) -> tuple[tuple[CornerBoxes, ...], bool]:
    """Objects of other classes in a file, and whether it has labels of such classes."""
    table = read_truth(Path(truth))
    place = {one: at for at, one in enumerate(table.images.id.tolist())}
    images = [place.get(one, -1) for one in data.files.id.tolist()]
    if lacking := [at for at, one in enumerate(images) if one < 0]:
        message = f"{truth} does not have {len(lacking)} of {len(data)} training images"
        first = f"image {data.files.id[lacking[0]]}"
        raise refuse("OS674", message, count=len(lacking), example=first)
    named = any(label not in data.labels for label in table.labels)
    return _others(table, data.labels, np.array(images)), named


def _by_image(image: NDArray[Any], rows: NDArray[Any], images: NDArray[Any]) -> list[NDArray[Any]]:
    ordered = rows[np.argsort(image[rows], kind="stable")]
    starts = np.searchsorted(image[ordered], images, "left")
    ends = np.searchsorted(image[ordered], images, "right")
    return [ordered[start:end] for start, end in zip(starts, ends, strict=True)]


def _corners(box: NDArray[np.float64]) -> CornerBoxes:
    return np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Order:
    """Which images every batch holds: shuffled anew in each epoch, across processes.

    Attributes:
        count: Number of images.
        batch: Images of a batch, over all processes.
        seed: Of the shuffles.
        rank: This process.
        processes: How many there are.

    >>> order = Order(count=3, batch=2, seed=0)
    >>> seen = order.images(0) + order.images(1) + order.images(2)
    >>> sorted(seen)
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    """

    count: int
    batch: int
    seed: int
    rank: int = 0
    processes: int = 1

    def images(self, step: int) -> list[Seen]:
        """The images of this process at a step."""
        share = self.batch // self.processes
        start = step * self.batch + self.rank * share
        return [self._at(place) for place in range(start, start + share)]

    def steps(self, first: int, last: int) -> Iterator[list[Seen]]:
        """The images of the steps from one to before another."""
        return (self.images(step) for step in range(first, last))

    def _at(self, place: int) -> Seen:
        epoch, index = divmod(place, self.count)
        return epoch, int(_shuffled(self.seed, epoch, self.count)[index])


@lru_cache(maxsize=4)
def _shuffled(seed: int, epoch: int, count: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, epoch)).permutation(count)


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """Images as tensors, augmented: a map-style data set for torch's loader.

    Attributes:
        data: The images.
        recipe: How to augment.
        held: The pixels of every image (`resident`); None decodes a file each time it is seen.
    """

    data: TrainingData
    recipe: Recipe
    held: Sequence[Tensor] | None = None

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, seen: Seen) -> View | Finding:
        """An image and its objects, as an epoch sees them.

        What is wrong with a file is returned, because errors lose their findings between processes.
        """
        try:
            return self._view(*seen)
        except InputError as error:
            return error.findings[0]

    def _view(self, epoch: int, index: int) -> View:
        import torch

        from openset.training._augment import augmented

        chance = np.random.default_rng((self.recipe.seed, epoch, index, 1))
        image = _pixels(self.data.files, index) if self.held is None else self.held[index]
        by = self.data.files.stated(index, (image.shape[2], image.shape[1]))
        by = np.tile(by, 2).astype(np.float32)
        boxes, classes = self.data.boxes[index] / by, self.data.classes[index]
        if not self.data.advised:
            return augmented(image, torch.tensor(boxes), torch.tensor(classes), self.recipe, chance)
        advised = self.data.advised[index] / by  # they go where the objects go
        labels = np.append(classes, np.full(len(advised), _ADVISED))
        every = torch.tensor(np.concatenate([boxes, advised]))
        image, seen = augmented(image, every, torch.tensor(labels), self.recipe, chance)
        real = seen["labels"] != _ADVISED
        return image, {
            "boxes": seen["boxes"][real],
            "labels": seen["labels"][real],
            METHOD_BOXES: seen["boxes"][~real],
        }


def resident(data: TrainingData, device: torch.device) -> tuple[Tensor, ...]:
    """The pixels of all images, decoded once and held on a device as bytes."""
    files, rows = data.files, range(len(data))
    return tuple(engines.find("threads").map(lambda at: _pixels(files, at).to(device), rows))


def _pixels(files: ImageFiles, at: int) -> Tensor:
    """An image as bytes, channels first."""
    import torch

    return torch.tensor(files.pixels(at)).permute(2, 0, 1)
