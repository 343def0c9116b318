"""One label for all boxes, on objects of whatever class.

A detector of one class finds that class, and other objects hardly ever; one that was trained or
exported with a single class (`single_cls`), or proposals that were given a class, find anything.
Which it is shows by the objects of the other known classes: the surest boxes do not, since they are
mostly on the most frequent class.
"""

from __future__ import annotations

import numpy as np

from openset.evaluation._seen import best_of_each, of_some_images, under
from openset.findings import Finding, Level
from openset.json_text import compact
from openset.matching import Matches
from openset.matching.near import FITS
from openset.tables.misnaming import SHARE
from openset.wording import spaced

_ENOUGH = 30  # objects of other classes; boxes on objects
_LESS_SURE = 0.25  # of the boxes on objects of the class
_ALIKE, _FOUND = 0.5, 1 / 3  # how often others are found, as a share of its own, and at all


def one_label(matches: Matches) -> Finding | None:
    """The finding that all boxes have one known label, and lie on objects of other classes."""
    used = np.flatnonzero(np.diff(matches.class_start))
    if len(used) != 1 or used[0] == matches.n_known:
        return None
    return _of_no_class(matches, int(used[0])) or _misplaced(matches, int(used[0]))


def _of_no_class(matches: Matches, klass: int) -> Finding | None:
    """Objects of other known classes are found as often as those of the one."""
    rows, chosen = of_some_images(matches)
    iou, best = under(matches, rows)
    objects = matches.objects
    fits = (iou >= FITS) & (best >= 0)
    own = fits & (objects.klass[best] == klass)
    if not own.any():
        return None
    fits &= matches.score[rows] >= np.quantile(matches.score[rows[own]], _LESS_SURE)
    found = np.zeros(len(objects), np.bool_)
    found[best[fits]] = True
    counted = chosen[objects.image] & ~objects.ignored
    other = counted & (objects.klass != klass) & (objects.klass < matches.n_known)
    if np.count_nonzero(other) < _ENOUGH:
        return None
    rate, theirs = (
        float(found[counted & (objects.klass == klass)].mean()),
        float(found[other].mean()),
    )
    if theirs < max(_FOUND, _ALIKE * rate):
        return None
    name = matches.vocabulary.known[klass]
    written = compact({name: "unknown"})
    classes = len(np.unique(objects.klass[other & found]))
    return Finding(
        "OS331",
        Level.WARNING,
        f"all {spaced(len(matches))} boxes are labelled {name}, and find {theirs:.0%} of the "
        f"objects of {classes} other known classes as they find {rate:.0%} of its own",
        count=len(matches),
        example=_first(matches, int(rows[fits & ~own][0])),
        cause="the detector was trained or exported with a single class (single_cls=True), or "
        "these are proposals",
        fix=f"write the class of each box; if there is none, write {written} to a JSON "
        "file: category_ids='FILE' reads all boxes as unknown",
    )


def _misplaced(matches: Matches, klass: int) -> Finding | None:
    """Most of the surest boxes are on objects of other classes.

    So are those of a detector that has learned hardly anything, if the class is a frequent one: a
    note.
    """
    rows = best_of_each(matches, 1)
    iou, best = under(matches, rows)
    on = matches.objects.klass[best[(iou >= FITS) & ~matches.objects.ignored[best]]]
    own, other = int(np.count_nonzero(on == klass)), np.unique(on[on != klass])
    if len(on) < _ENOUGH or SHARE * own >= len(on) or len(other) < 2:
        return None
    name = matches.vocabulary.known[klass]
    objects = np.bincount(matches.objects.klass + 1, minlength=matches.n_known + 1)[1:-1]
    return Finding(
        "OS331",
        Level.NOTE if 2 * objects[klass] >= objects.max() else Level.WARNING,
        f"all {spaced(len(matches))} boxes are labelled {name}, and {len(on) - own} of the "
        f"{len(on)} surest on an object are on objects of {len(other)} other classes",
        count=len(matches),
        example=_first(matches, int(rows[0])),
    )


def _first(matches: Matches, row: int) -> str:
    return f"image {matches.image_ids[matches.image[row]]}, score {matches.score[row]:g}"
