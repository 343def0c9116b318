"""Checks that boxes and image ids were read as they were written.

A detector that finds nothing is more often a file that is read wrongly: corners for sizes, boxes of
a resized picture, places in a list for ids. Such files are plausible by themselves, so they are
held against the objects: on some images, how many objects does a box meet tightly, as the file is
read and as it might be read? A reading that meets three times as many is named, and refused until
it is asked for; so is one map of all boxes, such as an offset. Where no reading fits, two mistakes
may have been made at once, or a part of the file may be another (`_check_parts`), or all of it may
lie on objects by chance (`_check_chance`).

Not a judgement of labels or scores: classes play no part, but that objects of classes that the
detector never names prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case, object_at, share
from openset.tables._check_chance import by_chance
from openset.tables._check_parts import First, in_part
from openset.tables._look import TIGHT, Look, Met, Sample, beside, by_file
from openset.tables._readings import (
    Reading,
    behind_confidence,
    fitting,
    misnamed_columns,
    moved_boxes,
    other_boxes,
    other_ids,
    other_truth,
    turned_edges,
    two_mistakes,
)
from openset.tables._squared import squared
from openset.tables._thumbnails import resized_truth
from openset.tables.boxes import Convention
from openset.wording import spaced

_TIMES, _FEWEST = 3, 8  # how many times more objects another reading must meet, and at least
_FREELY = 1.25
# Readings of ids that are one off, and images that fit as they are before those that do not.
_ONE_OFF = tuple(f"image_ids={one!r}" for one in ("plus-1", "minus-1", "index", "index-1"))
_BEFORE = 2
_OTHERS = 150, 20  # images, and boxes of each, for other readings


def read_otherwise(case: Case) -> Iterator[Finding]:
    """Findings about files that another reading fits, as a whole or in a part, or none."""
    if min(len(case.truth), len(case.detections)) < _FEWEST:
        return
    seen = First.of(case)
    if _healthy(case, seen.met):
        yield from in_part(case, seen)
    else:
        yield from [*_as_a_whole(case)] or [*in_part(case, seen)] or by_chance(case)


def _as_a_whole(case: Case) -> Iterator[Finding]:
    sample = by_file(case, *_OTHERS)
    look = beside(case.truth, sample, sample.image)
    now = look.met(Convention.of(case.written.boxes))
    others = [*misnamed_columns(case, look), *other_boxes(case, look)]
    others += behind_confidence(case, look)
    others += [*turned_edges(case, look), *other_ids(case, sample), *other_truth(case, sample)]
    best = fitting(now, sample, others)
    of_truth = [*resized_truth(case, sample, look, now, best)]
    if of_truth:
        yield from of_truth
        return
    moved = fitting(now, sample, [*moved_boxes(case, look)])
    fits = [one.met.tight()[0] for one in (best, moved) if one is not None]
    resized = [*squared(case, sample, look, int(_FREELY * max(fits, default=0)))]
    if resized:
        yield from resized
        return
    if moved is not None and _common(moved, look):
        best = moved if best is None or _by_far(moved, best) else best
    best = best or fitting(now, sample, [*two_mistakes(case, sample)])
    if best is not None:
        yield _from_there_on(case, sample, now, best) or _named(case, now, best)


def _common(moved: Reading, look: Look) -> bool:
    """Whether a map fits upright pictures and others alike: else it is one of the sizes."""
    upright = look.size[:, 0] < look.size[:, 1]
    met, could = moved.met.images(TIGHT[0]), moved.met.could
    counts = [(int(met[of].sum()), int(could[of].sum())) for of in (upright, ~upright)]
    rates = [part / of for part, of in counts if of >= _TIMES * _FEWEST]
    return len(rates) < 2 or _TIMES * min(rates) >= max(rates)


def _by_far(moved: Reading, best: Reading) -> bool:
    """Whether a map, which has numbers to choose, fits better than what needs none."""
    return moved.met.tight()[0] >= _FREELY * best.met.tight()[0]


def _healthy(case: Case, met: Met) -> bool:
    """Whether so many objects are met that no other reading could meet three times as many."""
    by_chance = met.possible < _FEWEST and 2 * case.per_image[-1] > len(case.detections)
    return _TIMES * (met.tight()[0] + 1) > met.possible and not by_chance


def _from_there_on(case: Case, sample: Sample, now: Met, best: Reading) -> Finding | None:
    """The finding that ids are one off from an image on, where those before it fit as they are."""
    if best.option not in _ONE_OFF:
        return None
    gained = np.cumsum(now.fits().astype(np.int64) - best.met.fits())
    at = int(gained.argmax())
    if gained[at] < _BEFORE:
        return None
    fit = int(np.count_nonzero(best.met.fits()[at + 1 :]))
    row = int(sample.row[np.searchsorted(sample.slot, at, side="right")])
    return Finding(
        "OS448",
        Level.ERROR,
        f"boxes of {share(fit, len(sample.ids), 'images examined')} fit only if image ids are "
        f"{best.meaning}, and those of {spaced(int(now.fits()[: at + 1].sum()))} before them as "
        "they are",
        count=fit,
        example=case.where(row),
        cause="a list of images lacks one that another has: from there on, ids are off",
    )


def _named(case: Case, now: Met, best: Reading) -> Finding:
    kind = best.kind
    of_truth = best.truth is not case.truth
    met = share(best.met.tight()[0], len(best.met.best), "objects examined")
    return Finding(
        best.code,
        Level.ERROR,
        f"{met} meet a detected box at IoU {TIGHT[0]:g} if {kind} are read in another way, and "
        f"{spaced(now.tight()[0])} as they are read",
        count=len(case.truth if of_truth else case.detections),
        example=object_at(case.truth, 0) if of_truth else case.where(0),
        cause=f"the {kind} are {best.meaning}{_each_its_own(best)[0]}",
        fix=f"{_each_its_own(best)[1]}{best.option} reads them{_or_sizes(best)}; force=True "
        "evaluates as they are"
        if best.option
        else "",
    )


def _each_its_own(best: Reading) -> tuple[str, str]:
    """What to say where one factor fits few, and no image has a size that would tell its own."""
    one = best.convention
    unsized = not np.isfinite(best.truth.images.width).any()  # type: ignore[arg-type]
    few = _TIMES * (best.met.tight()[0] + 1) <= best.met.possible
    if not (isinstance(one, Convention) and one.frame == "scaled" and unsized and few):
        return "", ""
    return (
        ", or each of its own factor, as where shorter sides were resized",
        "divide the boxes of each picture by its factor; if that is one for all, ",
    )


def _or_sizes(best: Reading) -> str:
    """The other file that may be wrong: objects are scaled by the sizes of their images, too."""
    if not isinstance(best.convention, Convention) or best.convention.frame != "crossed":
        return ""
    return (
        ", if they are wrong; else exchange width and height in the sizes of the ground truth, "
        "which has those of photographs before their EXIF tag turns them"
    )
