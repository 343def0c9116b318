"""CIFAR-10 and CIFAR-100 from their binary versions, and the open sets CIFAR+10 and CIFAR+50.

The versions "for Python" are pickles, which could run code: they are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from openset.files import load
from openset.recognition.data._spec import Samples, Wanted, broken, dataset

PAPER = "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"
OPEN = "Neal et al., Open Set Learning with Counterfactual Images, ECCV 2018"
_PIXELS = 3 * 32 * 32


@dataset("cifar10", paper=PAPER)
def cifar10(wanted: Wanted) -> Samples:
    """Photographs of ten classes, 32 by 32 pixels; six known, four unknown."""
    parts = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
    names = [(name, f"cifar-10-batches-bin/{name}") for name in parts[wanted.part]]
    return _binary([wanted.file(*both) for both in names], skip=0)


@dataset("cifar100", paper=PAPER)
def cifar100(wanted: Wanted) -> Samples:
    """Photographs of a hundred classes, 32 by 32 pixels: the unknown classes of CIFAR+N."""
    name = f"{wanted.part}.bin"
    return _binary([wanted.file(name, f"cifar-100-binary/{name}")], skip=1)


@dataset("cifar+10", unknown="cifar100", paper=OPEN)
def cifar_plus_10(wanted: Wanted) -> Samples:
    """Four vehicles or animals of CIFAR-10 known, ten classes of CIFAR-100 unknown."""
    return cifar10(wanted)


@dataset("cifar+50", unknown="cifar100", paper=OPEN)
def cifar_plus_50(wanted: Wanted) -> Samples:
    """Four vehicles or animals of CIFAR-10 known, fifty classes of CIFAR-100 unknown."""
    return cifar10(wanted)


def _binary(paths: Sequence[Path], *, skip: int) -> Samples:
    """Rows of label bytes, of which the first `skip` are coarse labels, and three colour planes."""
    width = skip + 1 + _PIXELS
    tables = []
    for path in paths:
        data = np.frombuffer(load(path), np.uint8)
        if not len(data) or len(data) % width:
            raise broken(path, f"{len(data)} bytes are no rows of {width}")
        tables.append(data.reshape(-1, width))
    rows = np.concatenate(tables)
    planes = rows[:, skip + 1 :].reshape(-1, 3, 32, 32)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    return Samples(images, rows[:, skip].astype(np.int64))
