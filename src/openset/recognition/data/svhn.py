"""SVHN: street-view house numbers, cropped digits, from the official ``.mat`` files."""

from __future__ import annotations

import numpy as np

from openset.recognition.data._spec import Samples, Wanted, broken, dataset


@dataset("svhn", paper="Netzer et al., Reading Digits in Natural Images, 2011")
def svhn(wanted: Wanted) -> Samples:
    """House numbers of 32 by 32 pixels; the class that the files call 10 is the digit 0."""
    from scipy.io import loadmat

    path = wanted.file(f"{wanted.part}_32x32.mat")
    try:
        content = loadmat(path, variable_names=("X", "y"))
        images, label = content["X"], content["y"].ravel()
    except (ValueError, KeyError, TypeError, OSError, NotImplementedError) as error:
        raise broken(path, error) from error
    if images.ndim != 4 or images.shape[:3] != (32, 32, 3) or images.shape[3] != len(label):
        raise broken(path, f"images of shape {images.shape} and {len(label)} labels")
    pixels = np.ascontiguousarray(images.transpose(3, 0, 1, 2).astype(np.uint8, copy=False))
    return Samples(pixels, label.astype(np.int64) % 10)
