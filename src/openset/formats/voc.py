"""Pascal VOC: a folder of XML annotations, or of ``comp4_det_<split>_<class>.txt`` results.

VOC counts pixels from 1 and includes the last one. The tables are 0-based and continuous, so in
both directions and for both kinds ``x = xmin - 1``, ``y = ymin - 1``, ``x + width = xmax`` and
``y + height = ymax``: a box of one pixel has width 1. That is also how detectron2 writes results
(it adds 1 to the top left corner only). Numbers need not be integers.

Ground truth is the folder ``Annotations`` of a VOC tree, or any folder of XML files; ``split``
picks the images of ``ImageSets/Main/<split>.txt``. The image id is the name of the XML file without
its suffix. A line of results is ``image score xmin ymin xmax ymax``.

Not the VOC segmentation or action tasks, and parts of objects (``<part>``) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import listing, load, load_text, safe_name, visible
from openset.findings import InputError, refuse
from openset.formats._others import kind_of
from openset.formats._spec import EVIDENCE, FileFormat, Format, Kind, file_format
from openset.formats._voc_lists import unannotated
from openset.refusals import missing_key, shown, wrong_type
from openset.tables import Annotations, Detections, Images
from openset.tables.absent_labels import UNANNOTATED
from openset.tables.columns import text_column
from openset.tables.names import detection_images, file_names, named, stems

_RESULT = re.compile(r"comp\d+_det_([^_]+)_(.+)\.txt")
# What Windows, browsers and macOS put behind the stem of a file that is there already.
_COPY = re.compile(r"(?: ?\(\d+\)| - Copy(?: \(\d+\))?| copy(?: \d+)?)(?=\.txt$)")
_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_FLAGS = ("truncated", "occluded")
_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_MOST = 0.9  # of the lines, to tell their order
_BOTH: frozenset[Kind] = frozenset({"annotations", "detections"})


@file_format(
    FileFormat(
        name="voc",
        holds=_BOTH,
        suffixes=(),
        summary="Pascal VOC XML annotations, and comp4 result files by class (folders)",
        loses=frozenset(
            {
                "order",
                "image ids",
                "image attributes",
                "labels",
                "category ids",
                "supercategory",
                "role",
                "ids",
                "area",
                "crowd",
                "attributes",
                "info",
            }
        )
        | EVIDENCE,
        precision=1e-9,
        folder=True,
    )
)
class Voc(Format):
    """Pascal VOC folders."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """A folder with XML files or ``Annotations``, or with result files."""
        if not path.is_dir():
            return None
        names = head.decode("utf-8", "replace").split("\n")
        if any(_RESULT.fullmatch(name) for name in names):
            return "detections"
        xml = any(name.lower().endswith(".xml") for name in names)
        return "annotations" if xml or (path / "Annotations").is_dir() else None

    def read_annotations(self, path: Path, *, split: str | None = None, **_: Any) -> Annotations:
        """Read XML files, all or those of a split."""
        folder = path / "Annotations" if (path / "Annotations").is_dir() else path
        listing(folder)
        files = _split_files(path, folder, split) if split else visible(folder, "*.xml")
        if not files:
            raise refuse("OS103", f"{folder} holds no XML file")
        images = [_Image.read(file) for file in files]
        names = [{name for name, *_ in image.objects} for image in images]
        lost = unannotated(path, [image.stem for image in images], names)
        return _table(images, {} if lost is None else {UNANNOTATED: lost})

    def read_detections(self, path: Path, *, split: str | None = None, **_: Any) -> Detections:
        """Read result files, all or those of a split."""
        found = [(_RESULT.fullmatch(file.name), file) for file in visible(path, "comp*.txt")]
        files = [(match[2], file) for match, file in found if match and split in (None, match[1])]
        if not files:
            raise refuse("OS103", f"{path} holds no result file comp4_det_<split>_<class>.txt")
        names = [file.name for _, file in files]
        _refuse_two_results(path, names)
        _refuse_copies(path, names)
        labels = tuple(dict.fromkeys(name for name, _ in files))
        rows = [
            (labels.index(name), image, values)
            for name, file in files
            for image, values in _result_lines(file)
        ]
        numbers = np.array([row[2] for row in rows], np.float64).reshape(-1, 5)
        _refuse_order(numbers, path)
        return Detections(
            image=text_column([row[1] for row in rows]),
            label=np.array([row[0] for row in rows], np.int64),
            box=_to_box(numbers[:, 1:]),
            score=numbers[:, 0],
            labels=labels,
        )

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write ``Annotations/<image>.xml``, one file per image."""
        folder = path / "Annotations"
        folder.mkdir(parents=True)
        corners = _to_corners(table.box).tolist()
        rows = _rows_by_image(table.image, len(table.images))
        names = zip(stems(table.images), file_names(table.images), strict=True)
        for index, (stem, file_name) in enumerate(names):
            file = folder / f"{safe_name(stem)}.xml"
            objects = [_object_xml(table, int(row), corners[row]) for row in rows[index]]
            file.write_text(_image_xml(table.images, index, file_name or stem, objects), "utf-8")

    def write_detections(
        self, table: Detections, path: Path, truth: Annotations | None = None
    ) -> None:
        """Write ``comp4_det_test_<class>.txt``, one file per class."""
        labels, label = named(table, truth)
        images, image = detection_images(table, truth)
        numbers = np.column_stack([table.score, _to_corners(table.box)]).tolist()
        path.mkdir(parents=True)
        rows = _rows_by_image(label, len(labels))
        for index, name in enumerate(labels):
            lines = [
                f"{safe_name(images[image[row]])} {' '.join(map(_number, numbers[row]))}\n"
                for row in rows[index]
            ]
            file = path / f"comp4_det_test_{safe_name(name)}.txt"
            file.write_text("".join(lines), "utf-8")


@dataclass(slots=True)
class _Image:
    """What one XML file says."""

    stem: str
    file_name: str
    size: tuple[float, float]
    objects: list[tuple[str, list[float], dict[str, bool]]]

    @classmethod
    def read(cls, file: Path) -> _Image:
        root, where = _parsed(file), str(file)
        if root.tag != "annotation":
            cause, fix = (kind_of(load(file)) or ("", "", "", ""))[2:]
            message = f"{file} is <{root.tag:.40}>, not <annotation>"
            raise refuse("OS118", message, cause=cause, fix=fix)
        size = root.find("size")
        return cls(
            stem=file.stem,
            file_name=(root.findtext("filename") or "").strip(),
            size=(_size(size, "width", where), _size(size, "height", where)),
            objects=[_object(node, k, where) for k, node in enumerate(root.findall("object"))],
        )


def _parsed(file: Path) -> Any:
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(load(file))
    except InputError:
        raise
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError) as error:
        cause = "entities are refused" if isinstance(error, DefusedXmlException) else ""
        raise refuse("OS109", f"invalid XML in {file}: {error}", cause=cause) from error


def _size(node: Any, key: str, where: str) -> float:
    text = None if node is None else node.findtext(key)
    return (_float(text, key, 0, where) if text else np.nan) or np.nan  # 0 is what tools leave


def _object(node: Any, row: int, where: str) -> tuple[str, list[float], dict[str, bool]]:
    name, box = node.findtext("name"), node.find("bndbox")
    if name is None or box is None:
        raise missing_key(where, "bndbox" if name else "name", [row], row + 1)
    corners = []
    for key in _CORNERS:
        text = box.findtext(key)
        if text is None:
            raise missing_key(where, key, [row], row + 1)
        corners.append(_float(text, key, row, where))
    raised = {
        key: (node.findtext(key) or "0").strip().lower() in ("1", "true")
        for key in ("difficult", *_FLAGS)
        if key == "difficult" or node.find(key) is not None
    }
    return name.strip(), corners, raised


def _float(text: str, key: str, row: int, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise wrong_type(where, key, "numbers", [row], text) from None


def _split_files(path: Path, folder: Path, split: str) -> list[Path]:
    """The XML files of the images that ``ImageSets/Main/<split>.txt`` lists."""
    text = load_text(path / "ImageSets" / "Main" / f"{safe_name(split)}.txt")
    return [
        folder / f"{safe_name(line.split()[0])}.xml" for line in text.splitlines() if line.strip()
    ]


def _table(images: list[_Image], said: Mapping[str, NDArray[np.str_]]) -> Annotations:
    objects = [(index, *item) for index, image in enumerate(images) for item in image.objects]
    labels = tuple(sorted({name for _, name, _, _ in objects}))
    where = {name: index for index, name in enumerate(labels)}
    sizes = np.array([image.size for image in images], np.float64).reshape(-1, 2)
    names = [image.file_name for image in images]
    flags = [key for key in _FLAGS if any(key in raised for *_, raised in objects)]
    return Annotations(
        images=Images(
            id=text_column([image.stem for image in images]),
            file_name=text_column(names) if any(names) else None,
            width=sizes[:, 0],
            height=sizes[:, 1],
            attributes=said,
        ),
        labels=labels,
        image=np.array([index for index, *_ in objects], np.int32),
        label=np.array([where[name] for _, name, _, _ in objects], np.int32),
        box=_to_box(np.array([box for _, _, box, _ in objects], np.float64).reshape(-1, 4)),
        difficult=np.array([raised["difficult"] for *_, raised in objects], np.bool_),
        attributes={
            key: np.array([raised.get(key, False) for *_, raised in objects]) for key in flags
        },
    )


def _to_box(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    start = corners[:, :2] - 1
    return np.hstack([start, corners[:, 2:] - start])


def _to_corners(box: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([box[:, :2] + 1, box[:, :2] + box[:, 2:]])


def _result_lines(file: Path) -> Iterator[tuple[str, list[float]]]:
    for row, line in enumerate(load_text(file).split("\n")):
        if not line.strip():
            continue
        parts = line.rsplit(maxsplit=5)
        try:
            yield parts[0].strip(), [float(part) for part in parts[1:6]]
            if len(parts) != 6:
                raise ValueError
        except ValueError:
            expected = "image score xmin ymin xmax ymax"
            raise wrong_type(str(file), "line", expected, [row], line) from None


def _refuse_two_results(path: Path, names: Sequence[str]) -> None:
    """Refuse a class of a split that two competitions have: these are two detectors."""
    rest = [name.partition("_")[2] for name in names]
    again = sorted({name for name in rest if rest.count(name) > 1})
    if again:
        comps = sorted({name.partition("_")[0] for name in names})
        raise refuse(
            "OS126",
            f"{path} has results of {len(comps)} detectors, {', '.join(comps)}, for "
            f"{len(again)} classes",
            count=len(again),
            example=f"{comps[0]}_{again[0]} and {comps[1]}_{again[0]}",
        )


def _refuse_copies(path: Path, names: Sequence[str]) -> None:
    """Refuse a file that a browser, or a folder window, called a copy of another one."""
    copies = [name for name in names if (of := _COPY.sub("", name)) != name and of in names]
    if copies:
        raise refuse(
            "OS126",
            f"{path} has {len(copies)} files that are called copies of others",
            count=len(copies),
            example=f"{copies[0]} beside {_COPY.sub('', copies[0])}",
            cause="a file was downloaded, or copied, twice: its name would be another class",
            fix="remove the copies, or what they are newer than",
        )


def _refuse_order(numbers: NDArray[np.float64], path: Path) -> None:
    """Refuse lines that are ``image box score``: the last number is a share, the first is none."""
    share = (numbers >= 0) & (numbers <= 1)
    behind = share[:, 4] & ~share[:, 0] & (numbers[:, 2] >= numbers[:, 0])
    if len(numbers) and np.count_nonzero(behind) > _MOST * len(numbers):
        first = " ".join(map(_number, numbers[0].tolist()))
        raise refuse(
            "OS439",
            f"{np.count_nonzero(behind)} of {len(numbers)} lines of {path} have a share last, and "
            "none where the score is expected",
            count=int(np.count_nonzero(behind)),
            example=f"image {first}",
            cause="lines are image xmin ymin xmax ymax score",
            fix="write image score xmin ymin xmax ymax",
        )


def _rows_by_image(index: NDArray[Any], groups: int) -> list[NDArray[np.intp]]:
    order = np.argsort(index, kind="stable")
    return np.split(order, np.searchsorted(index[order], np.arange(1, groups)))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _escaped(text: str) -> str:
    """Text as XML writes it; XML has no way to write most control characters."""
    from xml.sax.saxutils import escape

    if _NOT_XML.search(text):
        raise refuse(
            "OS109",
            f"XML cannot hold {shown(text)}",
            cause="a control character in a label or a file name",
            fix="rename the image or the label, or write another format",
        )
    return escape(text)


def _object_xml(table: Annotations, row: int, corners: list[float]) -> str:
    assert table.difficult is not None
    flags = {"difficult": table.difficult[row]}
    flags |= {key: table.attributes[key][row] for key in _FLAGS if key in table.attributes}
    parts = [f"<name>{_escaped(table.labels[table.label[row]])}</name>"]
    parts += [f"<{key}>{int(bool(flag))}</{key}>" for key, flag in flags.items()]
    named_corners = zip(_CORNERS, corners, strict=True)
    box = "".join(f"<{key}>{_number(value)}</{key}>" for key, value in named_corners)
    return f"  <object>{''.join(parts)}<bndbox>{box}</bndbox></object>\n"


def _image_xml(images: Images, index: int, file_name: str, objects: Iterable[str]) -> str:
    assert images.width is not None
    assert images.height is not None
    sizes = (("width", images.width[index]), ("height", images.height[index]))
    size = "".join(f"<{key}>{_number(float(value))}</{key}>" for key, value in sizes if value > 0)
    head = f"  <filename>{_escaped(file_name)}</filename>\n  <size>{size}</size>\n"
    return f"<annotation>\n{head}{''.join(objects)}</annotation>\n"
