"""Groups: which images belong together, as the frames of one video do.

Frames of one scene say nearly the same about a detector, so that resamples must draw them together
or not at all. The image column `GROUP` says it, put there by who asked for groups or by whoever
wrote the file; a group is a name, and an image without one stands alone.

Not strata (`openset.diagnosis.strata`), which are measured one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.tables.annotations import Images
from openset.tables.columns import ranks, text_column

GROUP = "resampled_group"
ALONE = ""


def groups_of(images: Images) -> NDArray[Any] | None:
    """The name of each image's group, as the ground truth states it; None if it does not."""
    column = images.attributes.get(GROUP)
    return None if column is None else group_names(column)


def group_names(column: NDArray[Any]) -> NDArray[Any]:
    """A column as names of groups: the same for 3, 3.0 and "3", so that batches agree.

    >>> group_names(np.array([3.0, np.nan])).tolist(), group_names(np.array([3, 4])).tolist()
    (['3', ''], ['3', '4'])
    """
    if column.dtype.kind in "UT":
        return column
    if column.dtype.kind != "f":
        return column.astype(np.str_)
    return text_column([_number(value) for value in column.tolist()])


def _number(value: float) -> str:
    if value != value:
        return ALONE
    return str(int(value)) if value.is_integer() else str(value)


def units(ids: NDArray[Any], groups: NDArray[Any] | None = None) -> NDArray[np.int32]:
    """What is drawn as one: a number per image, the same for images of one group.

    Units are counted by their first image when images are sorted by id. So the numbers depend on
    which images go together alone: not on names of groups, nor on the order of the file.

    >>> units(np.array([30, 10, 20])).tolist()
    [2, 0, 1]
    >>> units(np.array([30, 10, 20, 40]), np.array(["b", "z", "b", ""])).tolist()
    [1, 0, 1, 2]
    """
    if groups is None:
        return ranks(ids)
    code = np.unique(groups, return_inverse=True)[1]
    code = np.where(groups == ALONE, len(code) + np.arange(len(code)), code)
    order = np.argsort(ids, kind="stable")
    first, member = np.unique(code[order], return_index=True, return_inverse=True)[1:]
    found = np.empty(len(ids), np.int32)
    found[order] = ranks(first)[member]
    return found


def names_to_read(images: Images, limit: int | None = None) -> list[str]:
    """What patterns are searched in: file names, or ids where there are none; maybe the first."""
    if images.file_name is not None:
        return images.file_name[:limit].tolist()
    return [str(name) for name in images.id[:limit].tolist()]
