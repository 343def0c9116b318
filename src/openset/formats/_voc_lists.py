"""Class files of a VOC tree: ``ImageSets/Main/<class>_<split>.txt`` say which images show a class.

A line is ``image flag``: 1 where an object of the class is there, 0 where all are difficult, -1
where none is. Numbers come from the XML files alone; but where these files name a class that the
XML of an image does not have, its objects were lost, or go by another name.

Not the lists of a split (``<split>.txt``), which name images alone (`openset.formats.voc`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openset.files import load_text, visible

_THERE = "1"
_FLAGS = frozenset({"-1", "0", _THERE})


def unannotated(
    tree: Path, images: Sequence[str], classes: Sequence[set[str]]
) -> NDArray[np.str_] | None:
    """Classes that class files name for each image and its XML does not have; None if no image.

    Args:
        tree: The folder that holds ``ImageSets``.
        images: Names of the images that were read.
        classes: Classes of the objects of each.
    """
    where = {name: at for at, name in enumerate(images)}
    has = [set(map(str.casefold, names)) for names in classes]
    lost: list[dict[str, None]] = [{} for _ in images]
    for name, shown in _listed(tree / "ImageSets" / "Main"):
        for image in shown:
            at = where.get(image)
            if at is not None and name.casefold() not in has[at]:
                lost[at][name] = None
    return np.array([", ".join(names) for names in lost]) if any(lost) else None


def _listed(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Every class file: its class, and the images that show it."""
    if not folder.is_dir():
        return
    files = {file.stem: file for file in visible(folder, "*.txt")}
    for stem, file in files.items():
        name, _, split = stem.rpartition("_")
        if not name or split not in files:
            continue
        lines = [line.split() for line in load_text(file).splitlines() if line.strip()]
        if all(len(line) == 2 and line[1] in _FLAGS for line in lines):
            yield name, [image for image, flag in lines if flag == _THERE]
