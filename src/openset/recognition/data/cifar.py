"""CIFAR-10 and CIFAR-100, and the open sets CIFAR+10 and CIFAR+50.

From the binary versions, or from pictures in a folder per class. The versions "for Python" are
pickles, which could run code: they are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from openset.files import load
from openset.findings import refuse
from openset.recognition.data._folders import class_folders, samples_in
from openset.recognition.data._spec import Samples, Wanted, broken, dataset

PAPER = "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"
OPEN = "Neal et al., Open Set Learning with Counterfactual Images, ECCV 2018"
_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
TEN = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""The classes of CIFAR-10, by number."""
_HUNDRED = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly
camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup
dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower
leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid
otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray
road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle
wardrobe whale willow_tree wolf woman worm
"""
HUNDRED = tuple(_HUNDRED.split())
"""The classes of CIFAR-100, by number."""


@dataset("cifar10", paper=PAPER)
def cifar10(wanted: Wanted) -> Samples:
    """Photographs of ten classes, 32 by 32 pixels; six known, four unknown."""
    parts = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
    return _read(wanted, Layout("cifar-10-batches-bin", parts[wanted.part], TEN, skip=0))


@dataset("cifar100", paper=PAPER)
def cifar100(wanted: Wanted) -> Samples:
    """Photographs of a hundred classes, 32 by 32 pixels: the unknown classes of CIFAR+N."""
    return _read(wanted, Layout("cifar-100-binary", [f"{wanted.part}.bin"], HUNDRED, skip=1))


@dataset("cifar+10", unknown="cifar100", paper=OPEN)
def cifar_plus_10(wanted: Wanted) -> Samples:
    """Four vehicles or animals of CIFAR-10 known, ten classes of CIFAR-100 unknown."""
    return cifar10(wanted)


@dataset("cifar+50", unknown="cifar100", paper=OPEN)
def cifar_plus_50(wanted: Wanted) -> Samples:
    """Four vehicles or animals of CIFAR-10 known, fifty classes of CIFAR-100 unknown."""
    return cifar10(wanted)


class Layout(NamedTuple):
    """Where a version of CIFAR lies.

    Attributes:
        folder: Name of the official folder.
        files: The binary files in it.
        classes: What its classes are called, by number.
        skip: Bytes before the class of a row: its superclass.
    """

    folder: str
    files: list[str]
    classes: tuple[str, ...]
    skip: int


def _read(wanted: Wanted, layout: Layout) -> Samples:
    """The binary files, or class folders, or a refusal."""
    if not any((wanted.folder / at / layout.files[0]).is_file() for at in ("", layout.folder)):
        folders = class_folders(wanted, layout.classes)
        if folders is not None:
            return samples_in(folders, replace(wanted, size=_SIDE), layout.classes)
        _refuse_pickles(wanted.folder)
    paths = [wanted.file(name, f"{layout.folder}/{name}") for name in layout.files]
    return _binary(paths, skip=layout.skip)


def _refuse_pickles(folder: Path) -> None:
    for name in ("cifar-10-batches-py", "cifar-100-python"):
        if (folder / name).is_dir() or folder.name == name:
            raise refuse("OS816", f"{folder} holds the version for Python alone", example=name)


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
    planes = rows[:, skip + 1 :].reshape(-1, 3, _SIDE, _SIDE)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    return Samples(images, rows[:, skip].astype(np.int64))
