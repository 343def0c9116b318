"""Scores that tell images apart and not the boxes of one: those of each image were sorted alone.

An easy image has high scores and a hard one low ones, so that all boxes together look ranked. What
was sorted apart from its boxes is not, within any image: a right box outranks one on background in
half of the pairs. Detectors rank boxes of one image about as well as those of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._seen import of_some_images, overlap, under
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.matching.near import FITS, TOUCHES

_BOXES = 10_000  # of some images
_IMAGES, _TELLS = 50, 0.55  # images, and an area up to which scores say nothing
_SIGNIFICANT = 2.0  # deviations, below the area of all boxes
_TIED = 0.5  # of the pairs: a score for all boxes of an image is no order


def within_images(matches: Matches, area: float) -> Finding | None:
    """The finding that scores do not rank boxes of one image; `area` is that of all together."""
    rows, _ = of_some_images(matches)
    rows = rows[np.linspace(0, len(rows) - 1, min(_BOXES, len(rows))).astype(np.int64)]
    right = overlap(matches, "same", rows)[0] >= FITS
    kept = right | (under(matches, rows)[0] < TOUCHES)
    rows, right = rows[kept], right[kept]
    areas, tied = _areas(matches.image[rows], matches.score[rows], right)
    if len(areas) < _IMAGES or tied.mean() > _TIED:
        return None
    mean, deviation = float(areas.mean()), float(areas.std(ddof=1)) / len(areas) ** 0.5
    if mean > _TELLS or mean + _SIGNIFICANT * deviation > area:
        return None
    row = int(rows[right][matches.score[rows[right]].argmin()])
    return Finding(
        "OS332",
        Level.WARNING,
        f"within an image, a box on an object of its class scores higher than one on background in "
        f"{mean:.0%} of pairs, as if by chance, and of all images together in {area:.0%}",
        count=len(areas),
        example=f"image {matches.image_ids[matches.image[row]]}, score {matches.score[row]:g}",
        cause="scores were sorted within each image, and its boxes were not",
    )


def _areas(
    image: NDArray[np.integer], score: NDArray[np.floating], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The area under the ROC curve of each image with both kinds, and the share of tied pairs."""
    order = np.lexsort((score, image))
    image, score, right = image[order], score[order], right[order]
    new = np.append(True, (image[1:] != image[:-1]) | (score[1:] != score[:-1]))[: len(image)]
    tie = np.cumsum(new) - 1
    of = image[new]
    good, bad = np.bincount(tie, right), np.bincount(tie, ~right)
    all_good, all_bad = np.bincount(of, good), np.bincount(of, bad)
    below = np.cumsum(bad) - bad - (np.cumsum(all_bad) - all_bad)[of]
    pairs = all_good * all_bad
    both = pairs > 0
    wins = np.bincount(of, good * (below + bad / 2))[both] / pairs[both]
    return wins, np.bincount(of, good * bad)[both] / pairs[both]
