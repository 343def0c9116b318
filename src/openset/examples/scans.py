"""Scans: 1,797 handwritten digits of 8 by 8 pixels, from 0 (paper) to 16 (ink).

The test part of Alpaydin and Kaynak, Optical Recognition of Handwritten Digits (UCI, 1998; CC BY
4.0), in its order, as scikit-learn ships it. Worlds are drawn with them and small classifiers learn
them: nothing has to be downloaded.
"""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).with_name("scans.npz")


@cache
def scans() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All scans, and the digit that each shows."""
    with np.load(_FILE, allow_pickle=False) as held:
        images, digits = (held[name].astype(np.int64) for name in ("images", "digits"))
    for array in (images, digits):
        array.flags.writeable = False  # shared by all who ask
    return images, digits
