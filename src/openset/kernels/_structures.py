"""The C structures of native/*.hpp, field by field; raise ABI here and there when one changes."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_void_p,
)

ABI = 9

_bools, _bytes, _masks = POINTER(c_bool), POINTER(c_uint8), POINTER(c_uint16)
_ints, _longs = POINTER(c_int32), POINTER(c_int64)
_floats, _doubles = POINTER(c_float), POINTER(c_double)


class OrderInput(ctypes.Structure):
    """Detections to be put in class order."""

    _fields_ = (
        ("klass", _ints),
        ("score", _doubles),
        ("tie", _ints),
        ("n_detections", c_int64),
        ("n_classes", c_int32),
        ("threads", c_int32),
    )


class MatchInput(ctypes.Structure):
    """Detections, objects and rules of matching."""

    _fields_ = (
        *((name, _ints) for name in ("image", "klass", "order")),
        ("rows", _doubles),
        *((name, c_void_p) for name in ("x1", "y1", "x2", "y2", "area")),
        *((f"object_{name}", _ints) for name in ("image", "klass")),
        *((f"object_{name}", c_void_p) for name in ("x1", "y1", "x2", "y2", "area")),
        ("object_size", _doubles),
        ("object_ignore", _bools),
        ("object_region", _bools),
        ("thresholds", _doubles),
        ("size_ranges", _doubles),
        ("similar", _bools),
        ("offset", c_double),
        ("n_detections", c_int64),
        ("n_objects", c_int64),
        *((name, c_int32) for name in ("n_images", "n_classes", "n_thresholds", "n_ranges")),
        *((name, c_int32) for name in ("unknown_class", "max_detections")),
        *((name, c_int32) for name in ("prefer_later", "greedy", "is_float32", "threads")),
    )


class MatchOutput(ctypes.Structure):
    """Columns over the detections in class order."""

    _fields_ = (
        ("rank", _ints),
        *((name, _doubles) for name in ("area", "iou_same", "iou_known", "iou_unknown")),
        *((name, _ints) for name in ("object_same", "object_known", "object_unknown")),
        ("iou_similar", _floats),
    )


class AccumulateInput(ctypes.Structure):
    """Detections in class order, matched candidates and the grid."""

    _fields_ = (
        ("score", _doubles),
        ("area", _doubles),
        ("rank", _ints),
        ("class_start", _longs),
        ("position", _ints),
        ("matched", _masks),
        ("ignored", _masks),
        ("n_positive", _longs),
        ("size_ranges", _doubles),
        ("recall_grid", _doubles),
        ("max_detections", _ints),
        ("n_candidates", c_int64),
        *((name, c_int32) for name in ("n_classes", "n_thresholds", "n_ranges")),
        *((name, c_int32) for name in ("n_grid", "n_limits", "threads")),
    )


class AccumulateOutput(ctypes.Structure):
    """Precision and recall arrays."""

    _fields_ = (("precision", _doubles), ("scores", _doubles), ("recall", _doubles))


class ByteSource(ctypes.Structure):
    """Bytes to read, in memory or in a file."""

    _fields_ = (("data", c_char_p), ("size", c_int64), ("fd", c_int32))


class TruthOutput(ctypes.Structure):
    """Columns and texts of a ground-truth file."""

    _fields_ = (
        ("image_ids", _longs),
        ("width", _doubles),
        ("height", _doubles),
        *((name, _longs) for name in ("id", "image_id", "category_id")),
        ("box", _doubles),
        ("area", _doubles),
        ("crowd", _bools),
        *((name, _bytes) for name in ("head", "file_names")),
        *((name, _bytes) for name in ("image_extra_keys", "annotation_extra_keys")),
    )


class WeightTable(ctypes.Structure):
    """How often each resample drew each image."""

    _fields_ = (
        ("data", c_void_p),
        ("row_stride", c_int64),
        ("n_images", c_int32),
        ("n_resamples", c_int32),
    )


class ResampleInput(ctypes.Structure):
    """Matched detections and weights."""

    _fields_ = (
        ("image", _ints),
        ("class_start", _longs),
        ("counted", _bools),
        ("position", _ints),
        ("matched", _masks),
        ("ignored", _masks),
        ("n_positive", _longs),
        ("recall_grid", _doubles),
        ("weights", WeightTable),
        ("n_candidates", c_int64),
        *((name, c_int32) for name in ("n_classes", "n_thresholds", "n_grid", "area", "threads")),
    )


class RankedInput(ctypes.Structure):
    """Members of two populations by level, and weights."""

    _fields_ = (
        ("image", _ints),
        ("level_start", _longs),
        ("unknown_start", _longs),
        ("n_known", _doubles),
        ("weights", WeightTable),
        ("share", c_double),
        ("n_levels", c_int64),
        ("threads", c_int32),
    )


class RankedOutput(ctypes.Structure):
    """A number per resample for each that is asked for."""

    _fields_ = tuple(
        (name, _doubles) for name in ("pairs", "steps", "trapezoid", "accepted", "nearest")
    )


class OperatingPointInput(ctypes.Structure):
    """Flagged detections, weights and a recall."""

    _fields_ = (
        ("class_start", _longs),
        ("image", _ints),
        ("flags", _bytes),
        ("score", _doubles),
        ("n_positive", _longs),
        ("recall", _doubles),
        ("weights", WeightTable),
        *((name, c_int32) for name in ("n_classes", "n_flags", "threads")),
    )


class OperatingPointOutput(ctypes.Structure):
    """Counts, and whether the recall is reached."""

    _fields_ = (("counts", _ints), ("reached", _bools))
