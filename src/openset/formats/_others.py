"""Others: what a file or folder is that is in none of the formats, by how it begins.

People give what a browser, a clone or a spreadsheet left under the name of the file that they want,
what a labelling tool keeps for itself, or a folder of ours that holds the file. Such things are not
read; what they are, and how to get the right one, is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from openset.files import head, visible


class Other(NamedTuple):
    """A file of another kind, by how it begins."""

    begins: re.Pattern[bytes]
    what: str
    cause: str
    fix: str


_BY_COLUMNS = Other(
    re.compile(
        rb'\s*\{\s*("[^"]+"\s*:\s*\{\s*"0"\s*:'
        rb'|"(columns|image|image_id|file_name|category_id)"\s*:\s*\[)'
    ),
    "JSON by columns",
    "a data frame was written column by column, as to_json() of pandas does unasked",
    'write a record for each box: to_json(orient="records")',
)
_OTHERS = (
    _BY_COLUMNS,
    Other(
        re.compile(rb"\x80[\x02-\x05]"),
        "a pickle",
        "an archive of Python objects, which is never opened: it could run any code",
        "have the tool write COCO JSON (mmdet: test_evaluator.outfile_prefix), or give objects",
    ),
    Other(
        re.compile(rb"version https://git-lfs"),
        "a pointer of Git LFS",
        "the repository was cloned without its large files",
        "git lfs pull fetches the file itself",
    ),
    Other(
        re.compile(rb"\s*<(!doctype\s+html|html)", re.IGNORECASE),
        "a web page",
        "a page was saved in place of the file that it links to",
        "download the file itself",
    ),
    Other(
        re.compile(rb"\xff\xfe|\xfe\xff"),
        "text in UTF-16",
        "the output of a program was redirected by PowerShell, or saved as Unicode by Windows",
        "save it as UTF-8: Out-File -Encoding utf8",
    ),
    Other(
        re.compile(rb"PK\x03\x04"),
        "a ZIP archive",
        "an archive, or a spreadsheet, was given in place of what is in it",
        "unpack it, or save the sheet as CSV",
    ),
    Other(
        re.compile(rb"BZh[1-9]|\xfd7zXZ\x00|\x28\xb5\x2f\xfd|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07"),
        "packed by bzip2, xz, zstd, 7z or rar",
        "an archive was given in place of what is in it; gzip alone is unpacked here",
        "unpack it, or pack it with gzip",
    ),
    Other(
        re.compile(rb"(?s).{257}ustar"),
        "a tar archive",
        "an archive was given in place of what is in it",
        "unpack it: tar -xf FILE",
    ),
    Other(
        re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF.{4}WEBP|BM.{4}\x00{4}", re.DOTALL),
        "a picture",
        "an image was given in place of the file of its boxes",
        "give the file of boxes; pictures go to --images",
    ),
    Other(
        re.compile(rb"\x89HDF|MATLAB 5\.0|\x93NUMPY"),
        "a file of arrays (HDF5, MATLAB or NumPy)",
        "an archive was given whose arrays no standard names",
        "write them as CSV with image,label,x,y,w,h, or give objects from Python",
    ),
    Other(
        re.compile(rb'\s*\{\s*"(message|error|errors|detail)"\s*:'),
        "the answer of a server that refused",
        "a download failed, and its error was saved under the name of the file",
        "download it again, signed in if need be",
    ),
    Other(
        re.compile(rb'\s*\{\s*"schema"\s*:\s*"openset\.'),
        "an index or a result of openset",
        "it says what was measured, and holds no boxes",
        "boxes of a run are in its truth.parquet and NAME.detections.parquet; openset report, "
        "diagnose and compare read the run's folder",
    ),
    Other(
        re.compile(rb'(?s)\s*\{(?=.*"shapes"\s*:)(?=.*"(points|imagePath)"\s*:)'),
        "a file of labelme",
        "labelme keeps one JSON file for each image, with polygons and corners",
        "export to COCO (labelme2coco) or to VOC, and give that",
    ),
    Other(
        re.compile(rb'(?s)\s*\[\s*\{(?=.*"(from_name|rectanglelabels|annotation_id)"\s*:)'),
        "a list of tasks of Label Studio",
        "the JSON of Label Studio was exported, whose boxes are in percent",
        "choose COCO or YOLO when you export; --image-ids upload reads its names of images",
    ),
    Other(
        re.compile(rb'(?s)\s*[\[{](?=.*"(_via_settings|_via_img_metadata|shape_attributes)"\s*:)'),
        "a project of VGG Image Annotator",
        "the tool's own JSON was saved",
        "choose: export annotations as COCO",
    ),
    Other(
        re.compile(rb'(?s)\s*[\[{](?=.*"(classTitle|data_row|coordinates)"\s*:)'),
        "JSON of a labelling tool (Supervisely, Labelbox or Create ML)",
        "the tool's own JSON was exported",
        "choose COCO, VOC or YOLO when you export",
    ),
    Other(
        re.compile(rb"(?s)\s*(<\?xml.*?\?>\s*)?<annotations>"),
        "XML of CVAT, all images in one file",
        "CVAT for images was chosen when the task was exported",
        "choose COCO 1.0 or Pascal VOC 1.1 when you export",
    ),
    Other(
        re.compile(rb"(?s)\s*(<\?xml.*?\?>\s*)?<annotation[\s>]"),
        "the VOC annotation of one image",
        "a file was given in place of its folder",
        "give the folder: Annotations, or the one above it",
    ),
    Other(
        re.compile(rb"[^\W\d][\w-]*( -?[0-9][0-9.e+-]*){14,15}\s"),
        "in KITTI's format",
        "lines are type truncated occluded alpha left top right bottom and seven numbers of 3D",
        "write a CSV with image,label,xmin,ymin,xmax,ymax: words 1 and 5 to 8 of each line",
    ),
    Other(
        re.compile(rb"[^\n]*tensor\("),
        "numbers printed as tensor(...)",
        "tensors were written with str() or an f-string",
        "write float(x), or x.item()",
    ),
    Other(
        re.compile(rb"[^\W\d][^,;\t\n]*?( +[0-9][0-9.e+-]*){4,5} *(\r?\n|$)"),
        "lines of YOLO with names in place of numbers",
        "a line begins with the number of the class, its place in data.yaml",
        "write the numbers; or a CSV with image,label,x,y,w,h and a header",
    ),
    Other(
        re.compile(rb"\d+(\s*,\s*[01]?\.\d+){4}"),
        "lines of YOLO apart by commas",
        "numbers of a line are apart by blanks",
        "write blanks in place of commas",
    ),
    Other(
        re.compile(rb"\s*-?[0-9][0-9.eE+-]*[,;\t]|[^\n]*?([,;\t]\s*-?\d+(\.\d+)?){4}"),
        "a table without a header",
        "rows were written without the names of their columns",
        "write a first line such as image_id,category_id,score,x,y,w,h",
    ),
)


def kind_of(start: bytes) -> Other | None:
    """What a file is that begins so, if it is known.

    >>> kind_of(b"<!DOCTYPE html><html>").what
    'a web page'
    """
    return next((other for other in _OTHERS if other.begins.match(start)), None)


def by_columns(start: bytes) -> bool:
    """Whether JSON is a data frame column by column, which begins as a record does."""
    return _BY_COLUMNS.begins.match(start) is not None


_TEXTS = (".txt", ".json", ".xml", ".csv")
_FOUND = ".detections.parquet"
_OURS = {
    "run.json": (
        "the folder of a run",
        "openset report, diagnose, draw and compare read it; its ground truth is {path}/"
        "truth.parquet, its detections {path}/{found}",
    ),
    "bundle.json": (
        "a benchmark that openset build made",
        "give one of its splits, such as {path}/test.json; openset audit reads the folder",
    ),
}


def of_folder(path: Path, names: Sequence[str]) -> Other | None:
    """What a folder is that holds such names: one of ours, or what its first file is."""
    found = next((name for name in names if name.endswith(_FOUND)), f"NAME{_FOUND}")
    for name, (what, fix) in _OURS.items():
        if name in names:
            cause = "a folder was given where a file of boxes was expected"
            return Other(re.compile(b""), what, cause, fix.format(path=path, found=found))
    first = next((file for folder in (path, *visible(path)) for file in _files(folder)), None)
    other = None if first is None else kind_of(head(first))
    return other and other._replace(what=f"a folder whose {_name(first, path)} is {other.what}")


def _files(folder: Path) -> list[Path]:
    """Text and JSON in a folder, what is empty left out."""
    inside = visible(folder) if folder.is_dir() else []
    kept = (file for file in inside if file.suffix in _TEXTS and file.is_file())
    return [file for file in kept if file.stat().st_size and file.stem != "classes"]


def _name(file: Path | None, folder: Path) -> str:
    return "" if file is None else file.relative_to(folder).as_posix()
