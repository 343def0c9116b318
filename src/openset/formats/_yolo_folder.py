"""Where a YOLO data set has its parts: the YAML file, splits, images, and a text file for each.

Images are those of a folder, or those that a text file names, a path a line; labels lie beside
them. Not what is in the text files (`_yolo_rows`), and not what classes are called (`_yolo_names`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from openset.files import load_text, visible
from openset.findings import refuse
from openset.formats._yolo_names import (
    CLASSES,
    yaml_in,
)
from openset.formats.class_names import load_yaml
from openset.formats.imagesize import SUFFIXES
from openset.refusals import missing_key, wrong_type
from openset.tables import Images
from openset.tables.absent_labels import NO_LABEL_FILE

_LISTING = ".txt"  # a file that names images, a path a line
_SPLITS = ("val", "test", "train")


@dataclass(slots=True)
class Folder:
    """Where the parts of a YOLO data set lie.

    Attributes:
        root: The folder of ``data.yaml``.
        config: What it says.
        images: The folder of the images, or the one that all listed images lie in.
        labels: Likewise.
        listed: The images, where a list names them, not a folder.
    """

    root: Path
    config: Mapping[str, Any] | None
    images: Path
    labels: Path
    listed: tuple[Path, ...] | None = None

    @classmethod
    def of(cls, path: Path, split: str | None = None) -> Folder:
        file = path if path.is_file() else yaml_in(path)
        root = file.parent if file else path
        config = load_yaml(file) if file else None
        entries = _split_entries(config or {}, split)
        if not entries:
            flat = root if not (root / "labels").is_dir() else root / "labels"
            return cls(root, config, root / "images", flat)
        bases = (root / str((config or {}).get("path") or "."), root)
        if len(entries) == 1 and not entries[0].endswith(_LISTING):
            images = _place(entries[0], bases)
            return cls(root, config, images, _labels_beside(images))
        listed = sorted({path for entry in entries for path in _images_of(entry, bases)})
        images = Path(os.path.commonpath([path.parent for path in listed] or [_absolute(root)]))
        return cls(root, config, images, _labels_beside(images), tuple(listed))

    def names_a_split(self) -> bool:
        """Whether ``data.yaml`` says which classes there are, and where images lie."""
        return (
            self.config is not None
            and "names" in self.config
            and bool(_split_entries(self.config, None))
        )

    def refuse_lost(self) -> None:
        """Refuse a data set of which neither images nor labels are where ``data.yaml`` says."""
        if self.label_files() or is_folder(self.labels) or not self.names_a_split():
            return
        if is_folder(self.images) or self.listed:
            said = f"{self.images} has images, and {self.labels} is no folder"
            cause = "labels were not copied, or lie in a folder of another name"
            fix = f"move the text files to {self.labels}, beside the images"
        else:
            said = f"neither {self.images} nor {self.labels} is a folder"
            cause = "its YAML file has the paths of another machine, or of a folder's earlier name"
            fix = f"correct path, train, val or test in the YAML file of {self.root}"
        raise refuse("OS103", f"the images of {self.root}: {said}", cause=cause, fix=fix)

    def label_files(self) -> list[Path]:
        """One for each image; a list of classes is none of them."""
        if self.listed is not None:
            return [file for file in map(_label_of, self.listed) if is_file(file)]
        found = visible(self.labels, "*.txt") if is_folder(self.labels) else []
        return [file for file in found if file.name != CLASSES]

    def members(self) -> list[tuple[str, str, Path]]:
        """Stem, file name and label file of every image, in order."""
        if self.listed is not None:
            inside = self.images
            return [(p.stem, p.relative_to(inside).as_posix(), _label_of(p)) for p in self.listed]
        if is_folder(self.images):
            return [(p.stem, p.name, self.labels / f"{p.stem}.txt") for p in _pictures(self.images)]
        return [(file.stem, "", file) for file in self.label_files()]


def with_absent(images: Images, folder: Folder) -> Images:
    """Images that say which have no label file, where some have one: lost is not empty."""
    absent = np.array([not is_file(file) for _, _, file in folder.members()], np.bool_)
    if not absent.any() or absent.all():
        return images
    return replace(images, attributes={**images.attributes, NO_LABEL_FILE: absent})


def _split_entries(config: Mapping[str, Any], split: str | None) -> list[str]:
    """Folders of images, or lists of them, that ``data.yaml`` names for a split."""
    wanted = (split,) if split else _SPLITS
    value = next((config[key] for key in wanted if config.get(key)), None)
    if split and value is None:
        raise missing_key("data.yaml", split, [0], 1, "see its train, val and test")
    entries = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(entry, str) for entry in entries):
        expected = "a folder of images, a .txt list of them, or several"
        raise wrong_type("data.yaml", split or "val", expected, [], value, 1)
    return entries


def _place(entry: str, bases: Sequence[Path]) -> Path:
    """Where a folder or a file that ``data.yaml`` names is, or would be."""
    inner = entry.removeprefix("../")  # Roboflow names folders beside data.yaml so
    places = [base / name for name in (entry, inner) for base in bases]
    found = is_file if entry.endswith(_LISTING) else is_folder
    return next((place for place in places if found(place)), bases[-1] / entry)


def _images_of(entry: str, bases: Sequence[Path]) -> list[Path]:
    """The images of a folder, or those that a text file names, relative to itself as a rule."""
    place = _place(entry, bases)
    if not entry.endswith(_LISTING):
        return _pictures(_absolute(place)) if is_folder(place) else []
    lines = [line.strip() for line in load_text(place).splitlines()]
    odd = [row for row, line in enumerate(lines) if line and not Path(line).suffix[1:2].isalpha()]
    if odd:
        raise wrong_type(str(place), "line", "the path of an image", odd, lines[odd[0]])
    for home in (place.parent, *bases):
        found = [_absolute(home / line) for line in lines if line]
        if not found or any(is_file(path) or is_file(_label_of(path)) for path in found):
            return found
    raise refuse(
        "OS101",
        f"none of {len(found)} images that {place} names is there, nor their labels",
        count=len(found),
        example=next(line for line in lines if line),
        fix="paths are relative to the list: move it, or write them anew",
    )


def _pictures(folder: Path) -> list[Path]:
    return [path for path in visible(folder) if path.suffix.lower() in SUFFIXES]


def _label_of(image: Path) -> Path:
    return _labels_beside(image.parent) / f"{image.stem}.txt"


def _labels_beside(images: Path) -> Path:
    """``.../images/val`` has its labels in ``.../labels/val``."""
    parts = list(images.parts)
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "images":
            return Path(*parts[:index], "labels", *parts[index + 1 :])
    return images.parent / "labels"


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a name that no file system takes is none."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir fails for a name that is too long


def is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - likewise


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - labels are beside links, not their targets
