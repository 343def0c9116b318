"""What a file format is: a record that describes it and a class that sniffs, reads and writes.

A module of this package with a class tagged by `file_format` is a format; there is no list to edit.
A class implements what its format can hold and inherits a refusal for the rest.

>>> from openset.plugins import discover, record_of
>>> sorted(discover("openset.formats", "format"))[:3]
['coco', 'csv', 'openimages']
>>> record_of(discover("openset.formats", "format")["coco"]).suffixes
('.json', '.json.gz')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from openset.findings import UsageError
from openset.plugins import record_of, tag

if TYPE_CHECKING:
    from pathlib import Path

    from openset.tables import Annotations, Detections

Kind = Literal["annotations", "detections"]
C = TypeVar("C", bound="type[Format]")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What people need to know of a format before they use it.

    Attributes:
        name: Short name, as in ``format="coco"``.
        holds: Which tables it can hold.
        suffixes: Endings of file names that choose this format when writing. Reading goes by
            content and never by name.
        summary: One line for listings.
        loses: What does not survive writing, in the words of `LOSSES`.
        precision: Largest change of a box coordinate through writing and reading, in pixels.
        folder: Whether it is a folder of files.
    """

    name: str
    holds: frozenset[Kind]
    suffixes: tuple[str, ...]
    summary: str
    loses: frozenset[str] = frozenset()
    precision: float = 0.0
    folder: bool = False


LOSSES = {
    "order": "order of images and of objects across images",
    "image ids": "image ids (file-name stems, as text, take their place)",
    "file names": "file names of images",
    "sizes": "sizes of images",
    "empty images": "images without objects",
    "image attributes": "further columns of images",
    "labels": "labels that no object has, and the order of labels",
    "category ids": "category ids",
    "supercategory": "super-classes",
    "role": "roles of labels",
    "ids": "ids of annotations",
    "area": "areas other than width x height",
    "crowd": "crowd flags",
    "difficult": "difficult flags",
    "attributes": "further columns of objects or detections",
    "info": "the file's description of itself",
    "names": "names of labels in detections (category ids take their place)",
    "unknownness": "unknownness",
    "logits": "logits and their layout",
    "embedding": "embeddings",
    "head": "the detector's last layer",
    "provenance": "where detections come from",
}
"""The vocabulary of `FileFormat.loses`."""
EVIDENCE = frozenset({"unknownness", "logits", "embedding", "head", "provenance"})
"""What a format has no place for that was made for boxes and scores."""


def file_format(record: FileFormat) -> Callable[[C], C]:
    """Tag a `Format` class as the plug-in that `record` describes."""
    unknown = record.loses - LOSSES.keys()
    if unknown:
        raise UsageError(f"format {record.name!r} loses what LOSSES does not name: {unknown}")
    return tag("format", record)


class Format:
    """Base of the formats: every method that a format leaves out refuses by name."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """What the file holds, or None if it is not of this format.

        Args:
            path: The file or folder.
            head: The first 64 KiB of the file, decompressed, or the sorted names in the folder,
                one per line.
        """
        raise NotImplementedError

    def could_hold(self, path: Path, kind: Kind) -> bool:
        """Whether a file may also be read as the other kind, if that is what is asked for."""
        return False

    def read_annotations(self, path: Path, **options: Any) -> Annotations:
        """Read ground truth."""
        raise self._cannot("read annotations")

    def read_detections(self, path: Path, **options: Any) -> Detections:
        """Read detections."""
        raise self._cannot("read detections")

    def write_annotations(self, table: Annotations, path: Path) -> None:
        """Write ground truth to a path that does not exist yet."""
        raise self._cannot("write annotations")

    def write_detections(
        self, table: Detections, path: Path, truth: Annotations | None = None
    ) -> None:
        """Write detections; `truth` gives names, ids and image sizes where the format needs them.

        Args:
            table: The detections.
            path: A path that does not exist yet.
            truth: The ground truth they belong to.
        """
        raise self._cannot("write detections")

    def _cannot(self, what: str) -> UsageError:
        return UsageError(f"format {record_of(type(self)).name!r} cannot {what}")
