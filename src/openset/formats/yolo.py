"""YOLO: a folder with ``data.yaml`` and one text file per image; for predictions a sixth column.

A line is ``class cx cy width height [confidence]``: centre and size as fractions of the image,
`class` an index into ``names`` of ``data.yaml``. The path is the folder or the YAML file. Sizes of
images come from ``sizes=`` (a CSV of ``image,width,height`` or a dict), from ``sizes.csv`` in the
folder, or from the headers of the images. Image ids are file-name stems, as text.

Predictions of ultralytics (``save_txt save_conf``) have no ``data.yaml``: pass ``names=``.

Not segmentation, pose or oriented boxes: a line of another length is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load_text, parse_yaml, safe_name
from openset.findings import refuse
from openset.formats._spec import EVIDENCE, FileFormat, Format, Kind, file_format
from openset.formats.imagesize import SUFFIXES, image_size
from openset.options import is_of
from openset.refusals import dangling, missing_key, needs_sizes, shown, undecodable, wrong_type
from openset.tables import Annotations, Detections, Images
from openset.tables.columns import text_column
from openset.tables.names import detection_images, named, sizes_for, sizes_of, stems

_SPLITS = ("val", "test", "train")
_MOST = 1 << 20  # classes: more would be room for nothing
_BEYOND = 2.0  # times the image, from which a number is no share of it
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})
_KINDS: Mapping[int, Kind] = {5: "annotations", 6: "detections"}  # by numbers of a line


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
            first = next((line for line in _lines(file) if line), None)
            if first is not None:
                return _KINDS.get(len(first)) if _all_numbers(first) else None
        if folder.config is None or not _is_folder(folder.labels):
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
        data = _Rows.read(_Folder.of(path, split), names, sizes, columns=5)
        return Annotations(
            images=data.images,
            labels=data.labels,
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
        """Read predictions with confidences."""
        data = _Rows.read(_Folder.of(path, split), names, sizes, columns=6)
        return Detections(
            image=data.images.id[data.image],
            label=data.label,
            box=data.box,
            score=data.score,
            labels=data.labels,
        )

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
    """Where the parts of a YOLO data set lie."""

    root: Path
    config: Mapping[str, Any] | None
    images: Path
    labels: Path

    @classmethod
    def of(cls, path: Path, split: str | None = None) -> _Folder:
        file = path if path.is_file() else _yaml_in(path)
        root = file.parent if file else path
        config = _load_yaml(file) if file else None
        entry = _split_entry(config or {}, split)
        if entry is None:
            flat = root if not (root / "labels").is_dir() else root / "labels"
            return cls(root, config, root / "images", flat)
        base = root / str((config or {}).get("path") or ".")
        images = next((p for p in (base / entry, root / entry) if _is_folder(p)), root / entry)
        return cls(root, config, images, _labels_beside(images))

    def label_files(self) -> list[Path]:
        return sorted(self.labels.glob("*.txt")) if _is_folder(self.labels) else []

    def members(self) -> list[tuple[str, str]]:
        """Stem and file name of every image, in order."""
        if _is_folder(self.images):
            names = (p.name for p in self.images.iterdir() if p.suffix.lower() in SUFFIXES)
            return [(Path(name).stem, name) for name in sorted(names)]
        return [(file.stem, "") for file in self.label_files()]


def _is_folder(path: Path) -> bool:
    """Whether there is a folder; a name that no file system takes is none."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir fails for a name that is too long


def _yaml_in(folder: Path) -> Path | None:
    found = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    return next((file for file in found if file.stem == "data"), found[0] if found else None)


def _load_yaml(file: Path) -> Mapping[str, Any]:
    try:
        value = parse_yaml(load_text(file))
    except ValueError as error:
        raise undecodable(str(file), error) from error
    if not isinstance(value, dict):
        raise wrong_type(str(file), "document", "a mapping", [], value, 1)
    return value


def _split_entry(config: Mapping[str, Any], split: str | None) -> str | None:
    wanted = (split,) if split else _SPLITS
    value = next((config[key] for key in wanted if config.get(key)), None)
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if split and value is None:
        raise missing_key("data.yaml", split, [0], 1, "see its train, val and test")
    if isinstance(value, str) and not value.endswith(".txt"):
        return value
    if value is None:
        return None
    raise wrong_type("data.yaml", split or "val", "one folder of images", [], value, 1)


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
    """The lines of all label files as columns, boxes in pixels."""

    images: Images
    labels: tuple[str, ...]
    image: NDArray[np.int32]
    label: NDArray[np.int64]
    box: NDArray[np.float64]
    score: NDArray[np.float64]

    @classmethod
    def read(cls, folder: _Folder, names: Any, sizes: Any, columns: int) -> _Rows:
        labels = _label_names(folder, names)
        members = folder.members()
        numbers, image = [], []
        for index, (stem, _) in enumerate(members):
            rows = _numbers(folder.labels / f"{stem}.txt", columns)
            numbers.append(rows)
            image.append(np.full(len(rows), index, np.int32))
        table = np.concatenate([np.empty((0, columns)), *numbers])
        at = np.concatenate([np.empty(0, np.int32), *image])
        size = _sizes(folder, members, sizes)
        label = _indices(table[:, 0], labels, folder)
        box = _shares(table[:, 1:5], folder) * np.tile(size[at], 2)
        box[:, :2] -= box[:, 2:] / 2
        score = table[:, 5] if columns == 6 else np.empty(0)
        files = [name for _, name in members]
        stem_column = text_column([stem for stem, _ in members])
        names_column = text_column(files) if any(files) else None
        images = Images(stem_column, names_column, size[:, 0], size[:, 1])
        return cls(images, labels, at, label, box, score)


def _label_names(folder: _Folder, names: Any) -> tuple[str, ...]:
    if isinstance(names, (str, Path)):
        names = _load_yaml(Path(names)).get("names")
    if names is None and folder.config is not None:
        names = folder.config.get("names")
    if isinstance(names, Mapping) and all(type(key) is int for key in names):
        names = _numbered(names, folder)
    if names is None or isinstance(names, Mapping):
        fix = "pass names= (a list, or the data.yaml the detector was trained with)"
        raise missing_key(str(folder.root), "names", [0], 1, fix)
    if isinstance(names, str) or not is_of(names, Sequence[str | int | float | bool]):
        raise wrong_type(str(folder.root), "names", "a list of names", [], names, 1)
    return tuple(str(name) for name in names)


def _numbered(names: Mapping[int, Any], folder: _Folder) -> list[Any]:
    """Names by number; a number that has none is called by itself."""
    odd = next((key for key in names if not 0 <= key < _MOST), None)
    if odd is not None:
        message = f"{folder.root} numbers a class {odd}, which no list of classes has room for"
        raise refuse("OS117", message, example=shown(names[odd]))
    return [names.get(key, str(key)) for key in range(max(names, default=-1) + 1)]


def _numbers(file: Path, columns: int) -> NDArray[np.float64]:
    if not file.is_file():
        return np.empty((0, columns))
    rows = []
    for row, parts in enumerate(_lines(file)):
        if not parts:
            continue
        if len(parts) != columns or not _all_numbers(parts):
            expected = f"{columns} numbers: class cx cy width height"
            expected += " confidence" if columns == 6 else ""
            raise wrong_type(str(file), "line", expected, [row], " ".join(parts))
        rows.append([float(part) for part in parts])
    return np.array(rows, np.float64).reshape(-1, columns)


def _indices(values: NDArray[np.float64], labels: Sequence[str], folder: _Folder) -> NDArray[Any]:
    bad = np.flatnonzero(~((values >= 0) & (values < len(labels)) & (values % 1 == 0)))
    if len(bad):
        row = int(bad[0])
        raise dangling(str(folder.labels), "class index", values[row].item(), row, len(bad))
    return values.astype(np.int64)


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


def _sizes(folder: _Folder, members: list[tuple[str, str]], given: Any) -> NDArray[np.float64]:
    beside = folder.root / "sizes.csv"
    known = read_sizes(beside) if beside.is_file() else {}
    known |= read_sizes(given) if isinstance(given, (str, Path)) else dict(given or {})
    found = [
        known.get(stem) or known.get(name) or (image_size(folder.images / name) if name else None)
        for stem, name in members
    ]
    unknown = [stem for (stem, _), size in zip(members, found, strict=True) if size is None]
    if unknown:
        raise needs_sizes(str(folder.root), len(unknown), unknown[0])
    return np.array(found, np.float64).reshape(-1, 2)


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
