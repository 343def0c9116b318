"""Listing: how often a benchmark's image list names each image of the ground truth.

Only protocols with ``repeats="listed"`` read it: OWOD's test list names 1,127 images twice and its
evaluator counts them twice. A built benchmark states it by itself, in the image column ``listed``.

Not a choice of images: the list and the ground truth must name the same ones.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from openset.files import load_list
from openset.findings import refuse
from openset.matching.matcher import LISTED
from openset.tables import Annotations
from openset.tables.join import join_images


def as_listed(truth: Annotations, path: str | Path) -> Annotations:
    """The ground truth with the image column ``listed``: on how many lines each image stands."""
    lines = load_list(Path(path))
    ids = truth.images.id
    numbers = ids.dtype.kind in "iu" and all(line.isdigit() for line in lines)
    place = join_images(truth, np.array(lines, ids.dtype if numbers else np.str_))
    times = np.bincount(place[place >= 0], minlength=len(ids))
    for count, what, example in (
        (int((place < 0).sum()), "lines name no image of the ground truth", _first(lines, place)),
        (int((times == 0).sum()), "images are on no line", str(ids[times.argmin()])),
    ):
        if count:
            raise refuse("OS411", f"{path}: {count} {what}", count=count, example=example)
    images = replace(truth.images, attributes={**truth.images.attributes, LISTED: times})
    return replace(truth, images=images)


def _first(lines: list[str], place: np.ndarray) -> str:
    return lines[int((place < 0).argmax())] if len(lines) else ""
