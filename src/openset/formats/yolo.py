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

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import safe_name
from openset.formats._spec import EVIDENCE, FileFormat, Format, Kind, file_format
from openset.formats._yolo_folder import Folder, is_folder, with_absent
from openset.formats._yolo_names import (
    nameless,
    names_of,
    refuse_other_list,
)
from openset.formats._yolo_rows import Rows, kind_of, lines_of, refuse_pictures
from openset.formats.sizes_file import write_sizes
from openset.refusals import needs_sizes
from openset.tables import Annotations, Detections
from openset.tables.left_open import LeftOpen
from openset.tables.names import detection_images, named, sizes_for, sizes_of, stems

_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})


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
        folder = Folder.of(path)
        for file in folder.label_files():
            lines = [line for line in lines_of(file) if line]
            if lines:
                return kind_of(lines)
        if folder.config is None or not (is_folder(folder.labels) or folder.names_a_split()):
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
        folder = Folder.of(path, split)
        folder.refuse_lost()
        labels = names_of(folder.root, folder.labels, folder.config, names)
        if labels is None:
            raise nameless(folder.root)
        data = Rows.read(folder, labels, sizes, "annotations")
        if names is None:
            refuse_other_list(folder.root, folder.labels, labels, data.label)
        if data.unsized:
            refuse_pictures(folder, data.unsized)
            raise needs_sizes(str(folder.root), len(data.unsized), data.unsized[0])
        return Annotations(
            images=with_absent(data.images, folder),
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
        folder = Folder.of(path, split)
        labels = names_of(folder.root, folder.labels, folder.config, names)
        data = Rows.read(folder, labels, sizes, "detections")
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
        return kind == "detections" and Folder.of(path).config is None

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write ``data.yaml``, ``labels/<image>.txt`` and ``sizes.csv``; images are not copied."""
        sizes = sizes_of(table.images, "YOLO")
        rows = _normalised(table.box, sizes[table.image])
        _write(path, table.labels, stems(table.images), table.image, table.label, rows)
        write_sizes(path / "sizes.csv", stems(table.images), sizes.tolist())

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
            write_sizes(
                path / "sizes.csv", stems(truth.images), sizes_of(truth.images, "YOLO").tolist()
            )


def image_folder(file: Path) -> Path:
    """Where the images of a ground truth lie: where its ``data.yaml`` says, or beside it."""
    return Folder.of(file).images if file.suffix in (".yaml", ".yml") else file.parent


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
