"""Images whose objects have the boxes of another's: one photograph under two names.

Names can be changed by an export, ids by a merge, and pictures are not always at hand; boxes of two
photographs are never the same in several places. Which classes are shown does not matter: training
may show known objects alone, where the test shows all.

Not a comparison of pictures (see `lookalikes`): frames of a camera that stands still share boxes,
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.bundle import Part

_TENTHS = 10  # of a pixel, to which boxes are compared
_BOXES = 2  # of two images, that are the same
_WHOLE = 0.9  # of the image: such a box says nothing
# Odd numbers without a pattern, by which six whole numbers become one.
_FACTORS = np.array(
    [
        0x9E3779B97F4A7C15,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0xD6E8FEB86659FD93,
        0xA0761D6478BD642F,
        0xE7037ED1A0B428DB,
    ],
    np.uint64,
)


def drawn_alike(here: Sequence[Part], there: Sequence[Part]) -> list[tuple[str, str]]:
    """Names of images of two stages that share two boxes or more, and are of one size."""
    (names, image, key), (others, of_other, other) = _boxes(here), _boxes(there)
    shared, one, two = np.intersect1d(key, other, return_indices=True)
    if len(shared) < _BOXES:
        return []
    pairs, count = np.unique(np.stack([image[one], of_other[two]]), axis=1, return_counts=True)
    alike = pairs[:, count >= _BOXES].T.tolist()
    return [(names[a], others[b]) for a, b in alike if names[a] != others[b]]


def _boxes(parts: Sequence[Part]) -> tuple[list[str], NDArray[Any], NDArray[np.uint64]]:
    """Names of images, and of every box its image and what it is told by."""
    names: list[str] = []
    images, keys = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for part in parts:
        table = part.table
        if table is None or table.images.width is None or table.images.height is None:
            continue
        size = np.column_stack([table.images.width, table.images.height])[table.image]
        rows = np.column_stack([size, table.box]).astype(np.float64)
        some = np.isfinite(rows).all(axis=1) & (rows[:, 4:] > 0).all(axis=1)
        some &= rows[:, 4:].prod(axis=1) < _WHOLE * rows[:, :2].prod(axis=1)
        whole = np.round(rows[some] * _TENTHS).astype(np.int64).astype(np.uint64)
        images.append(table.image[some].astype(np.int64) + len(names))
        keys.append((whole * _FACTORS).sum(axis=1, dtype=np.uint64))
        names += part.lines
    return names, np.concatenate(images), np.concatenate(keys)
