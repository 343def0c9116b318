"""Annotations: the ground truth, as columns.

Boxes are ``x, y, width, height`` in pixels, 0-based and continuous (the COCO convention); readers
convert. `label` indexes `labels`; what a label means for a detector (known, unknown, ignored) is
not here but in a `Vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.tables.columns import Attributes, column, ids, take


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """The images that are evaluated, with or without objects.

    Attributes:
        id: Integer or string ids, distinct, in the order of the file.
        file_name: One name per image, or empty.
        width: Pixels, NaN where unknown.
        height: Pixels, NaN where unknown.
        attributes: Any further column, by name.
    """

    id: NDArray[Any]
    file_name: NDArray[Any] | None = None
    width: NDArray[np.float64] | None = None
    height: NDArray[np.float64] | None = None
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "id", ids(self.id))
        n = len(self.id)
        _check_distinct(self.id)
        if self.file_name is not None:
            set_(self, "file_name", column("file_name", self.file_name, np.str_, n))
        for name in ("width", "height"):
            values = getattr(self, name)
            blank = np.full(n, np.nan)
            set_(self, name, blank if values is None else column(name, values, np.float64, n))

    def __len__(self) -> int:
        return len(self.id)

    def select(self, rows: NDArray[Any] | slice) -> Images:
        """Only the given images (indices or a slice)."""
        assert self.width is not None
        assert self.height is not None
        return Images(
            id=self.id[rows],
            file_name=None if self.file_name is None else self.file_name[rows],
            width=self.width[rows],
            height=self.height[rows],
            attributes=take(self.attributes, rows),
        )


def _check_distinct(images: NDArray[Any]) -> None:
    distinct, times = np.unique(images, return_counts=True)
    if len(distinct) < len(images):
        count = int(np.count_nonzero(times > 1))
        example = f"image id {distinct[times > 1][0]}"
        raise refuse("OS111", f"{count} image ids occur twice", count=count, example=example)


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """Ground-truth objects: one row per object.

    Attributes:
        images: The evaluated images.
        labels: Names of the labels, in the order of the file's categories.
        image: Index into `images`.
        label: Index into `labels`.
        box: ``x, y, width, height``.
        area: Area used for size ranges (the file's, else width x height).
        crowd: COCO ``iscrowd`` or Open Images ``IsGroupOf``: a region, not an object.
        difficult: VOC ``difficult`` or a generic ``ignore`` flag: an object that does not count.
        id: Ids of the annotations in the file.
        category_id: Ids of the labels in the file (sparse ids are fine).
        numbered: Whether the file states these ids; where it knows names alone they are counted
            from 1, and no number of a detection is taken for one of them.
        supercategory: Super-class of each label, or empty strings.
        role: Role each label was given in the file (``known``, ``unknown``, ``ignored`` or "").
        attributes: Any further column, by name.
        info: The file's own description of itself, kept as read.
    """

    images: Images
    labels: tuple[str, ...]
    image: NDArray[np.int32]
    label: NDArray[np.int32]
    box: NDArray[np.float64]
    area: NDArray[np.float64] | None = None
    crowd: NDArray[np.bool_] | None = None
    difficult: NDArray[np.bool_] | None = None
    id: NDArray[np.int64] | None = None
    category_id: NDArray[np.int64] | None = None
    numbered: bool | None = None
    supercategory: tuple[str, ...] = ()
    role: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        n, k = len(self.image), len(self.labels)
        set_(self, "labels", tuple(self.labels))
        set_(self, "image", column("image", self.image, np.int32, n))
        set_(self, "label", column("label", self.label, np.int32, n))
        set_(self, "box", column("box", self.box, np.float64, n, 4))
        area = self.box[:, 2] * self.box[:, 3] if self.area is None else self.area
        set_(self, "area", column("area", area, np.float64, n))
        for name in ("crowd", "difficult"):
            flag = getattr(self, name)
            blank = np.zeros(n, np.bool_)
            set_(self, name, blank if flag is None else column(name, flag, np.bool_, n))
        identity = np.arange(1, n + 1) if self.id is None else self.id
        set_(self, "id", column("id", identity, np.int64, n))
        if self.numbered is None:
            set_(self, "numbered", self.category_id is not None)
        category = np.arange(1, k + 1) if self.category_id is None else self.category_id
        set_(self, "category_id", column("category_id", category, np.int64, k))
        set_(self, "supercategory", tuple(self.supercategory) or ("",) * k)
        set_(self, "role", tuple(self.role) or ("",) * k)
        self._check_indices()

    def _check_indices(self) -> None:
        for name, limit in (("image", len(self.images)), ("label", len(self.labels))):
            values = getattr(self, name)
            if len(values) and not (values.min() >= 0 and values.max() < limit):
                raise UsageError(f"column {name!r} must index 0..{limit - 1}")
        for name in ("supercategory", "role"):
            if len(getattr(self, name)) != len(self.labels):
                raise UsageError(f"{name} must have one entry per label")

    def __len__(self) -> int:
        return len(self.image)

    def select(self, rows: NDArray[Any]) -> Annotations:
        """The same images and labels with only the given objects (a mask or indices)."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        names = ("image", "label", "box", "area", "crowd", "difficult", "id")
        columns = {name: getattr(self, name)[index] for name in names}
        return Annotations(
            images=self.images,
            labels=self.labels,
            category_id=self.category_id,
            numbered=self.numbered,
            supercategory=self.supercategory,
            role=self.role,
            attributes=take(self.attributes, index),
            info=self.info,
            **columns,
        )

    def of_images(self, rows: slice) -> Annotations:
        """A run of the images with their objects, in the order of the file; the same labels."""
        start, stop, _ = rows.indices(len(self.images))
        kept = self.select((self.image >= start) & (self.image < stop))
        return replace(kept, images=self.images.select(rows), image=kept.image - start)


def without_objects(
    ids: NDArray[Any], width: NDArray[Any] | None = None, height: NDArray[Any] | None = None
) -> Annotations:
    """Images on which nobody has labelled anything, as detections alone are on some."""
    images = Images(np.unique(ids) if width is None else ids, None, width, height)
    none = np.empty(0, np.int32)
    return Annotations(images, (), none, none, np.empty((0, 4)))
