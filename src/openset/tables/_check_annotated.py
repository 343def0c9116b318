"""Checks of what was annotated: regions that should be objects, unknown objects on a part alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, first, image_name, object_at, orders, share
from openset.tables._check_join import ends_at, whole_films
from openset.tables._look import TIGHT, beside, by_file
from openset.tables.annotations import Annotations
from openset.tables.boxes import Convention
from openset.tables.groups import groups_of, units
from openset.tables.sets import ood_images
from openset.tables.vocabulary import Role, Vocabulary
from openset.wording import spaced

_OBJECTS, _CROWDS = 50, 0.4  # objects, and the share that are crowds; of COCO it is 1 %
# Crowds examined against single objects: their share, images and boxes of each, a score, those that
# a box fits, and how often that is, as a share of the others. Of COCO's crowds it is a tenth, of
# what VOC calls difficult a quarter.
_SOME, _SAMPLE, _SURE, _FITS, _ALIKE = 0.05, (400, 20), 0.3, 20, 0.5
_ALONE = 5  # images without unknown objects at an end, at least
_SORTED = 20_000  # images, of more of which only the order of the file is looked at
_MIXED = 0.3  # of the images with unknown objects show known ones, too
_DIGITS = re.compile(r"\d")


def truth_annotated(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Findings about what was annotated, and as what."""
    yield from truth_crowds(truth)
    yield from _scored(truth)
    yield from _unknown_in_part(truth, vocabulary)


def _scored(truth: Annotations) -> Iterator[Finding]:
    """The finding that objects have scores, which annotators do not give; all alike say nothing."""
    score = truth.attributes.get("score")
    if score is None or score.dtype.kind != "f" or score.ndim != 1:
        return
    held = np.isfinite(score)
    if len(np.unique(score[held])) < 2 or not ((score[held] >= 0) & (score[held] <= 1)).all():
        return
    count, row = int(np.count_nonzero(held)), int(held.argmax())
    yield Finding(
        "OS466",
        Level.WARNING,
        f"{share(count, len(truth), 'objects')} of the ground truth have a score",
        count=count,
        example=f"{object_at(truth, row)}, score {score[row]:g}",
    )


def truth_crowds(truth: Annotations) -> Iterator[Finding]:
    """The finding that a large part of the objects are crowds."""
    assert truth.crowd is not None
    count = int(np.count_nonzero(truth.crowd))
    if len(truth) < _OBJECTS or count < _CROWDS * len(truth):
        return
    yield Finding(
        "OS452",
        Level.WARNING,
        f"{share(count, len(truth), 'objects')} ({count / len(truth):.0%}) are crowds (iscrowd=1): "
        "they are regions that are left out, and boxes on them are neither right nor wrong",
        count=count,
        example=object_at(truth, first(truth.crowd)),
    )


def single_crowds(case: Case) -> Iterator[Finding]:
    """The finding that sure boxes fit crowds as they fit single objects: then these are some.

    A box seldom fits a region with many objects, nor what was marked since it is hard to see.
    """
    truth = case.truth
    assert truth.crowd is not None
    count = int(np.count_nonzero(truth.crowd))
    if not max(_OBJECTS, _SOME * len(truth)) <= count < _CROWDS * len(truth):
        return
    sample = by_file(case, *_SAMPLE)
    sample = sample.only(case.detections.score[sample.row] >= _SURE)
    look = beside(replace(truth, crowd=None), sample, sample.image)
    met = look.met(Convention.of(case.written.boxes)).best >= TIGHT[0]
    named = case.named[truth.label[look.objects]]
    crowd = truth.crowd[look.objects]
    ours, others = met[named & crowd], met[named & ~crowd]
    if ours.sum() < _FITS or not others.sum() or ours.mean() < _ALIKE * others.mean():
        return
    yield Finding(
        "OS452",
        Level.WARNING,
        f"{share(count, len(truth), 'objects')} ({count / len(truth):.0%}) are crowds (iscrowd=1), "
        f"and boxes fit them as they fit single objects: {ours.mean():.0%} of those examined are "
        f"met at IoU {TIGHT[0]:g} (score {_SURE:g} or more), and {others.mean():.0%} of the others",
        count=count,
        example=object_at(truth, int(look.objects[first(met & named & crowd)])),
        cause="the exporter writes iscrowd=1 for every mask in run lengths, or for all objects of "
        "some images or tools",
        fix="write iscrowd=0 for single objects; nothing, if they are to be left out",
    )


def _unknown_in_part(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """A first or last stretch of images that alone has unknown objects, among known ones.

    Benchmarks are put together of images with and without unknown objects; but those that have
    them, then, have no known ones, or are of another set, whose files are called otherwise.
    """
    if not len(truth) or ood_images(truth.images) is not None:
        return
    role = np.array([vocabulary.role(label) is Role.UNKNOWN for label in truth.labels])
    size, of_unknown = len(truth.images), role[truth.label]
    known, unknown = (
        np.bincount(truth.image[rows], minlength=size) > 0 for rows in (~of_unknown, of_unknown)
    )
    if not unknown.any() or known[unknown].mean() < _MIXED:
        return
    having, groups = known | unknown, groups_of(truth.images)
    for order, rows in orders(truth) if size <= _SORTED else [next(orders(truth))]:
        rows = rows[having[rows]]
        for which, along in (("first", rows), ("last", rows[::-1])):
            if unknown[along[-_ALONE:]].any():  # as nearly always: there is no such stretch
                continue
            unit = np.arange(size) if groups is None else units(truth.images.id, groups)
            seen = ends_at(unknown[along], unit[along])
            if seen and _one_source(truth, along, seen) and not whole_films(truth, along, seen):
                objects = int(of_unknown.sum())
                yield _ended(truth, f"{which} {{}} in the order {order}", along, seen, objects)
                return


def _one_source(truth: Annotations, rows: NDArray[np.intp], seen: int) -> bool:
    """Whether most files of the rest are called as files of the part are."""
    if truth.images.file_name is None:
        return True
    names = [_DIGITS.sub("0", name) for name in truth.images.file_name[rows].tolist()]
    before = set(names[:seen])
    return 2 * sum(name in before for name in names[seen:]) > len(names) - seen


def _ended(
    truth: Annotations, where: str, rows: NDArray[np.intp], seen: int, objects: int
) -> Finding:
    rest = len(rows) - seen
    said = where.format(share(seen, len(rows), "images with objects"))
    return Finding(
        "OS453",
        Level.WARNING,
        f"all {spaced(objects)} unknown objects are on the {said}; the other {spaced(rest)} have "
        "known ones alone",
        count=rest,
        example=f"image {image_name(truth, int(rows[seen]))}",
    )
