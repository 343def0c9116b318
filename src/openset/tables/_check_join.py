"""Checks of how ground truth and detections join: images, ids, and what is empty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.refusals import DATE
from openset.tables._check_case import (
    Case,
    any_of,
    first,
    image_name,
    images_that,
    object_at,
    orders,
    runs_of_rows,
    share,
)
from openset.tables._check_sets import detected_sets
from openset.tables._check_twice import images_twice
from openset.tables.annotations import Annotations
from openset.tables.columns import tally
from openset.tables.groups import groups_of, units
from openset.wording import spaced

COCO_LIMIT = 100
_EXAMINED = 500
_RAN, _FEWEST = 8, 5  # images with detections, and without at an end, from which that is told
_LONGER = 3  # times the longest stretch without a detection among the others
_UNLIKELY = np.log(1e-6)
_CUT = 0.1
_FLOAT32 = 1 << 24  # up to which every whole number is one
_SPLIT, _LITTLE = (20, 0.2), 2  # images of another split, their share; detections that are few
_STEPS = 17  # images of which one machine may have had one
_MORE = 20  # images with more objects than detections, from which a cap is told
_MANY, _NEARLY_ALL = 30, 0.9  # detections, and their share, on one image
_POWER = re.compile(r"\d[.,]\d+E\+\d+", re.IGNORECASE)
_SPREADSHEET = (
    "a spreadsheet turned names of images into dates or numbers",
    "make the column text before names are written to it, or write the file by a program",
)
_SPLITS = (
    "images of further splits, a part that was not run, or pictures that a detector is blind on",
    "openset select GT --images LIST -o PART keeps the images of a list, such as VOC's "
    "ImageSets/Main/test.txt; nothing, if the detector finds nothing there",
)
_BEYOND = (
    "annotations of these images are not there, or the detector ran on further splits",
    "add what is missing; nothing, if only the images of the ground truth are to count",
)
_FRAME = re.compile(r"\d*(\.\w+)?$")  # what tells frames of one film apart


def truth_records(truth: Annotations) -> Iterator[Finding]:
    """Findings about the ground truth's images and ids."""
    total = len(truth.images)
    if len(truth) == 0:
        yield Finding(
            "OS401",
            Level.ERROR,
            f"the ground truth has {spaced(total)} images and 0 objects",
            count=total,
            example=f"image {image_name(truth, 0)}" if total else "no images",
        )
        return
    empty = np.bincount(truth.image, minlength=total) == 0
    yield from images_that(truth, empty, "OS405", Level.NOTE, "have no object")
    yield from _ids(truth)


def _ids(truth: Annotations) -> Iterator[Finding]:
    assert truth.id is not None
    total = len(truth)
    if not (truth.id[1:] > truth.id[:-1]).all():  # as they mostly do along the file
        yield from _ids_again(truth)
    zero = truth.id == 0
    if zero.any():
        count = int(np.count_nonzero(zero))
        example = object_at(truth, first(zero))
        message = f"{share(count, total, 'annotations')} have the id 0"
        yield Finding("OS407", Level.NOTE, message, count=count, example=example)


def _ids_again(truth: Annotations) -> Iterator[Finding]:
    assert truth.id is not None
    ids, times = tally(truth.id)
    count = len(truth) - len(ids)
    if count:
        yield Finding(
            "OS406",
            Level.WARNING,
            f"{share(count, len(truth), 'annotations')} repeat the id of another",
            count=count,
            example=object_at(truth, first(truth.id == ids[first(times > 1)])),
        )


def detected_images(case: Case) -> Iterator[Finding]:
    """Findings about the images of the detections."""
    total = len(case.detections)
    if total == 0:
        yield Finding(
            "OS402",
            Level.ERROR,
            f"0 detections for {spaced(len(case.truth.images))} images",
            count=0,
            example="there is no detection",
        )
        return
    yield from other_images(case)
    if case.per_image[-1] < total:
        yield from detected_sets(case)
        yield from _without(case)
        yield from [*_on_one(case)] or _not_run(case)
        yield from _crowded(case)
        yield from _capped(case)


def float_ids(case: Case) -> Iterator[Finding]:
    """The finding that image ids lost their last digits: boxes of several images are on one."""
    ids, given = case.detections.image[case.runs[1]], case.truth.images.id
    if ids.dtype.kind not in "iuf" or given.dtype.kind not in "iu" or not len(ids):
        return
    exact = given.astype(np.float32).astype(np.float64)
    if given.max(initial=0) <= _FLOAT32 or np.mean(exact == given) > _NEARLY_ALL:
        return
    lost = ids.astype(np.float64)
    if (lost.astype(np.float32) == lost).all() and np.isin(lost, exact).mean() >= _NEARLY_ALL:
        kept = len(np.unique(case.detections.image))
        yield Finding(
            "OS470",
            Level.ERROR,
            f"{spaced(kept)} image ids of the detections are those of {spaced(len(given))} images, "
            "rounded to 24 bits",
            count=len(case.detections),
            example=f"{case.where(0)}, image id {lost[0]:.0f}",
        )


def other_images(case: Case) -> Iterator[Finding]:
    """Detections of another data set, or of images beside those that are tested.

    Most detections elsewhere may be a ground truth that is part of a set; then nearly all its
    images have some. Where most have none either, what joins does so by the chance of ids.
    """
    count = int(case.per_image[-1])
    if not count:
        return
    total, images = len(case.detections), len(case.truth.images)
    bare = int(np.count_nonzero(case.per_image[:-1] == 0))
    chance = 2 * count > total and 2 * bare > images
    absent = case.joined.image < 0
    given = ", ".join(map(str, case.truth.images.id[:3].tolist()))
    covered = images > 0 and 10 * bare <= images
    cause, fix = _BEYOND if covered and not chance else ("", "")
    if _are_dates(case.detections.image[absent][:_EXAMINED]):
        cause, fix = _SPREADSHEET
    yield Finding(
        "OS403",
        Level.ERROR if count == total or chance else Level.WARNING,
        f"{share(count, total, 'detections')} are on images that the ground truth does not have"
        + (f", and {share(bare, images, 'of its images')} have no detection" if chance else ""),
        count=count,
        example=f"{case.where(first(absent))}; the ground truth has {given or 'no images'}",
        cause=cause,
        fix=fix,
    )


def _are_dates(names: NDArray[Any]) -> bool:
    """Whether most names are dates, or numbers in powers of ten, as a spreadsheet writes them."""
    if names.dtype.kind not in "UO":
        return False
    made = (DATE.fullmatch(name) or _POWER.fullmatch(name) for name in map(str, names.tolist()))
    return 2 * sum(map(bool, made)) > len(names)


def _without(case: Case) -> Iterator[Finding]:
    empty = case.per_image[:-1] == 0
    what, little = f"({empty.mean():.1%}) have no detection", _of_a_part(case)
    if little is not None:
        what += f", and {spaced(little)} of the others fewer than {_LITTLE + 1}, as if "
        what += "the ground truth had further splits"
    for one in images_that(case.truth, empty, "OS404", Level.NOTE, what):
        yield one if little is None else replace(one, cause=_SPLITS[0], fix=_SPLITS[1])


def _of_a_part(case: Case) -> int | None:
    """How many images have but one or two detections, if hardly any beside those without.

    A detector that finds little has all numbers from none to many; another split has none. So has
    one that is blind in the dark, which nobody can tell: it is a note.
    """
    number = case.per_image[:-1][case.having]
    count, few = int((number == 0).sum()), int(((number > 0) & (number <= _LITTLE)).sum())
    fewest = max(_SPLIT[0], _SPLIT[1] * len(number))
    return few if min(count, len(number) - count) >= fewest and 10 * few <= count else None


def _not_run(case: Case) -> list[Finding]:
    """The finding that a part of the images was not run, unless they are others again (OS425)."""
    found, having = case.per_image[:-1] > 0, case.having
    said = [*_stopped(case, having)] or [*_skipped(case, having)]
    if said:  # looked for only now, since it is rare
        having = having & (found | ~images_twice(case.truth))
        said = [*_stopped(case, having)] or [*_skipped(case, having)]
    return said


def _stopped(case: Case, having: NDArray[np.bool_]) -> Iterator[Finding]:
    """A last or first stretch of images without a detection, in an order that a detector follows.

    Only images with objects of classes that the detector names count. That so many have nothing by
    chance is judged by the share of those that have nothing before the last detection; and since
    frames of one video fail together, by the longest stretch before it. Images that are said to
    belong together count once.
    """
    found = case.per_image[:-1] > 0
    if found.all():
        return
    truth, images = case.truth, case.truth.images
    groups = groups_of(images)
    unit = np.arange(len(found)) if groups is None else units(images.id, groups)
    for order, rows in orders(truth):
        rows = rows[having[rows]]
        for which, along in (("last", rows), ("first", rows[::-1])):
            seen = ends_at(found[along], unit[along])
            if seen and not whole_films(truth, along, seen):
                ends = (image_name(truth, int(along[at])) for at in (seen - 1, seen))
                yield _ended(f"{which} {{}} in the order {order}", len(along), seen, (*ends,))
                return


def _skipped(case: Case, having: NDArray[np.bool_]) -> Iterator[Finding]:
    """Every so-manieth image without a detection: a part of a run that was spread over machines."""
    found = case.per_image[:-1] > 0
    if found[having].all():
        return
    for order, rows in orders(case.truth):
        for step in range(2, _STEPS):
            lost = _lost(having[rows], found[rows], step)
            if len(lost):
                missed = rows[np.isin(np.arange(len(rows)) % step, lost) & having[rows]]
                said = share(len(missed), int(having.sum()), "images with objects")
                yield Finding(
                    "OS426",
                    Level.WARNING,
                    f"{said} have no detection: {len(lost)} of every {step} in the order {order}",
                    count=len(missed),
                    example=f"image {image_name(case.truth, int(missed[0]))}",
                )
                return


def _lost(having: NDArray[np.bool_], found: NDArray[np.bool_], step: int) -> NDArray[np.intp]:
    """Which of every `step` images have no detection at all, if that is no chance."""
    at = np.arange(len(having)) % step
    images, seen = (np.bincount(at[mask], minlength=step) for mask in (having, having & found))
    none = seen == 0
    ran, detected = int(images[~none].sum()), int(seen.sum())
    if detected < _RAN or not none.any():
        return np.empty(0, np.intp)
    chance = images[none] * np.log((ran - detected + 1) / (ran + 2))
    return np.flatnonzero(none) if (chance < _UNLIKELY).all() else np.empty(0, np.intp)


def _on_one(case: Case) -> Iterator[Finding]:
    """Nearly all detections on one of many images: a number that a loop never changed."""
    count, having = int(case.per_image[:-1].max()), int(np.count_nonzero(case.having))
    if count < max(_MANY, _NEARLY_ALL * len(case.detections)) or having < _RAN:
        return
    at = int(case.per_image[:-1].argmax())
    yield Finding(
        "OS435",
        Level.ERROR,
        f"{share(count, len(case.detections), 'detections')} are on one image, of "
        f"{spaced(having)} with objects",
        count=count,
        example=f"image {image_name(case.truth, at)}",
    )


def ends_at(found: NDArray[np.bool_], unit: NDArray[np.integer]) -> int:
    """How many images there are up to the last with a detection, 0 if the rest is chance."""
    seen = int(np.flatnonzero(found).max(initial=-1)) + 1
    ran, tail, detected = (len(np.unique(one)) for one in (unit[:seen], unit[seen:], unit[found]))
    chance = tail * np.log((ran - detected + 1) / (ran + 2))
    longer = len(found) - seen >= _LONGER * _longest_gap(found[:seen])
    enough = detected >= _RAN and tail >= _FEWEST
    return seen if enough and longer and chance < _UNLIKELY else 0


def whole_films(truth: Annotations, rows: NDArray[np.intp], seen: int) -> bool:
    """Whether what is without a detection are a few whole sequences, such as films in the dark."""
    if truth.images.file_name is None:
        return False
    film = [_FRAME.sub("", name) for name in truth.images.file_name[rows].tolist()]
    return _few_films(set(film[:seen]), set(film[seen:]))


def films(truth: Annotations) -> NDArray[np.uint32] | None:
    """A number for the film that each image is a frame of, by its name; none without names."""
    names = truth.images.file_name
    if names is None:
        return None
    film = [crc32(_FRAME.sub("", name).encode(errors="replace")) for name in names.tolist()]
    return np.array(film, np.uint32)


def batches_stopped(
    ids: NDArray[Any],
    found: NDArray[np.bool_],
    having: NDArray[np.bool_],
    groups: NDArray[Any] | None,
    film: NDArray[np.uint32] | None,
) -> Iterator[Finding]:
    """The findings that images which came in batches have no detection, as no batch can tell.

    Args:
        ids: Ids of the images, in the order in which they came.
        found: Whether an image has detections.
        having: Whether it has objects of classes that the detector names.
        groups: Which images belong together, if that is said.
        film: What `films` says of each, where names are known.
    """
    total, empty = len(ids), int(np.count_nonzero(~found))
    if not empty or empty == total:
        return
    said = f"{share(empty, total, 'images')} ({empty / total:.1%}) have no detection"
    yield Finding("OS404", Level.NOTE, said, empty, f"image {ids[first(~found)]}")
    rows, unit = np.flatnonzero(having), np.arange(total) if groups is None else units(ids, groups)
    for which, along in (("last", rows), ("first", rows[::-1])):
        seen = ends_at(found[along], unit[along])
        of = None if film is None else film[along]
        if seen and not (of is not None and _few_films({*of[:seen]}, {*of[seen:]})):
            where = f"{which} {{}} in the order of the batches"
            yield _ended(where, len(along), seen, (ids[along[seen - 1]], ids[along[seen]]))
            return


def _few_films(before: set[Any], after: set[Any]) -> bool:
    """Whether films without a detection are others than those with some, and few."""
    unlikely = len(after) * -np.log(len(before) + 2) < _UNLIKELY
    return before.isdisjoint(after) and not unlikely


def _longest_gap(found: NDArray[np.bool_]) -> int:
    """The most images in a row without a detection."""
    at = np.flatnonzero(np.concatenate([[True], found, [True]]))
    return int(np.diff(at).max(initial=1)) - 1


def _ended(where: str, total: int, seen: int, ends: tuple[Any, ...]) -> Finding:
    tail, beyond = total - seen, "after" if where.startswith("last") else "before"
    return Finding(
        "OS426",
        Level.ERROR if tail >= _CUT * total else Level.WARNING,
        f"the {where.format(share(tail, total, 'images with objects'))} have no detection, "
        f"{beyond} image {ends[0]}",
        count=tail,
        example=f"image {ends[1]}",
    )


def _crowded(case: Case) -> Iterator[Finding]:
    """More than 100 detections of one class, among the first 500 images with more than 100."""
    images = np.flatnonzero(case.per_image[:-1] > COCO_LIMIT)
    if len(images) == 0:
        return
    examined = images[:_EXAMINED]
    over = _over_limit(case, examined)
    count = int(np.count_nonzero(over))
    if count == 0:
        return
    total = len(case.truth.images) if len(examined) == len(images) else len(examined)
    noun = "images" if len(examined) == len(images) else "images examined"
    yield Finding(
        "OS408",
        Level.NOTE,
        f"{share(count, total, noun)} have more than {COCO_LIMIT} detections of one class",
        count=count,
        example=f"image {image_name(case.truth, int(examined[first(over)]))}",
    )


def _capped(case: Case) -> Iterator[Finding]:
    """A most of detections an image that images reach where more objects are than that.

    As many detections as objects, on images with as many of these, are no cap.
    """
    per_image, truth = case.per_image[:-1], case.truth
    most = int(per_image.max(initial=0))
    if not 0 < most < COCO_LIMIT:
        return
    assert truth.crowd is not None
    counted = case.named[truth.label] & ~truth.crowd
    objects = np.bincount(truth.image[counted], minlength=len(per_image))
    more = objects > most
    full = per_image == most
    if more.sum() < _MORE or full[more].mean() < _NEARLY_ALL:
        return
    lost = int((objects - most)[more].sum())
    yield Finding(
        "OS451",
        Level.WARNING,
        f"no image has more than {most} detection{'s' * (most > 1)}, and "
        f"{share(int(full.sum()), int((per_image > 0).sum()), 'have')} exactly so many: "
        f"{spaced(int(more.sum()))} images have more objects, of which {spaced(lost)} cannot be "
        "found",
        count=int(full.sum()),
        example=f"image {image_name(truth, first(more))}, {spaced(int(objects[first(more)]))} "
        "objects",
    )


def _over_limit(case: Case, examined: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of the examined images have more than 100 detections of one class."""
    image, start, length = case.runs
    slot = np.full(len(case.per_image), -1, np.int64)
    slot[examined] = np.arange(len(examined))
    kept = slot[image] >= 0
    rows = runs_of_rows(start[kept], length[kept])
    k = len(case.vocabulary.known) + 3
    key = np.repeat(slot[image[kept]] * k + 2, length[kept]) + case.joined.klass[rows]
    counts = np.bincount(key, minlength=len(examined) * k).reshape(-1, k)
    return any_of(counts[:, 2:] > COCO_LIMIT)


def no_match(count: int, *, certain: bool = True) -> Finding:
    """The finding for an evaluation in which no detection overlaps an object.

    Args:
        count: Number of detections on images with objects.
        certain: Whether they are so many that a weak detector would overlap one.
    """
    return Finding(
        "OS410",
        Level.ERROR if certain else Level.WARNING,
        f"0 of {spaced(count)} detections overlap an object of their image at IoU 0.1",
        count=count,
        example="none overlaps",
    )
