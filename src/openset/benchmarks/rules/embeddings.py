"""Embeddings: images by how much they look like those of another split, to a network's eye.

The embeddings come from you, in an ``.npz`` file with ``names`` (file-name stems) and
``embedding`` (one row each), from whichever network. The similarity of an image is the largest
cosine to an image of an earlier split: FMIYC checks its tiers, near and far, in this way.
"""

from __future__ import annotations

from pathlib import Path, PurePath

import msgspec
import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.pool import Pool, image_names, stems_of
from openset.benchmarks.rules import image_rule
from openset.benchmarks.rules.listed import find_list
from openset.files import load_arrays
from openset.findings import InputError, refuse
from openset.formats.imagesize import SUFFIXES
from openset.plugins import lookup
from openset.tables.columns import positions

_ROWS = 2048  # at a time
_ANEW = "make the file anew: names, and embedding with a row for each"


class Similar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How similar to what.

    Attributes:
        to: The earlier split.
        file: The embeddings, below the source folder.
        least: The smallest cosine to the most similar image.
        below: The cosine that is too much.
    """

    to: str
    file: str
    least: float = -1.0
    below: float = 1.01


@image_rule("similar", Similar)
def similar(pool: Pool, how: Similar) -> NDArray[np.intp]:
    """Images by the largest cosine of their embedding to one of an earlier split."""
    names, unit = read_embeddings(find_list(how.file, pool.files))
    here = image_names(pool.table)[pool.images]
    there = np.array(sorted(stems_of(lookup(pool.done, how.to, "earlier split"))), np.str_)
    best = largest_cosine(
        unit[rows_of(names, here, how.file)], unit[rows_of(names, there, how.file)]
    )
    return pool.images[(how.least <= best) & (best < how.below)]


def read_embeddings(path: Path) -> tuple[NDArray[np.str_], NDArray[np.float32]]:
    """Names and embeddings of length one."""
    try:
        held = load_arrays(path)
        names, rows = held["names"].astype(np.str_), held["embedding"].astype(np.float32)
    except InputError:
        raise
    except (ValueError, KeyError) as error:
        raise refuse("OS903", f"{path} holds no names and embedding: {error}") from error
    if rows.ndim != 2 or len(rows) != len(names):
        said = f"{path}: {len(names)} names, embeddings of shape {rows.shape}"
        raise refuse("OS903", said, cause="a row for each name is expected", fix=_ANEW)
    odd = np.flatnonzero(~(np.isfinite(rows).all(axis=1) & rows.any(axis=1)))
    if len(odd):
        raise refuse(
            "OS903",
            f"{path}: {len(odd)} of {len(rows)} embeddings are not finite, or 0 throughout",
            count=len(odd),
            example=str(names[odd[0]]),
            cause="an overflow in half precision, or rows that were never filled",
            fix=_ANEW,
        )
    return _stems(names), rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _stems(names: NDArray[np.str_]) -> NDArray[np.str_]:
    """Names of pictures without folder and ending, as splits call theirs; others as they are."""
    paths = [(name, PurePath(name)) for name in names.tolist()]
    return np.array([p.stem if p.suffix.lower() in SUFFIXES else n for n, p in paths], np.str_)


def rows_of(names: NDArray[np.str_], wanted: NDArray[np.str_], file: str) -> NDArray[np.int32]:
    """Rows of the embeddings of some images; refused where one has none."""
    rows = positions(names, wanted)
    lost = wanted[rows < 0]
    if len(lost):
        n = len(lost)
        raise refuse("OS910", f"{n} images have no embedding in {file}", count=n, example=lost[0])
    return rows


def largest_cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """For every row of one, the largest cosine to a row of the other."""
    best = np.empty(len(one), np.float32)
    for at in range(0, len(one), _ROWS):
        best[at : at + _ROWS] = (one[at : at + _ROWS] @ other.T).max(axis=1)
    return best
