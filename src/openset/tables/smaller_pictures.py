"""Objects of smaller pictures: boxes were resized with the pictures, and stated sizes were not.

Objects are cut by all four borders of a picture about as often. Where many begin at the left and at
the top, and hardly any reaches the right or the bottom as stated, the picture ended before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level

_FEWEST = 8  # objects at the left, and as many at the top
_BORDER = 0.01  # of a side, from which an object is at the border
_SHORT = 0.95  # of a side, up to which hardly any reaches
_HARDLY = 0.05  # for each object at the other border


def of_smaller_pictures(box: NDArray[np.float64], size: NDArray[np.float64]) -> Finding | None:
    """OS241, if so.

    Args:
        box: ``x, y, width, height`` of objects.
        size: Stated width and height of the image of each; not finite where it is not known.

    >>> corner = np.array([[0.0, 0, 9, 9], [20, 20, 30, 30]] * 8)
    >>> of_smaller_pictures(corner, np.full((16, 2), 100.0)).code
    'OS241'
    >>> of_smaller_pictures(corner, np.full((16, 2), 50.0))
    """
    begin = [0, 0]
    for axis, side in enumerate(size.T):
        at, length = box[:, axis], box[:, 2 + axis]
        begin[axis] = int(np.count_nonzero((at <= _BORDER * side) & np.isfinite(side)))
        beyond = int(np.count_nonzero(at + length > _SHORT * side))
        if begin[axis] < _FEWEST or beyond > _HARDLY * begin[axis]:
            return None  # as nearly always
    end = box[:, :2] + box[:, 2:]
    sized = np.isfinite(size).all(axis=1)
    kept = sized & (end <= _SHORT * size).all(axis=1)
    share, last = (end[kept] / size[kept]).max(axis=0), end[kept].max(axis=0)
    return Finding(
        "OS241",
        Level.WARNING,
        f"{begin[0]} objects begin at the left border of their image and {begin[1]} at the top, "
        f"but hardly any ends at the right or the bottom: they reach {share[0]:.0%} of the stated "
        f"width and {share[1]:.0%} of the height",
        len(box),
        f"the farthest end at x {last[0]:.0f} and y {last[1]:.0f}",
    )
