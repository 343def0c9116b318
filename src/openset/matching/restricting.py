"""Restricting: the matches of some images, as if the others had never been there.

Exact: matching never crosses images. What a stratum of images (`openset.diagnosis.strata`) and one
of two sets (`openset.tables.sets`) are measured on.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.matching.matches import Matches
from openset.matching.objects import Objects
from openset.tables.sets import ID, Which

NO_OBJECT = np.int32(-1)  # at the end of a table, so that index -1 finds it
OBJECT_COLUMNS = ("object_same", "object_known", "object_unknown", "object")


def part(matches: Matches, which: Which) -> Matches:
    """The matches of one of two sets; all of them where there is but one."""
    if matches.ood is None:
        return matches
    if which not in matches._parts:
        images = ~matches.ood if which == ID else matches.ood
        matches._parts[which] = replace(restrict_images(matches, images), ood=None)
    return matches._parts[which]


def restrict_images(matches: Matches, images: NDArray[np.bool_]) -> Matches:
    """The matches of some images: their detections in the same order, their objects, no others.

    Args:
        matches: Matched detections.
        images: Which images stay.
    """
    if images.shape != (matches.n_images,) or images.dtype != np.bool_:
        raise UsageError(f"expected a mask of {matches.n_images} images, but got {images.shape}")
    kept, keep = matches.on(images), images[matches.objects.image]
    new_image, new_object = _renumbered(images), np.append(_renumbered(keep), NO_OBJECT)
    named = {name: new_object[getattr(kept.columns, name)] for name in OBJECT_COLUMNS}
    return replace(
        kept,
        image_ids=matches.image_ids[images],
        wild=matches.wild[images],
        objects=_on_images(matches.objects, images),
        excusing=_on_images(matches.excusing, images),
        image=new_image[kept.image],
        columns=kept.columns._replace(**named),
        ood=_of_images(matches.ood, images),
        weights=_of_images(matches.weights, images),
        object_weights=_of_images(matches.object_weights, images),
        groups=_of_images(matches.groups, images),
        _outcomes={},
        _parts={},
    )


def _on_images(objects: Objects, images: NDArray[np.bool_]) -> Objects:
    """The objects of some images, which are counted anew."""
    keep = images[objects.image]
    columns = {item.name: getattr(objects, item.name)[keep] for item in fields(objects)}
    return Objects(**{**columns, "image": _renumbered(images)[columns["image"]]})


def _renumbered(keep: NDArray[np.bool_]) -> NDArray[np.int32]:
    """New index of everything kept."""
    return np.asarray(np.cumsum(keep) - 1, np.int32)


def _of_images(column: NDArray[Any] | None, images: NDArray[np.bool_]) -> NDArray[Any] | None:
    return None if column is None else column[images]
