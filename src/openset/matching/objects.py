"""Objects: the ground truth as matching sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Objects:
    """Ground-truth objects that take part: columns, in the order of the file.

    Attributes:
        image: Index of the image.
        klass: Class index, K for unknown.
        label: Index of the original label, which tells unknown classes apart.
        ignored: Not counted (by the protocol's choice of flags).
        area: Area for size ranges.
        row: Row in the `Annotations`.
        box: For those who show an object or identify it; no metric reads it.
        copy: Counted again because the image is listed again (`Protocol.repeats`); never found.
    """

    image: NDArray[np.int32]
    klass: NDArray[np.int32]
    label: NDArray[np.int32]
    ignored: NDArray[np.bool_]
    area: NDArray[np.float64]
    row: NDArray[np.int32]
    box: NDArray[np.float64]
    copy: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.image)
