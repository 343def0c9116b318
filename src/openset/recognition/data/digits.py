"""Digits: the 1,797 handwritten digits of the UCI repository that scikit-learn carries, 8 by 8."""

from __future__ import annotations

import numpy as np

from openset.recognition.data._spec import Samples, Wanted, dataset

TRAIN = 0.7  # of every class, in the order of the file; writers come one after another


@dataset(
    "digits",
    splits="mnist",
    embedded=True,
    paper="Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998",
)
def digits(wanted: Wanted) -> Samples:
    """Handwritten digits of 8 by 8 pixels, with no file to download.

    The six known and four unknown digits of the MNIST trials. The first 70 % of every class train,
    the rest tests, so that most writers are in one part only.
    """
    from sklearn.datasets import load_digits

    images, label = load_digits(return_X_y=True)
    pixels = (images.reshape(-1, 8, 8, 1) * (255 / 16)).round().astype(np.uint8)
    train = np.zeros(len(label), bool)
    for digit in range(10):
        rows = np.flatnonzero(label == digit)
        train[rows[: round(TRAIN * len(rows))]] = True
    keep = train if wanted.part == "train" else ~train
    return Samples(pixels[keep], label[keep].astype(np.int64))
