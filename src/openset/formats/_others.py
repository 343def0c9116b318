"""Others: what a file is that is in none of the formats, by how it begins.

People give what a browser, a clone or a spreadsheet left under the name of the file that they want.
Such files are not read; what they are, and how to get the right one, is said.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Other(NamedTuple):
    """A file of another kind, by how it begins."""

    begins: re.Pattern[bytes]
    what: str
    cause: str
    fix: str


_OTHERS = (
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
        re.compile(
            rb'\s*\{\s*("[^"]+"\s*:\s*\{\s*"0"\s*:'
            rb'|"(columns|image|image_id|file_name|category_id)"\s*:\s*\[)'
        ),
        "JSON by columns",
        "a data frame was written column by column, as to_json() of pandas does unasked",
        'write a record for each box: to_json(orient="records")',
    ),
    Other(
        re.compile(rb"\s*-?[0-9][0-9.eE+-]*[,;\t]"),
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
