"""MNIST and Fashion-MNIST, from their IDX files, compressed or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openset.files import load
from openset.recognition.data._spec import Samples, Wanted, broken, dataset

_PREFIX = {"train": "train", "test": "t10k"}
_FOLDERS = ("", "raw/", "MNIST/raw/", "FashionMNIST/raw/")


@dataset("mnist", paper="LeCun et al., Gradient-Based Learning, 1998")
def mnist(wanted: Wanted) -> Samples:
    """Handwritten digits of 28 by 28 pixels."""
    return _read(wanted)


@dataset("fashion_mnist", splits="mnist", paper="Xiao et al., Fashion-MNIST, 2017")
def fashion_mnist(wanted: Wanted) -> Samples:
    """Pictures of clothes of 28 by 28 pixels; no split is published, those of MNIST are used."""
    return _read(wanted)


def _read(wanted: Wanted) -> Samples:
    prefix = _PREFIX[wanted.part]
    images = _idx(wanted.file(*_names(f"{prefix}-images", "idx3-ubyte")), 3)
    label = _idx(wanted.file(*_names(f"{prefix}-labels", "idx1-ubyte")), 1)
    if len(images) != len(label):
        raise broken(wanted.folder, f"{len(images)} images and {len(label)} labels")
    return Samples(images[..., None], label.astype(np.int64))


def _names(stem: str, kind: str) -> list[str]:
    """Where the file may be, and how it may be spelt."""
    ends = (f"-{kind}", f"-{kind}.gz", f".{kind}", f".{kind}.gz")
    return [folder + stem + end for folder in _FOLDERS for end in ends]


def _idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """An array of bytes: magic number, sizes, values."""
    data = load(path)
    start = 4 * (dimensions + 1)
    header = np.frombuffer(data[: start - start % 4], ">u4") if len(data) >= start else np.empty(0)
    if not len(header) or header[0] != 0x0800 + dimensions:
        raise broken(path, f"no IDX file of bytes in {dimensions} dimensions")
    shape = tuple(int(size) for size in header[1 : dimensions + 1])
    values = np.frombuffer(data, np.uint8, offset=start)
    if len(values) != np.prod(shape):
        raise broken(path, f"{len(values)} bytes for a shape of {shape}")
    return values.reshape(shape)
