"""A known class that stands for "unknown": its number is the one that the detector says unknown by.

Where the detector counts "unknown" after its own classes, and the ground truth has a class under
that number, every box that says unknown is of that class: an open-set error on each unknown object,
and the class itself is lost. It shows by what the boxes are on: objects of all the classes that no
other label names, and hardly ever those that one does. A class that takes unknown objects for its
own takes some kinds of them, and shares them with others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._seen import of_some_images, under
from openset.findings import Finding, Level
from openset.json_text import compact
from openset.matching import Matches
from openset.matching.near import FITS
from openset.wording import spaced

_ENOUGH, _LABELS = 50, 5  # objects that no other label names, and labels of them that are found
_LESS_SURE = 0.25  # of the boxes on objects of the class
# A share of these objects that boxes of the class find, and times as often as other labels do, and
# as it finds objects that these name. Of real detectors of VOC's classes on COCO it is 3 %, a third
# as often; where unknown boxes are given a known number, 60 %, 2.3 times as often.
_FOUND, _TIMES = 0.2, 2


def known_for_unknown(matches: Matches) -> Finding | None:
    """The finding that one known class is said of all that no other label names."""
    sizes = np.diff(matches.class_start)[: matches.n_known]
    if matches.known_end < len(matches) or np.count_nonzero(sizes) < 2:
        return None
    klass, objects = int(sizes.argmax()), matches.objects
    rows, chosen = of_some_images(matches)
    counted = chosen[objects.image] & ~objects.ignored & (objects.klass >= 0)
    named = np.append(sizes > 0, False)[objects.klass]
    unnamed, others = counted & ~named, counted & named & (objects.klass != klass)
    if min(np.count_nonzero(unnamed), np.count_nonzero(others)) < _ENOUGH:
        return None
    own, other = _found(matches, rows, klass)
    share = float(own[unnamed].mean())
    most = max(float(own[others].mean()), float(other[unnamed].mean()))
    kinds = len(np.unique(objects.label[unnamed & own]))
    if share < max(_FOUND, _TIMES * most) or kinds < min(
        _LABELS, len(np.unique(objects.label[unnamed]))
    ):
        return None
    name = matches.vocabulary.known[klass]
    level = Level.ERROR if kinds >= _LABELS else Level.WARNING  # few may all be like the class
    row = int(matches.class_start[klass])
    return Finding(
        "OS350",
        level,
        f"{spaced(int(sizes[klass]))} boxes are labelled {name}, find {share:.0%} of "
        f"{spaced(int(np.count_nonzero(unnamed)))} objects that no other label names, and "
        f"{float(own[others].mean()):.0%} of those that one does",
        count=int(sizes[klass]),
        example=f"image {matches.image_ids[matches.image[row]]}, score {matches.score[row]:g}",
        cause=f'the detector says "unknown" by a number that is the one of {name} in the ground '
        "truth",
        fix='number "unknown" otherwise where the file is written; '
        f"{compact({name: 'unknown'})} in a JSON file reads all of them as unknown: "
        "category_ids='FILE'" + ("; force=True evaluates as it is" if level is Level.ERROR else ""),
    )


def _found(
    matches: Matches, rows: NDArray[np.int64], klass: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which objects boxes of the class find, and which boxes of other labels, if they are sure."""
    iou, best = under(matches, rows)
    fits = (iou >= FITS) & (best >= 0)
    mine = matches.class_at(rows) == klass
    right = fits & mine & (matches.objects.klass[best] == klass)
    sure = np.quantile(matches.score[rows[right]], _LESS_SURE) if right.any() else 0.0
    fits &= matches.score[rows] >= sure
    own, other = (np.zeros(len(matches.objects), np.bool_) for _ in range(2))
    own[best[fits & mine]] = True
    other[best[fits & ~mine]] = True
    return own, other
