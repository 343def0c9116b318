"""Checks of files that go through their images more than once: what was put one after the other.

Two detectors in one file, or a second pass over mirrored pictures that was not turned back: each
pass is right by itself, so that the file looks like a detector that says everything twice. Passes
show by the order of images. Boxes of two detectors lie on each other across passes, which those of
one do not within its own: suppression has seen to that. Known classes first and "unknown" after
them are two passes as well, of different labels, and raise nothing.

Sorted afterwards, such a file has no passes, but still two boxes on an object and hardly ever
three: whoever suppresses up to some overlap leaves none beyond it, one who does not leaves many,
and a soft suppression leaves lower scores.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, share
from openset.tables._check_parts import misread
from openset.tables._look import LOOSE, Array, Index, Sample, beside, by_file, of_one_class
from openset.tables._pairs import pairs
from openset.tables.boxes import Convention, sizes
from openset.tables.join import ABSENT
from openset.tables.overlap import iou_of_pairs

_IMAGES = 20  # fewer prove no pass
_PASSES = 8
_MOST = 0.5  # of the images, that each pass has
_SAMPLE = 150, 20  # images, and boxes of each pass
_TWIN, _TWINS, _TIMES = 0.7, 0.05, 3  # IoU; share of boxes; and times those within one pass
# Likewise without passes: boxes of an image that are examined, scores that are alike, and that are
# not negligible; shares of the boxes on objects with a twin, with one nearly on them, and of those
# with two twins that are twins of each other.
_BEST, _SCORES, _LEAST = 40, 0.5, 0.2
_TOP, _OFTEN, _NEARLY_ON, _THREE = 0.85, 0.2, 0.05, 0.1


def in_passes(case: Case) -> Iterator[Finding]:
    """The finding about what was put one after the other, or none."""
    start = _passes(case)
    if len(start) < 2:
        return
    sample = by_file(case, _SAMPLE[0], _SAMPLE[1] * len(start))
    sample = sample.only(case.joined.klass[sample.row] != ABSENT)  # those take no part
    of = np.searchsorted(start, sample.row, side="right") - 1
    if len(np.unique(of)) > 1:
        yield from [*_turned(case, sample, of)] or _together(case, sample, of)


def sorted_together(case: Case) -> Iterator[Finding]:
    """The finding that objects have two boxes, and not three, of a file without passes."""
    sample = by_file(case, _SAMPLE[0], _BEST)
    size = sizes(case.truth, sample.image)[sample.slot]
    box = Convention.of(case.written.boxes).in_pixels(sample.box, size)
    score = case.detections.score[sample.row]
    best = _on_objects(case, sample)
    best = best[_LEAST * score[best] >= _lowest(case, sample.image)[sample.slot[best]]]
    if len(best) < 2 * _IMAGES:
        return
    one, other, overlap = _twins(case, sample, box)
    low, high = np.minimum(score[one], score[other]), np.maximum(score[one], score[other])
    alike, counts = low >= _SCORES * high, low >= _LEAST * high
    two = _share(best, one[alike], other[alike])
    near = alike & (overlap > _TOP)
    if two < _OFTEN or _share(best, one[near], other[near]) < _NEARLY_ON:
        return
    if _of_three(best, one[counts], other[counts]) > _THREE * two:
        return
    count = round(two * len(best))
    yield Finding(
        "OS232",
        Level.WARNING,
        f"{share(count, len(best), 'boxes examined that are on objects of their class')} have a "
        f"twin (IoU {_TWIN:g}, the same label, a like score), and hardly any has two",
        count=count,
        example=case.where(int(sample.row[best[np.isin(best, one[alike])][0]])),
        cause="the results of two detectors, epochs or scales were put into one file, and sorted",
        fix="give each detector a file of its own, or suppress what overlaps; nothing, if one "
        "detector is meant to find everything twice",
    )


def _lowest(case: Case, images: NDArray[np.int32]) -> Array:
    """The score down to which boxes of some images are in the file: a cut takes third boxes away.

    That of the file, or of the image where it has as many as the fullest: it may have been capped.
    """
    score, (image, start, _) = case.detections.score, case.runs
    fullest = case.per_image[:-1].max(initial=0)
    full = np.zeros(len(case.per_image), np.bool_)
    full[images] = case.per_image[images] == fullest
    full[-1] = False  # of no image
    least = np.minimum.reduceat(score, start)  # of each run
    lowest = np.full(len(full), least[image >= 0].min(initial=np.inf))
    lowest[full] = np.inf
    kept = full[image]
    np.minimum.at(lowest, image[kept], least[kept])
    return lowest[images]


def _on_objects(case: Case, sample: Sample) -> Index:
    """The best box of each known object that has one of its class."""
    look = of_one_class(case, beside(case.truth, sample, sample.image))
    own = case.joined.klass[sample.row][look.by]
    fits = (own >= 0) & (own < len(case.vocabulary.known))
    fits &= look.overlap(Convention.of(case.written.boxes)) >= LOOSE
    best = np.full(len(look.objects), len(sample.row))
    np.minimum.at(best, look.at[fits], look.by[fits])  # boxes of an image are the best first
    return np.unique(best[best < len(sample.row)])


def _twins(case: Case, sample: Sample, box: Array) -> tuple[Index, Index, Array]:
    """Pairs of boxes of one image and label that are on each other, and their overlap."""
    label = case.detections.label[sample.row]
    one, other = pairs(sample.slot * (1 + int(label.max(initial=0))) + label)
    overlap = iou_of_pairs(box.take(one, axis=0), box.take(other, axis=0))
    twins = overlap > _TWIN
    one, other, overlap = one[twins], other[twins], overlap[twins]
    apart = np.abs(box[one] - box[other]).max(axis=1, initial=0) > 1  # copies are another finding
    return one[apart], other[apart], overlap[apart]


def _share(best: Index, one: Index, other: Index) -> float:
    """How many of the best boxes are of a pair."""
    return float(np.isin(best, np.append(one, other)).mean())


def _of_three(best: Index, one: Index, other: Index) -> float:
    """How many of the best boxes have two twins that are twins of each other."""
    start, end = np.append(one, other), np.append(other, one)
    kept = np.isin(start, best)
    start, end = start[kept], end[kept]
    first, second = pairs(start)
    size = 1 + int(max(one.max(initial=0), other.max(initial=0)))
    linked = np.append(one * size + other, other * size + one)
    three = np.isin(end[first] * size + end[second], linked)
    return float(np.isin(best, start[first[three]]).mean())


def _passes(case: Case) -> Index:
    """The first row of each pass through the images; one of files that have no order."""
    image, start, _ = case.runs
    images = int(np.count_nonzero(case.per_image[:-1]))
    one = np.zeros(1, np.int64)
    if images < _IMAGES or not 1.5 * images <= len(image) <= _PASSES * images:
        return one
    order = np.lexsort((np.arange(len(image)), image))
    again = image[order][1:] == image[order][:-1]
    before = np.full(len(image), -1)
    before[order[1:][again]] = order[:-1][again]
    first = [0]
    while len(first) <= _PASSES:
        seen = before[first[-1] + 1 :] >= first[-1]
        if not seen.any():
            break
        first.append(first[-1] + 1 + int(seen.argmax()))
    whole = np.diff([*first, len(image)]).min() >= _MOST * images
    return start[first].astype(np.int64) if whole and len(first) <= _PASSES else one


def _turned(case: Case, sample: Sample, of: Index) -> Iterator[Finding]:
    """A pass whose boxes lie on objects only if they are read in another way."""
    for one in np.unique(of):
        best = misread(case, sample.only(of == one))
        if best is None:
            continue
        met = share(best.met.tight()[0], len(best.met.best), "objects examined")
        yield Finding(
            "OS231",
            Level.ERROR,
            f"the file goes through its images {of.max() + 1} times, and boxes of one pass meet "
            f"{met} only if they are read in another way",
            count=len(case.detections),
            example=case.where(int(sample.row[of == one][0])),
            cause=f"the boxes of that pass are {best.meaning}",
        )
        return


def _together(case: Case, sample: Sample, of: Index) -> Iterator[Finding]:
    """Boxes of one label on top of each other across passes, and not within one."""
    size = sizes(case.truth, sample.image)[sample.slot]
    box = Convention.of(case.written.boxes).in_pixels(sample.box, size)
    one, other, _ = _twins(case, sample, box)
    across = of[one] != of[other]
    count, within = (len(np.unique(other[kind])) for kind in (across, ~across))
    if count >= max(_IMAGES, _TWINS * len(of), _TIMES * within):
        yield Finding(
            "OS232",
            Level.ERROR,
            f"the file goes through its images {of.max() + 1} times, and "
            f"{share(count, len(of), 'detections examined')} overlap one of another pass and the "
            f"same label at IoU {_TWIN:g}, {within} one of their own",
            count=len(case.detections),
            example=case.where(int(sample.row[other[across].min()])),
        )
