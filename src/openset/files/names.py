"""Names that come from a file: which may name a file or a path, and which are made plain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from openset.findings import refuse
from openset.refusals import shown

_LONGEST = 60  # characters of a file name that is made from another name


def safe_name(name: str) -> str:
    """`name` if it can be a file name inside its folder, else a refusal.

    >>> safe_name("000139")
    '000139'
    """
    inside = not any(char in "/\\:" or char < " " or char == "\x7f" for char in name)
    if inside and name.strip(". ") and len(name.encode("utf-8", "replace")) < 240:
        return name
    raise refuse(
        "OS113",
        f"{shown(name)} cannot be the name of a file inside the folder",
        fix="rename the image or the label, or write a format that is one file",
    )


def safe_path(name: str) -> str:
    """`name` if it is a path below the folder that it is relative to, else a refusal.

    >>> safe_path("annotations/train.json")
    'annotations/train.json'
    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." not in parts and "\0" not in name and not PurePosixPath(name).is_absolute():
        return name
    raise refuse("OS113", f"{shown(name)} leaves the folder that it is relative to")


def file_stems(names: Iterable[str]) -> dict[str, str]:
    """A file name for each name: short, plain, distinct even where case does not count.

    >>> file_stems(["yolo", "../../etc", "YOLO"])
    {'yolo': 'yolo', '../../etc': 'etc-74ccf3c5', 'YOLO': 'YOLO-99f26510'}
    """
    import hashlib

    stems: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")[:_LONGEST]
        taken = {other.lower() for other in stems.values()} | {"truth", "run", "report", ""}
        if stem != name or stem.lower() in taken:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            stem = f"{stem or 'model'}-{digest}"
        stems[name] = stem
    return stems
