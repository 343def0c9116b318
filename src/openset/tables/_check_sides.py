"""Width and height of images, exchanged: objects end where only the turned image still reaches.

Arrays have their height first and files their width, so that one is easily written for the other.

Each oblong image says something by those of its objects that fit it in one way only. A few boxes
beyond their image are no such thing: in an honest file, others reach as far as its longer side.
Single images that are turned are not told from those whose objects were annotated beyond the
border; but where a tool left aside what EXIF says of the orientation of photos, all that stand on
their shorter side are turned, and none of the others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import all_of, first, object_at, share
from openset.tables.annotations import Annotations

_FEWEST = 3  # images that say so, from which it is no slip
_SHARE = 0.1  # of the oblong images with objects, likewise
_AGAINST = 0.05  # images that say the contrary, for each one that says so
_LYING = 8  # images of one orientation that say so, where those of the other do not
_SAMPLE = 2_000  # objects that are looked at first
_SLACK, _PIXEL = 1.02, 1.0  # what rounding, and boxes that are not clipped, may add


def exchanged(truth: Annotations) -> bool:
    """Whether images have their height as width, and their width as height."""
    return any(sides(truth))


def sides(truth: Annotations) -> Iterator[Finding]:
    """The finding that sizes are exchanged, if so."""
    if not _fits(truth, slice(None, None, -(-len(truth) // _SAMPLE) or 1))[1].any():
        return  # nearly always: none of the objects that are looked at says so
    turned, upright, oblong = (np.flatnonzero(mask) for mask in _images(truth))
    few = len(turned) < max(_FEWEST, _SHARE * len(oblong))
    if few or len(upright) > _AGAINST * len(turned):
        return
    row = first((truth.image == turned[0]) & _fits(truth)[1])
    width, height = _sides(truth)[turned[0]]
    yield Finding(
        "OS219",
        Level.ERROR,
        f"{share(len(turned), len(oblong), 'images')} that are not square have objects beyond them "
        "that fit when width and height are exchanged",
        count=len(turned),
        example=f"{object_at(truth, row)}, in {width:g} x {height:g}",
    )


def lying(truth: Annotations) -> Iterator[tuple[Finding, NDArray[np.bool_]]]:
    """The finding that all images of one orientation are turned, and which images these are."""
    if not _fits(truth, slice(None, None, -(-len(truth) // _SAMPLE) or 1))[1].any():
        return  # nearly always
    turned, upright, oblong = _images(truth)
    width, height = _sides(truth).T
    for kind, these in (("higher than wide", height > width), ("wider than high", width > height)):
        count, others = np.count_nonzero(turned & these), np.count_nonzero(upright & ~these)
        least = max(_LYING, _SHARE * np.count_nonzero(oblong & these))
        if min(count, others) < least or (upright & these).sum() > _AGAINST * count:
            continue
        image = first(turned & these)
        row = first((truth.image == image) & _fits(truth)[1])
        found = Finding(
            "OS251",
            Level.ERROR,
            f"{count} of {np.count_nonzero(oblong & these)} images that are {kind} have objects "
            "beyond them that fit when width and height are exchanged, and images of the other "
            "shape have not",
            count=int(count),
            example=f"{object_at(truth, row)}, in {width[image]:g} x {height[image]:g}",
        )
        yield found, these
        return


def _images(truth: Annotations) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Images whose objects fit exchanged sides alone, those alone that are stated, and all."""
    stated, other = _fits(truth)
    size = len(truth.images)
    votes = [np.bincount(truth.image[mask], minlength=size) > 0 for mask in (stated, other)]
    width, height = _sides(truth).T
    there = np.bincount(truth.image, minlength=size) > 0
    oblong = there & np.isfinite(width + height) & (width != height)
    return votes[1] & ~votes[0] & oblong, votes[0] & ~votes[1] & oblong, oblong


def _fits(
    truth: Annotations, rows: slice = slice(None)
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Objects that fit their image as it is stated alone, and with exchanged sides alone."""
    limit = _SLACK * _sides(truth)[truth.image[rows]] + _PIXEL
    end = truth.box[rows, :2] + truth.box[rows, 2:]
    stated, other = all_of(end <= limit), all_of(end <= limit[:, ::-1])
    return stated & ~other, other & ~stated


def _sides(truth: Annotations) -> NDArray[np.float64]:
    """Width and height of each image; what is not positive is not known."""
    assert truth.images.width is not None
    assert truth.images.height is not None
    size = np.column_stack([truth.images.width, truth.images.height]).astype(np.float64)
    return np.where(size > 0, size, np.nan)
