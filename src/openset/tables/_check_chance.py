"""Checks that boxes lie on objects by more than chance.

Where no reading fits, the null model is the same boxes on the objects of other images. A detector
that looked at its images meets its own objects better, however weak it is; one whose ids were
shuffled does not. It takes enough images to say so, and a detector with the same boxes everywhere
gets no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of
from openset.tables._look import Array, Look, alike, beside, by_file
from openset.tables.boxes import Convention
from openset.wording import spaced

_NULL = (1000, 15)  # images, and boxes of each
_IMAGES = 30  # fewer prove no shuffle
_SHIFTS = (0.25, 0.5, 0.75)
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
