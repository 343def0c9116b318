"""Check that names of images are those of one image: cameras, and films, number theirs alike.

A detector that wrote 0001, or 0001.jpg, where the ground truth has cam1/0001.jpg and cam2/0001.jpg,
has put the boxes of several images under one name; which are whose cannot be told any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, first, share
from openset.tables.paths import name_of, stem_of
from openset.wording import spaced

_MOST = 0.5  # of the detections that are on no image


def of_several_images(case: Case) -> Iterator[Finding]:
    """The finding that detections have a file name, or a stem, which several images have."""
    absent, ids = case.joined.image < 0, case.written.detections.image
    names = case.truth.images.file_name
    names = case.truth.images.id if names is None else names
    if not absent.any() or ids.dtype.kind not in "UT" or names.dtype.kind not in "UTO":
        return
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]) & absent)
    given = np.unique(ids[starts]).tolist()
    paths = list(map(str, names.tolist()))
    for of in (name_of, stem_of):
        times = Counter(map(of, paths))
        several = [one for one in given if times[one] > 1]
        named = np.count_nonzero(np.isin(ids, [one for one in given if times[one]]))
        if several and named >= _MOST * np.count_nonzero(absent):
            yield from _said(case, several, [p for p in paths if of(p) in {*several}], ids, of)
            return


def _said(
    case: Case, several: list[str], paths: list[str], ids: NDArray[Any], of: Callable[[str], str]
) -> Iterator[Finding]:
    both = [path for path in paths if of(path) == several[0]]
    if both[0] == both[1]:  # one name for all, or images twice
        return
    rows = np.isin(ids, several)
    yield Finding(
        "OS471",
        Level.ERROR,
        f"{share(int(np.count_nonzero(rows)), len(rows), 'detections')} have a name that several "
        f"images have, in different folders: {spaced(len(several))} names of "
        f"{spaced(len(paths))} images",
        count=int(np.count_nonzero(rows)),
        example=f"{case.where(first(rows))}; {several[0]} is {both[0]} and {both[1]}",
        fix=f"write the path of each image below their common folder ({both[0]}), or its id",
    )
