"""YOLO: a folder with ``data.yaml`` and one text file per image; for predictions a sixth column.

A line is ``class cx cy width height [confidence]``: centre and size as fractions of the image,
`class` an index into ``names`` of ``data.yaml``. The path is the folder or the YAML file. Sizes of
images come from ``sizes=`` (a CSV of ``image,width,height`` or a dict), from ``sizes.csv`` in the
folder, or from the headers of the images. Image ids are file-name stems, as text. Images are those
of a folder, or those that a text file names, a path a line, as in ultralytics' ``coco.yaml``; or of
several of either.

Without ``data.yaml`` the ``classes.txt`` of labelling tools, a name a line, names the classes.

Predictions of ultralytics (``save_txt``) have no ``data.yaml``, and no confidences without
``save_conf``. What such a folder leaves open, names and sizes, the ground truth says
(`openset.tables.left_open`), unless ``names=`` and ``sizes=`` do; a track id at the end of a line
is not read.

Not segmentation, pose or oriented boxes: a line of another length is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load_text, safe_name, visible
from openset.findings import refuse
from openset.formats._spec import EVIDENCE, FileFormat, Format, Kind, file_format
from openset.formats._yolo_names import (
    CLASSES,
    nameless,
    names_of,
    refuse_other_list,
    yaml_in,
)
from openset.formats.class_names import MOST, load_yaml
from openset.formats.imagesize import SUFFIXES, image_size
from openset.refusals import dangling, missing_key, needs_sizes, wrong_type
from openset.tables import Annotations, Detections, Images
from openset.tables.absent_labels import NO_LABEL_FILE
from openset.tables.columns import text_column
from openset.tables.left_open import LeftOpen
from openset.tables.names import detection_images, named, sizes_for, sizes_of, stems

_LISTING = ".txt"  # a file that names images, a path a line
_SPLITS = ("val", "test", "train")
_FEWEST = 20  # lines, fewer of which prove nothing
_FITS = 0.8, 0.99  # shares of boxes in their image: wrong if no more are, right if as many are
_BEYOND = 2.0  # times the image, from which a number is no share of it
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})
# By the numbers of a line: a box, with its confidence, with a track id.
_KINDS: Mapping[int, Kind] = {5: "annotations", 6: "detections", 7: "detections"}


@file_format(
    FileFormat(
        name="yolo",
        holds=_BOTH,
        suffixes=(),
        summary="YOLO text files with data.yaml, normalised boxes (folder)",
        loses=frozenset(
            {
                "order",
                "image ids",
                "file names",
                "image attributes",
                "category ids",
                "supercategory",
                "role",
                "ids",
                "area",
                "crowd",
                "difficult",
                "attributes",
                "info",
            }
        )
        | EVIDENCE,
        precision=1e-9,
        folder=True,
    )
)
class Yolo(Format):
    """YOLO folders."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """A folder with ``labels`` or text files of numbers, or a YAML file with ``names``."""
        if path.is_file() and not (path.suffix in (".yaml", ".yml") and b"names" in head):
            return None
        folder = _Folder.of(path)
        for file in folder.label_files():
            lines = [line for line in _lines(file) if line]
            if lines:
                return _kind_of(lines)
        if folder.config is None or not (_is_folder(folder.labels) or folder.names_a_split()):
            return None
        return "detections" if folder.config.get("holds") == "detections" else "annotations"

    def read_annotations(
        self,
        path: Path,
        *,
        names: Any = None,
        sizes: Any = None,
        split: str | None = None,
        **_: Any,
    ) -> Annotations:
        """Read labels; images without a label file have no objects."""
        folder = _Folder.of(path, split)
        folder.refuse_lost()
        labels = names_of(folder.root, folder.labels, folder.config, names)
        if labels is None:
            raise nameless(folder.root)
        data = _Rows.read(folder, labels, sizes, "annotations")
        if names is None:
            refuse_other_list(folder.root, folder.labels, labels, data.label)
        if data.unsized:
            _refuse_pictures(folder, data.unsized)
            raise needs_sizes(str(folder.root), len(data.unsized), data.unsized[0])
        return Annotations(
            images=_with_absent(data.images, folder),
            labels=labels,
            image=data.image,
            label=data.label.astype(np.int32),
            box=data.box,
        )

    def read_detections(
        self,
        path: Path,
        *,
        names: Any = None,
        sizes: Any = None,
        split: str | None = None,
        **_: Any,
    ) -> Detections:
        """Read predictions; what the folder leaves open is left to the ground truth."""
        folder = _Folder.of(path, split)
        labels = names_of(folder.root, folder.labels, folder.config, names)
        data = _Rows.read(folder, labels, sizes, "detections")
        if names is None and labels is not None:
            refuse_other_list(folder.root, folder.labels, labels, data.label)
        if data.unsized and sizes is not None:
            raise needs_sizes(str(folder.root), len(data.unsized), data.unsized[0])
        unscored = bool(np.isnan(data.score).any())
        left = LeftOpen("xywh-norm" if data.unsized else "", labels is None, unscored)
        return left.marked(
            Detections(
                image=data.images.id[data.image],
                label=data.label,
                box=data.box,
                score=np.ones(len(data.score)) if unscored else data.score,
                labels=labels or (),
            )
        )

    def could_hold(self, path: Path, kind: Kind) -> bool:
        """Lines without confidences are predictions, too, where no ``data.yaml`` says otherwise."""
        return kind == "detections" and _Folder.of(path).config is None

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write ``data.yaml``, ``labels/<image>.txt`` and ``sizes.csv``; images are not copied."""
        sizes = sizes_of(table.images, "YOLO")
        rows = _normalised(table.box, sizes[table.image])
        _write(path, table.labels, stems(table.images), table.image, table.label, rows)
        _write_sizes(path / "sizes.csv", table.images, sizes)

    def write_detections(
        self, table: Detections, path: Path, truth: Annotations | None = None
    ) -> None:
        """Write predictions; image sizes come from `truth`."""
        boxes = _normalised(table.box, sizes_for(table, truth, "YOLO"))
        labels, label = named(table, truth)
        images, image = detection_images(table, truth)
        rows = np.column_stack([boxes, table.score])
        _write(path, labels, images, image, label, rows)
        if truth is not None:
            _write_sizes(path / "sizes.csv", truth.images, sizes_of(truth.images, "YOLO"))


@dataclass(slots=True)
class _Folder:
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
    def of(cls, path: Path, split: str | None = None) -> _Folder:
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
        if self.label_files() or _is_folder(self.labels) or not self.names_a_split():
            return
        if _is_folder(self.images) or self.listed:
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
            return [file for file in map(_label_of, self.listed) if _is_file(file)]
        found = visible(self.labels, "*.txt") if _is_folder(self.labels) else []
        return [file for file in found if file.name != CLASSES]

    def members(self) -> list[tuple[str, str, Path]]:
        """Stem, file name and label file of every image, in order."""
        if self.listed is not None:
            inside = self.images
            return [(p.stem, p.relative_to(inside).as_posix(), _label_of(p)) for p in self.listed]
        if _is_folder(self.images):
            return [(p.stem, p.name, self.labels / f"{p.stem}.txt") for p in _pictures(self.images)]
        return [(file.stem, "", file) for file in self.label_files()]


def _with_absent(images: Images, folder: _Folder) -> Images:
    """Images that say which have no label file, where some have one: lost is not empty."""
    absent = np.array([not _is_file(file) for _, _, file in folder.members()], np.bool_)
    if not absent.any() or absent.all():
        return images
    return replace(images, attributes={**images.attributes, NO_LABEL_FILE: absent})


def image_folder(file: Path) -> Path:
    """Where the images of a ground truth lie: where its ``data.yaml`` says, or beside it."""
    return _Folder.of(file).images if file.suffix in (".yaml", ".yml") else file.parent


def _is_folder(path: Path) -> bool:
    """Whether there is a folder; a name that no file system takes is none."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir fails for a name that is too long


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - likewise


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - labels are beside links, not their targets


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
    found = _is_file if entry.endswith(_LISTING) else _is_folder
    return next((place for place in places if found(place)), bases[-1] / entry)


def _images_of(entry: str, bases: Sequence[Path]) -> list[Path]:
    """The images of a folder, or those that a text file names, relative to itself as a rule."""
    place = _place(entry, bases)
    if not entry.endswith(_LISTING):
        return _pictures(_absolute(place)) if _is_folder(place) else []
    lines = [line.strip() for line in load_text(place).splitlines()]
    odd = [row for row, line in enumerate(lines) if line and not Path(line).suffix[1:2].isalpha()]
    if odd:
        raise wrong_type(str(place), "line", "the path of an image", odd, lines[odd[0]])
    for home in (place.parent, *bases):
        found = [_absolute(home / line) for line in lines if line]
        if not found or any(_is_file(path) or _is_file(_label_of(path)) for path in found):
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


def _lines(file: Path) -> Iterator[list[str]]:
    return (line.split() for line in load_text(file).splitlines())


def _all_numbers(parts: Sequence[str]) -> bool:
    try:
        return all(float(part) is not None for part in parts)
    except ValueError:
        return False


@dataclass(slots=True)
class _Rows:
    """The lines of all label files as columns.

    Attributes:
        images: The images.
        image: Index of the image of every line.
        label: Number of its class.
        box: ``x, y, width, height`` in pixels; as shares of the image if any is of unknown size.
        score: Confidence, NaN where there is none.
        unsized: Images of unknown size.
    """

    images: Images
    image: NDArray[np.int32]
    label: NDArray[np.int64]
    box: NDArray[np.float64]
    score: NDArray[np.float64]
    unsized: list[str]

    @classmethod
    def read(cls, folder: _Folder, labels: tuple[str, ...] | None, sizes: Any, kind: Kind) -> _Rows:
        members = folder.members()
        numbers, image = [], []
        for index, (_, _, file) in enumerate(members):
            rows = _numbers(file, kind)
            numbers.append(rows)
            image.append(np.full(len(rows), index, np.int32))
        table = np.concatenate([np.empty((0, 6)), *numbers])
        at = np.concatenate([np.empty(0, np.int32), *image])
        size, unsized = _sizes(folder, members, sizes)
        _refuse_order(table[:, 1:], folder)
        if kind == "annotations":
            _refuse_corners(table[:, 1:5], folder)
        label = _indices(table[:, 0], labels, folder)
        box = _shares(table[:, 1:5], folder).copy()
        box[:, :2] -= box[:, 2:] / 2
        box = box if unsized else box * np.tile(size[at], 2)
        files = [name for _, name, _ in members]
        stem_column = text_column([stem for stem, _, _ in members])
        names_column = text_column(files) if any(files) else None
        images = Images(stem_column, names_column, size[:, 0], size[:, 1])
        return cls(images, at, label, box, table[:, 5], unsized)


def _numbers(file: Path, kind: Kind) -> NDArray[np.float64]:
    """The lines of a file: class, box and confidence, NaN where there is none."""
    if not _is_file(file):
        return np.empty((0, 6))
    widths = (5,) if kind == "annotations" else tuple(_KINDS)
    rows = []
    for row, parts in enumerate(_lines(file)):
        if not parts:
            continue
        if _is_outline(parts, kind) and _all_numbers(parts):
            rows.append(_around(parts))
            continue
        if len(parts) not in widths or not _all_numbers(parts):
            expected = f"{widths[0]} numbers: class cx cy width height"
            expected += " confidence" if kind == "detections" else ""
            raise wrong_type(str(file), "line", expected, [row], " ".join(parts))
        rows.append([float(part) for part in parts[:6]] + [np.nan] * (6 - len(parts)))
    return np.array(rows, np.float64).reshape(-1, 6)


def _kind_of(lines: Sequence[Sequence[str]]) -> Kind | None:
    """What lines are, by the numbers of the first; seven may be a triangle among outlines."""
    if not _all_numbers(lines[0]):
        return None
    kinds: tuple[Kind, ...] = ("annotations", "detections")
    if all(len(line) in (5, 7) or _is_outline(line, kinds[0]) for line in lines) and any(
        len(line) != 7 for line in lines
    ):
        return "annotations"
    outlines = (kind for kind in kinds if _is_outline(lines[0], kind))
    return _KINDS.get(len(lines[0])) or next(outlines, None)


def _is_outline(parts: Sequence[str], kind: Kind) -> bool:
    """Whether a line is a class and points, of a mask or a rotated box, and its confidence."""
    if kind == "annotations":
        return len(parts) >= 7 and len(parts) % 2 == 1
    return len(parts) >= 8 and len(parts) % 2 == 0


def _around(parts: Sequence[str]) -> list[float]:
    """Class, the box around an outline, and its confidence, NaN where there is none."""
    label, *numbers = map(float, parts)
    score = numbers.pop() if len(numbers) % 2 else np.nan
    x, y = numbers[::2], numbers[1::2]
    size = max(x) - min(x), max(y) - min(y)
    return [label, min(x) + size[0] / 2, min(y) + size[1] / 2, *size, score]


def _indices(
    values: NDArray[np.float64], labels: Sequence[str] | None, folder: _Folder
) -> NDArray[Any]:
    most = MOST if labels is None else len(labels)
    bad = np.flatnonzero(~((values >= 0) & (values < most) & (values % 1 == 0)))
    if len(bad):
        row = int(bad[0])
        short = labels is not None and values[row] >= len(labels) and values[row] % 1 == 0
        cause, fix = _too_short(len(labels), values) if labels is not None and short else ("", "")
        where, value = str(folder.labels), values[row].item()
        value = int(value) if value % 1 == 0 else value
        raise dangling(where, "class index", value, row, len(bad), cause, fix)
    return values.astype(np.int64)


def _too_short(names: int, values: NDArray[np.float64]) -> tuple[str, str]:
    """Cause and fix where classes are numbered beyond the list of their names."""
    high = int(np.nanmax(values[np.isfinite(values)]))
    if high == names and np.nanmin(values) >= 1:
        cause = f"classes are counted from 1 in the lines, and the {names} names from 0"
        return cause, "take 1 from the class of every line, or put a name that no line means first"
    cause = f"the list of classes has {names} names, for the numbers 0 to {names - 1}, and the "
    cause += f"lines go up to {high}: it is too short, or that of another detector"
    return cause, "give the whole list, in the order of the numbers: names= or data.yaml"


def _shares(box: NDArray[np.float64], folder: _Folder) -> NDArray[np.float64]:
    """Boxes as shares of their image; a few may leave it, most are pixels then."""
    beyond = (box > _BEYOND).any(axis=1)
    if 2 * np.count_nonzero(beyond) > len(box):
        row = int(beyond.argmax())
        raise refuse(
            "OS431",
            f"{np.count_nonzero(beyond)} of {len(box)} boxes of {folder.labels} are no shares of "
            "their image",
            count=int(np.count_nonzero(beyond)),
            example=f"box {row}: {' '.join(f'{value:g}' for value in box[row])}",
        )
    return box


def _refuse_order(values: NDArray[np.float64], folder: _Folder) -> None:
    """Refuse lines that are ``class confidence box``: boxes fit their images if read so alone."""
    box, behind = values[:, :4], values[:, 1:]
    if len(box) < _FEWEST or np.isnan(behind).any() or _inside(box) > _FITS[0]:
        return
    if _inside(behind) >= _FITS[1]:
        said = f"boxes of {folder.labels} leave their images, and fit if read behind the confidence"
        first = " ".join(f"{value:g}" for value in values[0])
        raise refuse("OS439", said, count=len(box), example=f"line 0: {first}")


def _refuse_corners(box: NDArray[np.float64], folder: _Folder) -> None:
    """Refuse objects that leave their images as centre and size, and fit them as corners."""
    if len(box) < _FEWEST or _inside(box) > _FITS[0]:
        return
    fits = (box[:, :2] < box[:, 2:]) & (box[:, :2] > -0.02) & (box[:, 2:] < 1.02)
    if fits.all(axis=1).mean() >= _FITS[1]:
        raise refuse(
            "OS204",
            f"boxes of {folder.labels} leave their images as centre and size, and fit as corners",
            count=len(box),
            example=f"line 0: {' '.join(f'{value:g}' for value in box[0])}",
            cause="lines are class x1 y1 x2 y2",
            fix="write class cx cy width height, each as a share of the image",
        )


def _inside(box: NDArray[np.float64]) -> float:
    """The share of boxes that lie in their image."""
    low, high = box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2
    return float(((low > -0.02) & (high < 1.02)).all(axis=1).mean())


def _sizes(
    folder: _Folder, members: list[tuple[str, str, Path]], given: Any
) -> tuple[NDArray[np.float64], list[str]]:
    """Width and height of every image, NaN where unknown; and which are so."""
    beside = folder.root / "sizes.csv"
    known = read_sizes(beside) if beside.is_file() else {}
    known |= read_sizes(given) if isinstance(given, (str, Path)) else dict(given or {})
    found = [
        known.get(stem) or known.get(name) or (image_size(folder.images / name) if name else None)
        for stem, name, _ in members
    ]
    unknown = [stem for (stem, _, _), size in zip(members, found, strict=True) if size is None]
    sized = [(np.nan, np.nan) if size is None else size for size in found]
    return np.array(sized, np.float64).reshape(-1, 2), unknown


def _refuse_pictures(folder: _Folder, unsized: Sequence[str]) -> None:
    """Refuse pictures that are there and have no size: others, that are not there, say none."""
    stems = set(unsized)
    bad = [folder.images / name for stem, name, _ in folder.members() if stem in stems and name]
    there = [path for path in bad if _is_file(path)]
    if there:
        message = f"{len(there)} images of {folder.root} cannot be decoded, and their sizes are "
        message += "unknown"
        raise refuse("OS603", message, count=len(there), example=str(there[0]))


def read_sizes(path: str | Path) -> dict[str, tuple[float, float]]:
    """Sizes of images from a CSV of ``image,width,height``; further columns are left alone."""
    import csv

    sizes: dict[str, tuple[float, float]] = {}
    for row, parts in enumerate(csv.reader(load_text(Path(path)).splitlines())):
        try:
            sizes[parts[0]] = float(parts[1]), float(parts[2])
        except (ValueError, IndexError):
            if row and parts:
                raise wrong_type(str(path), "line", "image,width,height", [row], parts) from None
    return sizes


def _normalised(box: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([box[:, :2] + box[:, 2:] / 2, box[:, 2:]]) / np.tile(sizes, 2)


def _write(
    path: Path,
    labels: Sequence[str],
    images: Sequence[str],
    image: NDArray[Any],
    label: NDArray[Any],
    rows: NDArray[np.float64],
) -> None:
    import yaml

    (path / "labels").mkdir(parents=True)
    # Without a single line only `holds` can tell predictions from ground truth.
    held = "detections" if rows.shape[1] == 5 else "annotations"
    config = {"path": ".", "val": "images", "names": dict(enumerate(labels)), "holds": held}
    text = yaml.safe_dump(config, allow_unicode=True, sort_keys=False)
    (path / "data.yaml").write_text(text, "utf-8")
    lines: list[list[str]] = [[] for _ in images]
    for at, klass, values in zip(image.tolist(), label.tolist(), rows.tolist(), strict=True):
        lines[at].append(f"{klass} {' '.join(map(repr, values))}\n")
    for name, text_lines in zip(images, lines, strict=True):
        file = path / "labels" / f"{safe_name(name)}.txt"
        file.write_text("".join(text_lines), "utf-8")


def _write_sizes(file: Path, images: Images, sizes: NDArray[np.float64]) -> None:
    import csv

    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["image", "width", "height"])
        for stem, size in zip(stems(images), sizes.tolist(), strict=True):
            writer.writerow([stem, *map(repr, size)])
