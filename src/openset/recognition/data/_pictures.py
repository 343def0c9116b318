"""Pictures: image files as one array, resized where they differ. Damaged files are named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openset.recognition.data._spec import broken


def pictures(paths: Sequence[Path], size: int, *, exact: bool = False) -> NDArray[np.uint8]:
    """RGB images of `size` by `size` pixels, resized, or refused if they must have it `exact`."""
    from PIL import Image

    images = np.empty((len(paths), size, size, 3), np.uint8)
    for at, path in enumerate(paths):
        try:
            with Image.open(path) as image:
                colour = image.convert("RGB")
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise broken(path, error) from error
        if colour.size != (size, size):
            if exact:
                raise broken(
                    path, f"{colour.width} by {colour.height} pixels, not {size} by {size}"
                )
            colour = colour.resize((size, size), Image.Resampling.BILINEAR)
        images[at] = np.asarray(colour)
    return images
