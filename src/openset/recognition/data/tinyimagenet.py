"""TinyImageNet: 200 classes of ImageNet at 64 by 64 pixels, from the official folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from openset.files import load_text
from openset.findings import refuse
from openset.recognition.data._pictures import pictures
from openset.recognition.data._spec import Samples, Wanted, broken, dataset


@dataset("tinyimagenet", paper="Le and Yang, Tiny ImageNet, 2015")
def tinyimagenet(wanted: Wanted) -> Samples:
    """Photographs of 200 classes, 64 by 64 pixels; twenty known, the others unknown.

    Classes are numbered by sorted WordNet id. The test samples are those of the folder ``val``,
    since labels of ``test`` are not published.
    """
    root = wanted.file("wnids.txt", "tiny-imagenet-200/wnids.txt").parent
    names = sorted(load_text(root / "wnids.txt").split())
    files = _train(root, names, wanted) if wanted.part == "train" else _val(root, names, wanted)
    return Samples(pictures([path for path, _ in files], wanted.size), _labels(files))


def _labels(files: list[tuple[Path, int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([klass for _, klass in files], np.int64)


def _train(root: Path, names: list[str], wanted: Wanted) -> list[tuple[Path, int]]:
    found = []
    for klass in sorted(wanted.classes):
        folder = root / "train" / _name(root, names, klass) / "images"
        paths = sorted(folder.glob("*.JPEG"))
        if not paths:
            raise refuse("OS810", f"{folder} has no images", example=str(folder))
        found += [(path, klass) for path in paths]
    return found


def _name(root: Path, names: list[str], klass: int) -> str:
    if klass >= len(names):
        raise broken(root / "wnids.txt", f"{len(names)} classes, no class {klass}")
    return names[klass]


def _val(root: Path, names: list[str], wanted: Wanted) -> list[tuple[Path, int]]:
    path = wanted.file("val/val_annotations.txt", "tiny-imagenet-200/val/val_annotations.txt")
    place = {name: klass for klass, name in enumerate(names)}
    classes, found = set(wanted.classes), []
    for line in load_text(path).splitlines():
        file, name = [*line.split("\t"), "", ""][:2]
        if name not in place or Path(file).name != file:
            raise broken(path, f"no image and class in {line[:80]!r}")
        if place[name] in classes:
            found.append((root / "val" / "images" / file, place[name]))
    return found
