"""Lists: images by name, from a published list or from other splits.

A list is a text file with one image a line, plain or gzip: a file name's stem or an image id, as
Pascal VOC and its descendants write them. A line that occurs twice is one image; how often it
occurs becomes the image column ``listed``, for protocols that count repeated lines; the audit
names them. ``file.yaml#KEY/KEY`` is a list inside of a YAML file, with all lists below that key: so
FMIYC's authors keep the images that they picked by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.pool import Pool, are_called, image_names
from openset.benchmarks.rules import image_rule
from openset.files import load_list, load_text, parse_yaml
from openset.findings import InputError, refuse
from openset.matching.matcher import LISTED
from openset.plugins import lookup
from openset.tables import Annotations
from openset.tables.columns import positions

Names = str | list[str]


class Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Image lists, and whether the data may lack some of their images.

    Attributes:
        files: The lists.
        partial: Leave out what no source has; it is counted.
    """

    files: Names
    partial: bool = False


@image_rule("listed", Names | Lists)
def listed(pool: Pool, files: str | Sequence[str] | Lists) -> NDArray[np.intp]:
    """Images of a text file, in its order; several files follow each other."""
    lists = files if isinstance(files, Lists) else Lists([*_many(files)])
    wanted = _wanted(_many(lists.files), pool.files)
    rows = rows_of(pool.table, wanted)
    if not lists.partial:
        _refuse_lost(rows, wanted, f"images of {_many(lists.files)[0]}")
    rows = rows[rows >= 0]
    there = np.zeros(len(pool.table.images), np.bool_)
    there[pool.images] = True
    return rows[there[rows]].astype(np.intp)


@image_rule("but", Names)
def but(pool: Pool, images: str | Sequence[str]) -> NDArray[np.intp]:
    """All images but these, called by file-name stem or id: duplicates, say, that others show."""
    wanted = np.array(_many(images), np.str_)
    rows = rows_of(pool.table, wanted)
    _refuse_lost(rows, wanted, "images to leave out")
    return pool.images[~np.isin(pool.images, rows)]


@image_rule("not_listed", Names)
def not_listed(pool: Pool, files: str | Sequence[str]) -> NDArray[np.intp]:
    """Images that no text file lists; a file may list images that no source has."""
    rows = rows_of(pool.table, _wanted(_many(files), pool.files))
    named = np.zeros(len(pool.table.images), np.bool_)
    named[rows[rows >= 0]] = True
    return pool.where(~named)


def _wanted(files: Sequence[str], folders: Sequence[Path]) -> NDArray[np.str_]:
    """The lines of lists, each once."""
    return np.array(list(dict.fromkeys(lines_of(files, folders))), np.str_)


def rows_of(table: Annotations, names: NDArray[np.str_]) -> NDArray[np.int32]:
    """Where images are, by file name's stem or else by id; -1 where they are not."""
    rows = positions(image_names(table), names)
    by_id = positions(table.images.id.astype(np.str_), names)
    return np.where(rows < 0, by_id, rows).astype(np.int32)


def _refuse_lost(rows: NDArray[np.int32], names: NDArray[np.str_], what: str) -> None:
    lost = np.flatnonzero(rows < 0)
    if len(lost):
        said = f"{len(lost)} of {len(names)} {what} are in no source"
        raise refuse("OS910", said, count=len(lost), example=str(names[lost[0]]))


def absent(table: Annotations, files: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Images that lists name and a table lacks."""
    wanted = _wanted(files, folders)
    return wanted[rows_of(table, wanted) < 0].tolist()


def with_times(table: Annotations, files: Sequence[str], folders: Sequence[Path]) -> Annotations:
    """The table with the image column ``listed``, if lists name one of its images twice."""
    lines = Counter(lines_of(files, folders))
    if max(lines.values(), default=1) == 1:
        return table
    names, ids = image_names(table).tolist(), table.images.id.astype(np.str_).tolist()
    times = [lines[name] or lines[id_] for name, id_ in zip(names, ids, strict=True)]
    column = {LISTED: np.array(times, np.int64)}
    images = replace(table.images, attributes={**table.images.attributes, **column})
    return replace(table, images=images)


@image_rule("not_in", Names)
def not_in(pool: Pool, splits: str | Sequence[str]) -> NDArray[np.intp]:
    """Images that none of these earlier splits has."""
    return pool.where(~are_called(pool.table, _names_of(pool, splits)))


@image_rule("among", Names)
def among(pool: Pool, splits: str | Sequence[str]) -> NDArray[np.intp]:
    """Images that one of these earlier splits has."""
    return pool.where(are_called(pool.table, _names_of(pool, splits)))


def _names_of(pool: Pool, splits: str | Sequence[str]) -> set[str]:
    return set().union(*(lookup(pool.done, name, "earlier split") for name in _many(splits)))


def _many(names: str | Sequence[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else names


def lines_of(names: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """The lines of lists, one after the other."""
    found: list[str] = []
    for name in names:
        path, (_, _, keys) = find_list(name, folders), name.partition("#")
        found += _inside(path, keys) if keys else load_list(path)
    return found


def _inside(path: Path, keys: str) -> list[str]:
    """All entries below a key of a YAML file."""
    try:
        # As text: an id of Open Images such as 0010 or 1e5 is no number.
        held = parse_yaml(load_text(path), as_text=True)
    except InputError:
        raise
    except ValueError as error:
        raise refuse("OS102", f"cannot read {path}: {error}") from error
    for key in keys.split("/"):
        held = lookup(held if isinstance(held, dict) else {}, key, f"key of {path.name}:")
    return list(_entries(held))


def _entries(held: object) -> Iterator[str]:
    if isinstance(held, dict | list):
        for one in held.values() if isinstance(held, dict) else held:
            yield from _entries(one)
    elif held:
        yield str(held)


def find_list(name: str, folders: Sequence[Path]) -> Path:
    """The file of a list, plain or gzip, in the first folder that has it."""
    path = place_of(name, folders)
    if path is not None:
        return path
    places = ", ".join(str(folder) for folder in folders[:3])
    raise refuse("OS902", f"no image list {name.partition('#')[0]}", example=f"looked in {places}")


def place_of(name: str, folders: Sequence[Path]) -> Path | None:
    """Where a list lies, if anywhere."""
    file = name.partition("#")[0]
    places = (folder / f"{file}{ending}" for folder in folders for ending in ("", ".gz"))
    return next((path for path in places if path.is_file()), None)
