"""Matching: best overlaps of every detection, and greedy matching as in COCO."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library
from openset.kernels._memory import empty_columns
from openset.kernels._structures import MatchInput, MatchOutput

MAX_THRESHOLDS = 16  # one bit each in the masks of the candidates


class BoxColumns(NamedTuple):
    """Box columns, all float64 or all float32.

    The area is given, not derived: in some conventions it is not width times height.
    """

    x1: NDArray[Any]
    y1: NDArray[Any]
    x2: NDArray[Any]
    y2: NDArray[Any]
    area: NDArray[Any]

    @classmethod
    def of_rows(cls, rows: NDArray[np.float64]) -> BoxColumns:
        """Columns of rows of ``x, y, width, height``."""
        x, y, w, h = rows.T
        return cls(x, y, x + w, y + h, w * h)


class ObjectColumns(NamedTuple):
    """Ground-truth objects.

    Attributes:
        image: Image index.
        klass: Class index.
        boxes: Geometry.
        size: What size ranges compare with (in COCO the area of the segment).
        ignore: Not counted: a crowd or a difficult object.
        region: Stands for many objects (a COCO crowd): overlap is relative to the detection's
            area and it can be matched many times. A subset of ``ignore``.
    """

    image: NDArray[np.int32]
    klass: NDArray[np.int32]
    boxes: BoxColumns
    size: NDArray[np.float64]
    ignore: NDArray[np.bool_]
    region: NDArray[np.bool_]


class MatchColumns(NamedTuple):
    """What matching finds, in class order.

    Best overlaps leave out regions; the first object in input order wins a tie; no overlap is 0
    with object -1. The candidates, at ``position``, are the detections that may match an object
    of their class.

    Attributes:
        rank: Place within the detections of the same image and class, 0 = highest score.
        area: Area of the detection.
        iou_same: Best overlap with an object of the detection's class.
        object_same: The object with this overlap.
        iou_known: Best overlap with an object of another class, the unknown class left out.
        object_known: The object with this overlap.
        iou_unknown: Best overlap with an object of the unknown class.
        object_unknown: The object with this overlap.
        iou_similar: Best overlap with an object of another, similar class.
        position: Positions of the candidates, ascending.
        matched: Per candidate and size range: bit t = matches a counted object at threshold t.
        ignored: The same for objects that are ignored or outside of the size range.
        object: Per candidate and threshold: the object matched in the first size range, or -1.
    """

    rank: NDArray[np.int32]
    area: NDArray[np.float64]
    iou_same: NDArray[np.float64]
    object_same: NDArray[np.int32]
    iou_known: NDArray[np.float64]
    object_known: NDArray[np.int32]
    iou_unknown: NDArray[np.float64]
    object_unknown: NDArray[np.int32]
    iou_similar: NDArray[np.float32] | None
    position: NDArray[np.int32]
    matched: NDArray[np.uint16]
    ignored: NDArray[np.uint16]
    object: NDArray[np.int32]


class DetectionColumns(NamedTuple):
    """Detections in the order of the input, and how they stand in class order.

    Attributes:
        image: Image index of each detection.
        klass: Class index of each detection.
        boxes: Geometry: columns, or rows of ``x, y, width, height`` as tables have them, which
            saves the memory of the columns.
        order: From `class_order`.
        class_start: From `class_order`.
    """

    image: NDArray[np.int32]
    klass: NDArray[np.int32]
    boxes: BoxColumns | NDArray[np.float64]
    order: NDArray[np.int32]
    class_start: NDArray[np.int64]


class Problem(NamedTuple):
    """Everything matching depends on, contiguous and of the right types."""

    image: NDArray[np.int32]
    klass: NDArray[np.int32]
    boxes: BoxColumns | NDArray[np.float64]
    order: NDArray[np.int32]
    objects: ObjectColumns
    n_images: int
    n_classes: int
    offset: float
    unknown_class: int
    thresholds: NDArray[np.float64]
    size_ranges: NDArray[np.float64]
    max_detections: int
    prefer_later: bool
    similar: NDArray[np.bool_] | None
    greedy: bool

    @property
    def columns(self) -> BoxColumns:
        """The detections' boxes as columns, which the twins work on."""
        return self.boxes if isinstance(self.boxes, BoxColumns) else BoxColumns.of_rows(self.boxes)


def match(
    detections: DetectionColumns,
    objects: ObjectColumns,
    *,
    n_images: int,
    unknown_class: int,
    thresholds: NDArray[np.float64],
    size_ranges: NDArray[np.float64],
    max_detections: int,
    offset: float = 0.0,
    prefer_later: bool = True,
    similar: NDArray[np.bool_] | None = None,
    greedy: bool = True,
) -> MatchColumns:
    """Compare detections with the objects of their image.

    Args:
        detections: What the detector said.
        objects: The ground truth.
        n_images: Number of images.
        unknown_class: The class of all unknown objects and of detections that say "unknown".
        thresholds: Ascending overlaps at which a detection matches, at most 16.
        size_ranges: Lowest and highest size of the objects that count, one row per range.
        max_detections: Detections considered per image and class in greedy matching.
        offset: Added to widths and heights of intersections; 1 for inclusive pixel indices.
        prefer_later: Whether the later of two objects with equal overlap is matched.
        similar: Entry (c, k): objects of class k are similar to detections of class c.
        greedy: Whether to match greedily; if not there are no candidates.

    Returns:
        Columns in class order.

    >>> from openset.kernels import class_order
    >>> one = np.zeros(1, np.int32)
    >>> def box(x):
    ...     return BoxColumns(*(np.array([v], float) for v in (x, 0, x + 4, 4, 16)))
    >>> no = np.zeros(1, bool)
    >>> columns = match(
    ...     DetectionColumns(one, one, box(1), *class_order(one, np.array([0.9]), None, 2)),
    ...     ObjectColumns(one, one, box(0), np.array([16.0]), no, no),
    ...     n_images=1, unknown_class=1, thresholds=np.array([0.5, 0.75]),
    ...     size_ranges=np.array([[0, 1e10]]), max_detections=100,
    ... )
    >>> columns.iou_same.tolist(), columns.matched.tolist(), columns.object.tolist()
    ([0.6], [[1]], [[0, -1]])
    """
    real = np.float32 if _is_float32(detections.boxes) else np.float64
    problem = Problem(
        image=np.ascontiguousarray(detections.image, np.int32),
        klass=np.ascontiguousarray(detections.klass, np.int32),
        boxes=_contiguous_detections(detections.boxes, real),
        order=np.ascontiguousarray(detections.order, np.int32),
        objects=_contiguous_objects(objects, real),
        n_images=n_images,
        n_classes=len(detections.class_start) - 1,
        offset=float(offset),
        unknown_class=unknown_class,
        thresholds=np.ascontiguousarray(thresholds, np.float64),
        size_ranges=np.ascontiguousarray(size_ranges, np.float64),
        max_detections=max_detections,
        prefer_later=prefer_later,
        similar=None if similar is None else np.ascontiguousarray(similar, np.bool_),
        greedy=greedy,
    )
    _check(problem)
    native = _library.library()
    if native is not None:
        return _match_native(native, problem)
    from openset.kernels.numpy_twins import match as twin

    return twin.match(problem)


def _is_float32(boxes: BoxColumns | NDArray[np.float64]) -> bool:
    return isinstance(boxes, BoxColumns) and boxes.x1.dtype == np.float32


def _contiguous_detections(
    boxes: BoxColumns | NDArray[np.float64], real: type[np.floating[Any]]
) -> BoxColumns | NDArray[np.float64]:
    if isinstance(boxes, BoxColumns):
        return _contiguous(boxes, real)
    return np.ascontiguousarray(boxes, np.float64)


def _contiguous(boxes: BoxColumns, real: type[np.floating[Any]]) -> BoxColumns:
    return BoxColumns(*(np.ascontiguousarray(column, real) for column in boxes))


def _contiguous_objects(objects: ObjectColumns, real: type[np.floating[Any]]) -> ObjectColumns:
    return ObjectColumns(
        np.ascontiguousarray(objects.image, np.int32),
        np.ascontiguousarray(objects.klass, np.int32),
        _contiguous(objects.boxes, real),
        np.ascontiguousarray(objects.size, np.float64),
        np.ascontiguousarray(objects.ignore, np.bool_),
        np.ascontiguousarray(objects.region, np.bool_),
    )


def _check(problem: Problem) -> None:
    """Refuse what would read outside of an array, or break the rules the kernels rely on."""
    objects, n = problem.objects, len(problem.image)
    _check_length("detections", n, problem.klass, problem.order)
    if isinstance(problem.boxes, BoxColumns):
        _check_length("detections", n, *_columns(problem.boxes))
    elif problem.boxes.shape != (n, 4):
        raise ValueError(f"rows of boxes must have shape {(n, 4)}, not {problem.boxes.shape}")
    others = (objects.klass, objects.size, objects.ignore, objects.region)
    _check_length("objects", len(objects.image), *others, *_columns(objects.boxes))
    for name, values, limit in (
        ("image", problem.image, problem.n_images),
        ("klass", problem.klass, problem.n_classes),
        ("order", problem.order, n),
        ("objects.image", objects.image, problem.n_images),
        ("objects.klass", objects.klass, problem.n_classes),
    ):
        if len(values) and not (values.min() >= 0 and values.max() < limit):
            raise ValueError(f"{name} must lie in 0 .. {limit - 1}")
    _check_rules(problem)


def _columns(boxes: BoxColumns) -> tuple[NDArray[Any], ...]:
    return (boxes.x1, boxes.y1, boxes.x2, boxes.y2, boxes.area)


def _check_length(what: str, length: int, *columns: NDArray[Any]) -> None:
    if any(column.shape != (length,) for column in columns):
        raise ValueError(f"all columns of {what} must have the same length")


def _check_rules(problem: Problem) -> None:
    thresholds, n_classes = problem.thresholds, problem.n_classes
    if not 1 <= len(thresholds) <= MAX_THRESHOLDS:
        raise ValueError(f"1 to {MAX_THRESHOLDS} thresholds are possible, not {len(thresholds)}")
    if not (thresholds[0] > 0 and (np.diff(thresholds) >= 0).all()):
        raise ValueError("thresholds must be positive and ascending")
    if problem.size_ranges.ndim != 2 or problem.size_ranges.shape[1] != 2:
        raise ValueError("size_ranges must have two columns, lowest and highest size")
    if problem.similar is not None and problem.similar.shape != (n_classes, n_classes):
        raise ValueError(f"similar must have shape {(n_classes, n_classes)}")


def output_columns(n: int, *, similar: bool) -> dict[str, NDArray[Any] | None]:
    """Allocate the columns over all detections."""
    types: dict[str, Any] = {"rank": np.int32, "area": np.float64}
    for role in ("same", "known", "unknown"):
        types |= {f"iou_{role}": np.float64, f"object_{role}": np.int32}
    if similar:
        types["iou_similar"] = np.float32
    return {"iou_similar": None, **empty_columns(n, **types)}


def _match_native(native: ctypes.CDLL, problem: Problem) -> MatchColumns:
    columns = output_columns(len(problem.image), similar=problem.similar is not None)
    result, count = ctypes.c_void_p(), ctypes.c_int64()
    status = native.openset_match(
        ctypes.byref(_packed(problem)),
        ctypes.byref(_library.pack(MatchOutput, **columns)),
        ctypes.byref(result),
        ctypes.byref(count),
    )
    _library.check(native, status)
    n, ranges = count.value, len(problem.size_ranges)
    position = np.empty(n, np.int32)
    matched, ignored = np.empty((n, ranges), np.uint16), np.empty((n, ranges), np.uint16)
    matched_object = np.empty((n, len(problem.thresholds)), np.int32)
    outputs = (position, matched, ignored, matched_object)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in outputs]
    _library.check(native, native.openset_match_take(result, *pointers))
    return MatchColumns(
        **columns,  # type: ignore[arg-type]
        position=position,
        matched=matched,
        ignored=ignored,
        object=matched_object,
    )


def _packed(problem: Problem) -> MatchInput:
    names = BoxColumns._fields
    objects = problem.objects
    return _library.pack(
        MatchInput,
        image=problem.image,
        klass=problem.klass,
        order=problem.order,
        **_packed_detections(problem.boxes),
        object_image=objects.image,
        object_klass=objects.klass,
        **{f"object_{name}": getattr(objects.boxes, name) for name in names},
        object_size=objects.size,
        object_ignore=objects.ignore,
        object_region=objects.region,
        thresholds=problem.thresholds,
        size_ranges=problem.size_ranges,
        similar=problem.similar,
        offset=problem.offset,
        n_detections=len(problem.image),
        n_objects=len(objects.image),
        n_images=problem.n_images,
        n_classes=problem.n_classes,
        n_thresholds=len(problem.thresholds),
        n_ranges=len(problem.size_ranges),
        unknown_class=problem.unknown_class,
        max_detections=problem.max_detections,
        prefer_later=problem.prefer_later,
        greedy=problem.greedy,
        is_float32=_is_float32(problem.boxes),
        threads=_library.threads(),
    )


def _packed_detections(boxes: BoxColumns | NDArray[np.float64]) -> dict[str, NDArray[Any] | None]:
    """The kernel reads rows if there are any, and columns if not."""
    if isinstance(boxes, BoxColumns):
        return {"rows": None, **boxes._asdict()}
    return {"rows": boxes, **dict.fromkeys(BoxColumns._fields)}
