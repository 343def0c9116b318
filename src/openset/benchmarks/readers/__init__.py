"""Readers: annotation files of single data sets, in the layout they are published in.

Formats that many data sets share are in `openset.formats`; a file here is one data set. A reader is
a function under `reader`, from a path to `Annotations`; a source names it as its ``format``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from openset.plugins import discover, record_of, tag

if TYPE_CHECKING:
    from openset.tables import Annotations

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Reader:
    """The name of a reader, and whether it reads folders."""

    name: str
    folder: bool


def reader(name: str, *, folder: bool) -> Callable[[F], F]:
    """Make a function of a path and options a reader, under a name."""
    return tag("reader", Reader(name, folder))


def find(name: str | None, path: Path) -> Callable[..., Annotations] | None:
    """The reader of a name, unless it reads folders and this is a file, or the reverse."""
    found = discover(__name__, "reader").get(name or "")
    return found if found is not None and record_of(found).folder == path.is_dir() else None


def table_of(
    images: list[tuple[str, float, float]],
    objects: list[tuple[int, str, list[float]]],
    listed: Iterable[str] = (),
) -> Annotations:
    """A table of images (file name, width, height) and objects (image, label, box).

    Args:
        images: One tuple each.
        objects: One tuple each; the box is x, y, width, height.
        listed: Labels of the data set, whether an object has them or not.
    """
    from openset.tables import Annotations, Images

    labels = sorted({label for _, label, _ in objects} | set(listed))
    column = {label: index for index, label in enumerate(labels)}
    names = [Path(name).stem for name, _, _ in images]
    return Annotations(
        images=Images(
            id=np.array(names, np.str_),
            file_name=np.array([name for name, _, _ in images], np.str_),
            width=np.array([width for _, width, _ in images], np.float64),
            height=np.array([height for _, _, height in images], np.float64),
        ),
        labels=tuple(labels),
        image=np.array([image for image, _, _ in objects], np.int32),
        label=np.array([column[label] for _, label, _ in objects], np.int32),
        box=np.array([box for _, _, box in objects], np.float64).reshape(-1, 4),
    )
