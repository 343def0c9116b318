"""Sizes: COCO's ranges of area, and a code that says which of them hold an area.

A detection that found nothing is left out of the ranges that do not hold its area: all that a
metric asks of it. So a byte stands for an area where nobody else reads it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIZE_RANGES = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
_EDGES = np.unique(list(SIZE_RANGES.values()))
_BETWEEN = np.append(_EDGES - 1, _EDGES[-1] + _EDGES[1])  # before, between and behind the edges
# What a code stands for: before the first edge, on it, between it and the next ...; or no number.
_AREAS = np.append(np.insert(_BETWEEN, np.arange(1, len(_BETWEEN)), _EDGES), np.nan)


def size_codes(area: NDArray[np.float64]) -> NDArray[np.uint8]:
    """A code for each area; areas of one code are in the same size ranges."""
    codes = np.zeros(len(area), np.uint8)
    for edge in _EDGES:
        codes += area >= edge
        codes += area > edge
    codes[np.isnan(area)] = len(_AREAS) - 1
    return codes


def coded_areas(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """An area for each code, in the same size ranges.

    >>> coded_areas(size_codes(np.array([0.0, 500.0, 1024.0, 1025.0, 2e5, np.nan]))).tolist()
    [0.0, 1023.0, 1024.0, 9215.0, 9999999999.0, nan]
    """
    return np.asarray(_AREAS[codes])
