"""CUB-200-2011: birds, from the official folders, with the Semantic Shift Benchmark's split."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from openset.files import load_text
from openset.recognition.data._pictures import pictures
from openset.recognition.data._spec import Samples, Wanted, broken, dataset

T = TypeVar("T")


@dataset("cub", paper="Wah et al., The Caltech-UCSD Birds-200-2011 Dataset, 2011")
def cub(wanted: Wanted) -> Samples:
    """Photographs of 200 bird species; 100 known, 100 unknown in three levels of difficulty."""
    root = wanted.file("images.txt", "CUB_200_2011/images.txt").parent
    files = _column(root / "images.txt", str)
    label = _column(root / "image_class_labels.txt", int)
    trains = _column(root / "train_test_split.txt", int)
    if not files.keys() == label.keys() == trains.keys():
        raise broken(root, "the three lists are not of the same images")
    part = int(wanted.part == "train")
    classes = {klass + 1 for klass in wanted.classes}  # the files count from 1
    rows = [at for at in files if trains[at] == part and label[at] in classes]
    paths = [_inside(root / "images", files[at]) for at in rows]
    return Samples(pictures(paths, wanted.size), np.array([label[at] - 1 for at in rows], np.int64))


def _column(path: Path, of: Callable[[str], T]) -> dict[str, T]:
    """A list of the data set: image id, value."""
    try:
        pairs = [line.split() for line in load_text(path).splitlines() if line.strip()]
        return {at: of(value) for at, value in pairs}
    except ValueError as error:
        raise broken(path, error) from error


def _inside(folder: Path, name: str) -> Path:
    if ".." in Path(name).parts or Path(name).is_absolute():
        raise broken(folder, f"the name {name!r} leaves the folder")
    return folder / name
