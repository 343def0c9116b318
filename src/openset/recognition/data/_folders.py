"""Class folders: ``train/airplane/0001.png``, the layout in which small pictures are often copied.

A folder is named like its class, in any case and with spaces or underscores, or by the class's
number, from 0. It may lie in that of its superclass, and all of it one folder deeper than asked.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from openset.findings import refuse
from openset.nets.pictures import SUFFIXES
from openset.recognition.data._pictures import pictures
from openset.recognition.data._spec import Samples, Wanted
from openset.tables.vocabulary import normal

Folders = Mapping[str, Path]


def class_folders(wanted: Wanted, names: Sequence[str]) -> Folders | None:
    """The folders of classes, by name or number; nothing where none of them is there.

    Args:
        wanted: Where to look.
        names: What the classes are called, in the order of their numbers.
    """
    asked = {normal(name) for name in names}
    for root in (wanted.folder, *_inside([wanted.folder])):
        outer = _inside([root / wanted.part])
        for some in (outer, _inside(outer)):
            found = {normal(folder.name): folder for folder in some}
            numbered = len(found) == len(names) and all(name.isdigit() for name in found)
            if numbered or len(asked & found.keys()) * 2 > len(names):
                return {str(int(name)): one for name, one in found.items()} if numbered else found
    return None


def samples_in(folders: Folders, wanted: Wanted, names: Sequence[str]) -> Samples:
    """The pictures of the classes that are wanted, class by class, by file name."""
    files = [
        (path, klass) for klass in sorted(wanted.classes) for path in _files(folders, names, klass)
    ]
    label = np.array([klass for _, klass in files], np.int64)
    return Samples(pictures([path for path, _ in files], wanted.size, exact=True), label)


def _files(folders: Folders, names: Sequence[str], klass: int) -> list[Path]:
    """The pictures of one class, or a refusal: no number is made of half a data set."""
    folder = folders.get(normal(names[klass])) or folders.get(str(klass))
    if folder is None:
        close = difflib.get_close_matches(normal(names[klass]), folders, n=1, cutoff=0.5)
        near = f"; {folders[close[0]].name!r} is near" if close else ""
        where = next(iter(folders.values())).parent
        raise refuse("OS815", f"{where} has no folder {names[klass]!r}{near}", example=names[klass])
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    if not files:
        raise refuse("OS815", f"{folder} holds no picture", example=folder.name)
    return files


def _inside(folders: Iterable[Path]) -> list[Path]:
    """The folders in some folders that exist."""
    there = (folder for folder in folders if folder.is_dir())
    return sorted(path for folder in there for path in folder.iterdir() if path.is_dir())
