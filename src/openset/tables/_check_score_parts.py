"""Check that no part of the images has scores that begin elsewhere than those of the others.

Two programs wrote the file, one of which cut at a threshold, or put scores through the sigmoid
again: its boxes outrank those of the others, or are missing. Then many images that follow each
other have no low score, and nearly all others have one. A detector that is sure of a picture is not
so of a fifth of them in a row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case, image_name, share
from openset.tables.columns import longest_run

_LOW = 0.25  # a score below which a detector is unsure
_IMAGES, _PART = 20, 0.2  # that follow each other without one, and their share of all
_OTHERS = 0.9  # of the others have one
_MANY = 2  # detections of these images, on average: a single one of a plain picture is sure
_TWICE = 0.7311  # the sigmoid of 1, from that of 0


def scores_in_part(case: Case) -> Iterator[Finding]:
    """The finding that images in a row of the file have no low score, and others have."""
    score, (image, start, _) = case.detections.score, case.runs
    if len(image) < 2 * _IMAGES or not np.isfinite(score).all():
        return
    if len(image) != np.count_nonzero(case.per_image) or image.min() < 0:
        return  # the images of the file are not together
    lowest = np.minimum.reduceat(score, start)
    first, end = longest_run(lowest >= _LOW)
    count, others = end - first, len(image) - (end - first)
    low = np.count_nonzero(lowest < _LOW)
    if count < max(_IMAGES, _PART * len(image)) or low < max(_IMAGES, _OTHERS * others):
        return
    rows = slice(start[first], start[end] if end < len(start) else len(score))
    there = score[rows]
    if len(there) < _MANY * count:
        return
    twice = there.min() >= 0.5 and there.max() <= _TWICE
    cause = "the scores of these images went through the sigmoid twice" if twice else ""
    yield Finding(
        "OS229",
        Level.WARNING,
        f"no score is below {np.floor(100 * there.min() + 1e-6) / 100:.2f} on "
        f"{share(count, len(image), 'images')} that follow each other, and on "
        f"{low / others:.0%} of the others some are below {_LOW:g}",
        count=len(there),
        example=f"image {image_name(case.truth, int(image[first]))}, score {there.min():g}",
        cause=cause,
    )
