"""Checks that boxes lie on objects by more than chance.

Where no reading fits, the null model is the same boxes on the objects of other images. A detector
that looked at its images meets its own objects better, however weak it is; one whose ids were
shuffled does not. It takes enough images to say so, and a detector with the same boxes everywhere
gets no verdict. In a small set each image's boxes are tried on all others instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, share
from openset.tables._look import TIGHT, Array, Look, Sample, alike, beside, by_file
from openset.tables.annotations import Annotations
from openset.tables.boxes import TURNS, Convention, sizes
from openset.tables.overlap import iou
from openset.wording import spaced

_NULL = (1000, 15)  # images, and boxes of each
_SHUFFLED, _SMALL = (50, 15), 1500  # likewise for all images of a set of so many objects
_IMAGES = 30  # fewer prove no shuffle
_SHIFTS = (0.25, 0.5, 0.75)
_FEWEST, _TIMES = 8, 3
_BY_CHANCE = 0.03  # mean overlap beyond chance that is as good as none
_SIGNIFICANT = 2.5


def by_chance(case: Case) -> Iterator[Finding]:
    """Detections that meet objects of their images no better than those of other images."""
    ours, sample = Convention.of(case.written.boxes), by_file(case, *_NULL)
    look = beside(case.truth, sample, sample.image)
    known = case.named[case.truth.label[look.objects]]
    count = np.bincount(look.slot[known], minlength=len(sample.ids))
    if np.count_nonzero(count) < _IMAGES or _same_everywhere(look, ours):
        return
    if alike(case.truth, sample, sample.image):
        return
    own, *others = (
        np.bincount(look.slot[known], met.best[known], len(count))[count > 0] / count[count > 0]
        for met in (beside(case.truth, sample, sample.image, s).met(ours) for s in (0, *_SHIFTS))
    )
    chance = np.mean(others, axis=0)
    beyond, deviation = (own - chance).mean(), (own - chance).std(ddof=1) / np.sqrt(len(own))
    if beyond > min(_SIGNIFICANT * deviation, _BY_CHANCE - 2 * deviation):
        return
    yield Finding(
        "OS424",
        Level.ERROR,
        "boxes overlap the objects of their own image no better than those of other images: best "
        f"IoU {own.mean():.2f} and {chance.mean():.2f} on {spaced(len(own))} images examined",
        count=len(case.detections),
        example=case.where(0),
    )


def of_other_images(case: Case) -> Iterator[Finding]:
    """Detections that fit some other image each: ids of a small set that were shuffled.

    An image is fit if half of its objects, two at least, are met tightly. How often any image is
    fit by chance is told by the same boxes mirrored.
    """
    sample, convention = by_file(case, *_SHUFFLED), Convention.of(case.written.boxes)
    sample = sample.of(sample.image >= 0)
    size = sizes(case.truth, sample.image)[sample.slot]
    if len(case.truth) > _SMALL or np.isnan(size).any() or len(sample.ids) < _FEWEST:
        return
    if alike(case.truth, sample, sample.image):
        return
    box = convention.in_pixels(sample.box, size)
    own, other = _fitted(case.truth, sample, box)
    by_chance = sum(_fitted(case.truth, sample, TURNS["mirrored"](box, size)))
    if other >= max(_FEWEST, len(sample.ids) / 4, _TIMES * (max(own, by_chance) + 1)):
        yield Finding(
            "OS424",
            Level.ERROR,
            f"boxes of {share(other, len(sample.ids), 'images examined')} fit the objects of "
            f"another image, and of {spaced(own)} those of their own",
            count=len(case.detections),
            example=case.where(0),
            cause="image ids were shuffled, or belong to another list of the same images",
        )


def _fitted(truth: Annotations, sample: Sample, box: Array) -> tuple[int, int]:
    """How many images of a sample fit their own objects, and how many only those of another."""
    order = np.argsort(truth.image, kind="stable")
    images, start, count = np.unique(truth.image[order], return_index=True, return_counts=True)
    slots = np.flatnonzero(np.diff(sample.first))
    best = np.maximum.reduceat(iou(box, truth.box[order]), sample.first[slots], axis=0)
    met = np.add.reduceat((best >= TIGHT[0]).astype(np.int64), start, axis=1)
    fits = (met >= 2) & (2 * met >= count)
    own = (fits & (images == sample.image[slots, None])).any(axis=1)
    return int(own.sum()), int((fits.any(axis=1) & ~own).sum())


def _same_everywhere(look: Look, ours: Convention) -> bool:
    """Whether most images have the same best box: a baseline that does not look at them."""
    first = look.sample.first[:-1][np.diff(look.sample.first) > 0]
    size = look.size[look.sample.slot[first]]
    box = ours.in_pixels(look.sample.box[first], size)
    return _repeated(box) or _repeated(box / np.tile(size, 2))


def _repeated(box: Array) -> bool:
    """Whether most boxes equal the next one."""
    same = all_of(np.abs(np.diff(box, axis=0)) < 0.01 * box[1:, 2:].max(axis=1, keepdims=True))
    return bool(same.mean() > 0.5)
