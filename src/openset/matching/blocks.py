"""Blocks: a few whole classes at a time, so that a step holds little however many there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 21  # detections that a step looks at, unless one class has more


def class_blocks(
    class_start: NDArray[np.int64], most: int | None = None
) -> Iterator[tuple[int, int]]:
    """Classes in a row, from the first to before the last, that have some detections together.

    Args:
        class_start: Where each class begins, and the end.
        most: How many detections, unless one class has more; `AT_ONCE` by default.

    >>> list(class_blocks(np.array([0, 2, 3, 9, 9]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    first, end, limit = 0, len(class_start) - 1, AT_ONCE if most is None else most
    while first < end:
        last = int(np.searchsorted(class_start, class_start[first] + limit, side="right")) - 1
        last = min(max(last, first + 1), end)
        yield first, last
        first = last
