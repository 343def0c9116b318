"""Geometry: the boxes that an evaluator really compares.

Files hold 0-based continuous ``x, y, width, height``. Published evaluators send them through
float32, text with one decimal, 1-based corners, or integers before they compute an overlap, and
some shift one side only. This file is the one place that knows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.kernels import BoxColumns
from openset.matching.protocol import Protocol

Array = NDArray[Any]


class Corners(NamedTuple):
    """Boxes as the two corners."""

    x1: Array
    y1: Array
    x2: Array
    y2: Array


def rounded(values: Array, decimals: int | None) -> Array:
    """What survives ``f"{value:.{decimals}f}"``: exact for values that fit a float32.

    A float32 times a power of ten below 2**29 is exact in float64, so `rint` sees the true value
    and ties go to even, as in Python's formatting.
    """
    if decimals is None:
        return values
    factor = 10.0**decimals
    return np.rint(values.astype(np.float64) * factor) / factor


def detection_boxes(box: Array, protocol: Protocol) -> BoxColumns | Array:
    """Detected boxes as the protocol's evaluator sees them: columns, or the table's own rows."""
    if protocol.geometry == "continuous":
        return _continuous_detections(box, protocol)
    corners = _corners(box, np.float32 if protocol.float32_detections else np.float64)
    one = corners.x1.dtype.type(1)
    x1, y1 = corners.x1 + one, corners.y1 + one  # the VOC writer makes corners 1-based
    values = (rounded(value, protocol.box_decimals) for value in (x1, y1, corners.x2, corners.y2))
    return _with_unit_area(*values)


def object_boxes(box: Array, protocol: Protocol) -> BoxColumns:
    """Ground-truth boxes as the protocol's evaluator sees them."""
    if protocol.geometry == "continuous":
        return _continuous_float32(box) if protocol.float32_overlaps else BoxColumns.of_rows(box)
    corners = _corners(box, np.float64)
    x1, y1, x2, y2 = corners.x1, corners.y1, corners.x2, corners.y2
    if protocol.geometry == "voc":
        return _with_unit_area(x1 + 1, y1 + 1, x2, y2)
    if protocol.geometry == "shifted-int":
        x1, y1, x2, y2 = (np.trunc(value) for value in (x1, y1, x2, y2))
    return _with_unit_area(x1, y1, x2, y2)


def offset(protocol: Protocol) -> float:
    """What the overlap formula adds to widths and heights: VOC's inclusive pixel."""
    return 0.0 if protocol.geometry == "continuous" else 1.0


def detection_scores(score: Array, protocol: Protocol) -> Array:
    """Scores as the protocol's evaluator sees them."""
    if protocol.float32_detections:
        score = score.astype(np.float32).astype(np.float64)
    return rounded(score, protocol.score_decimals)


def _corners(box: Array, dtype: Any) -> Corners:
    x, y, w, h = box.T
    values = (x, y, x + w, y + h)
    return Corners(*(np.ascontiguousarray(value, dtype) for value in values))


def _continuous_detections(box: Array, protocol: Protocol) -> BoxColumns | Array:
    if protocol.float32_overlaps:
        return _continuous_float32(box)
    if not protocol.float32_detections:
        return box
    c = _corners(box, np.float32)
    width, height = c.x2 - c.x1, c.y2 - c.y1
    return np.stack([c.x1, c.y1, width, height], axis=1).astype(np.float64)


def _continuous_float32(box: Array) -> BoxColumns:
    c = _corners(box, np.float32)
    return BoxColumns(c.x1, c.y1, c.x2, c.y2, (c.x2 - c.x1) * (c.y2 - c.y1))


def _with_unit_area(x1: Array, y1: Array, x2: Array, y2: Array) -> BoxColumns:
    return BoxColumns(x1, y1, x2, y2, (x2 - x1 + 1.0) * (y2 - y1 + 1.0))
