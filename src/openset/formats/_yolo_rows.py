"""The lines of a YOLO data set as columns: boxes in pixels, classes, and confidences if there are.

What the numbers contradict is refused: outlines and points, boxes of another layout, pixels, and
classes that no name has. Not where the files lie (`_yolo_folder`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load_text
from openset.findings import refuse
from openset.formats._spec import Kind
from openset.formats._yolo_folder import Folder, is_file
from openset.formats.class_names import MOST
from openset.formats.imagesize import image_size
from openset.formats.sizes_file import read_sizes
from openset.refusals import dangling, wrong_type
from openset.tables import Images
from openset.tables.columns import text_column

_FEWEST = 20  # lines, fewer of which prove nothing
_FITS = 0.8, 0.99  # shares of boxes in their image: wrong if no more are, right if as many are
_BEYOND = 2.0  # times the image, from which a number is no share of it
# By the numbers of a line: a box, with its confidence, with a track id.
_KINDS: Mapping[int, Kind] = {5: "annotations", 6: "detections", 7: "detections"}


@dataclass(slots=True)
class Rows:
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
    def read(cls, folder: Folder, labels: tuple[str, ...] | None, sizes: Any, kind: Kind) -> Rows:
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


def refuse_pictures(folder: Folder, unsized: Sequence[str]) -> None:
    """Refuse pictures that are there and have no size: others, that are not there, say none."""
    stems = set(unsized)
    bad = [folder.images / name for stem, name, _ in folder.members() if stem in stems and name]
    there = [path for path in bad if is_file(path)]
    if there:
        message = f"{len(there)} images of {folder.root} cannot be decoded, and their sizes are "
        message += "unknown"
        raise refuse("OS603", message, count=len(there), example=str(there[0]))


def lines_of(file: Path) -> Iterator[list[str]]:
    return (line.split() for line in load_text(file).splitlines())


def kind_of(lines: Sequence[Sequence[str]]) -> Kind | None:
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


def _all_numbers(parts: Sequence[str]) -> bool:
    try:
        return all(float(part) is not None for part in parts)
    except ValueError:
        return False


def _numbers(file: Path, kind: Kind) -> NDArray[np.float64]:
    """The lines of a file: class, box and confidence, NaN where there is none."""
    if not is_file(file):
        return np.empty((0, 6))
    widths = (5,) if kind == "annotations" else tuple(_KINDS)
    rows = []
    for row, parts in enumerate(lines_of(file)):
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
    values: NDArray[np.float64], labels: Sequence[str] | None, folder: Folder
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


def _shares(box: NDArray[np.float64], folder: Folder) -> NDArray[np.float64]:
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


def _refuse_order(values: NDArray[np.float64], folder: Folder) -> None:
    """Refuse lines that are ``class confidence box``: boxes fit their images if read so alone."""
    box, behind = values[:, :4], values[:, 1:]
    if len(box) < _FEWEST or np.isnan(behind).any() or _inside(box) > _FITS[0]:
        return
    if _inside(behind) >= _FITS[1]:
        said = f"boxes of {folder.labels} leave their images, and fit if read behind the confidence"
        first = " ".join(f"{value:g}" for value in values[0])
        raise refuse("OS439", said, count=len(box), example=f"line 0: {first}")


def _refuse_corners(box: NDArray[np.float64], folder: Folder) -> None:
    """Refuse boxes that leave their images as centre and size, and fit them as corners."""
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
    folder: Folder, members: list[tuple[str, str, Path]], given: Any
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
