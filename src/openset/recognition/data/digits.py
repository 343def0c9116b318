"""Digits: the 1,797 handwritten digits of the UCI repository (`openset.examples.scans`), 8 by 8."""

from __future__ import annotations

import numpy as np

from openset.examples.scans import scans
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
    images, label = scans()
    pixels = (images[..., None] * (255 / 16)).round().astype(np.uint8)
    train = np.zeros(len(label), bool)
    for digit in range(10):
        rows = np.flatnonzero(label == digit)
        train[rows[: round(TRAIN * len(rows))]] = True
    keep = train if wanted.part == "train" else ~train
    return Samples(pixels[keep], label[keep])
