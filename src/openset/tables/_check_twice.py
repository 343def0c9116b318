"""Checks of what occurs twice: objects, images and detections.

Copies are exact, or nearly so: another precision, another tool. A few are found in every data set;
what is said is a share that no careful annotator and no suppression of overlapping boxes leaves.
Of large files some images are examined: a file written twice shows there as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import (
    Case,
    all_of,
    any_of,
    first,
    images_that,
    object_at,
    of_some_images,
    runs_of_rows,
    share,
)
from openset.tables._check_groups import film_groups
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections
from openset.tables.groups import groups_of
from openset.tables.overlap import iou_of_pairs
from openset.tables.vocabulary import is_unknown_spelling

Rows = NDArray[np.intp]
_EXAMINED = 50_000  # detections that may be exact copies
_SAME = 0.9  # IoU of two boxes around one object
_OBJECTS, _IMAGES, _ROUNDED = 0.02, 0.01, 0.1  # shares that matter
_FEWEST, _SEVERAL = 3, 8
_MANY = 50  # detections, fewer of which prove nothing
# IoU, ratio of scores, and share of detections: of a transformer, which suppresses nothing, 15 %,
# and of raw boxes of anchors, some around each object, from 30 % on.
_ON_TOP, _ALIKE, _UNSUPPRESSED = 0.8, 0.6, 0.3
_COPIED = 0.9  # of the detections are objects, or copies
# Pixels of a side from which rounding meets all four numbers of an object seldom; the share of such
# objects that are met so (of real ones in whole pixels 3 in 1000).
_LARGE, _ADDED = 16, 0.2
_MIXED = (
    "objects were added to the proposals of a detector, as in its training (add_gt_as_proposals), "
    "or the ground truth to its results",
    "leave the ground truth out where a detector is tested",
)
_PIXELS = 8
_PADDED = (
    "the first images again, which a distributed sampler adds to fill the last batch",
    "leave out what comes again: the detections of each image once",
)
_FILLED_UP = (
    "rows without a box fill each image up to a fixed number, as exported models write them",
    "leave out the rows without a width or a height; they change no number",
)
_WHOLE = 1 / 3  # what is doubled as a whole has one half of copies
_ALL_SORTED, _BITS = 10_000, 18
_LAGS, _CROWDED = 3, 8  # neighbours of a box: of a copy, and of one among many around an object
_PICTURE = re.compile(r"\.(jpe?g|png|bmp|webp|gif|tiff?)$", re.IGNORECASE)
# What Roboflow puts behind the name of a picture: a hash of the version that it made of it.
_VERSION = re.compile(r"\.rf\.[0-9A-Za-z]{16,}(?:\.\w+)?$")
_AUGMENTED = (
    "Roboflow's augmentation was applied to the images of a test, too",
    r"groups='^(.*)\.rf\.' draws the versions of a picture together; or export the split without "
    "augmentation",
)
_BATCH_AGAIN = (
    "batches came again, as those that a loop tries before it starts; or frames are alike",
    "reset() before the loop, or give targets their image_id: an image that comes twice is refused",
)
_ONE_NAME = (
    "all annotations state one file name, as that of a template which was copied",
    "state the name of each image, or none: images go by their ids",
)


def truth_twice(truth: Annotations) -> Iterator[Finding]:
    """Findings about objects, and images, that the ground truth has under two ids."""
    yield from _versions(truth)
    if len(truth):
        yield from objects_twice(truth)
        yield from images_under_two_ids(truth)


def images_under_two_ids(truth: Annotations) -> Iterator[Finding]:
    """The finding that images are another again, by their names or all their objects."""
    for again, what in _images_again(truth):
        for one in images_that(truth, again, "OS425", Level.WARNING, what):
            where = f"{one.example}, id {truth.images.id[first(again)]}"
            cause, fix = one.cause, one.fix
            if np.count_nonzero(again) == len(again) - 1 > 1 and "file name" in what:
                cause, fix = _ONE_NAME
            cause, fix = _of_a_film(truth) or (cause, fix)
            yield replace(one, example=where, cause=cause, fix=fix)


def _versions(truth: Annotations) -> Iterator[Finding]:
    """The finding that images are versions of one picture, by names that are not grouped."""
    names = truth.images.file_name
    if names is None or groups_of(truth.images) is not None:
        return
    if not len(names) or _VERSION.search(str(names[0])) is None:
        return
    _, first_of = np.unique([_VERSION.sub("", name) for name in names.tolist()], return_index=True)
    again = np.ones(len(names), np.bool_)
    again[first_of] = False
    what = "are another version of a picture, by their names: they tell little new"
    for one in images_that(truth, again, "OS425", Level.WARNING, what):
        yield replace(one, cause=_AUGMENTED[0], fix=_AUGMENTED[1])


def _of_a_film(truth: Annotations) -> tuple[str, str] | None:
    """Cause and fix where images are frames of films by their names: a still camera sees so."""
    groups = film_groups(truth)
    if groups is None:
        return None
    fix = f"groups='{groups}' draws the frames of a film together; or keep one of those alike"
    return "frames of a film are alike, as of a camera that stands still", fix


def images_twice(truth: Annotations) -> NDArray[np.bool_]:
    """Which images the ground truth has already had under another id."""
    masks = [again for again, _ in _images_again(truth)]
    return masks[0] if masks else np.zeros(len(truth.images), np.bool_)


def _images_again(truth: Annotations) -> list[tuple[NDArray[np.bool_], str]]:
    """Images that are another again, and by what they are."""
    return [*_named_images(truth)] or [*_equal_images(truth)]


def objects_twice(truth: Annotations) -> Iterator[Finding]:
    """The finding that objects stand there twice, if so."""
    assert truth.crowd is not None
    per_image = np.bincount(truth.image)
    rows = of_some_images(truth.image, per_image, per_image > 0)
    rows = rows[~truth.crowd[rows] & all_of(truth.box.take(rows, axis=0)[:, 2:] > 0)]
    one, other = _neighbours(rows, truth.image, truth.label, truth.box)
    overlap = iou_of_pairs(truth.box.take(one, axis=0), truth.box.take(other, axis=0))
    copies = np.unique(other[overlap >= _SAME])
    if len(copies) < max(_FEWEST, _OBJECTS * len(rows)):
        return
    noun = "objects" if len(rows) == len(truth) else "objects examined"
    yield Finding(
        "OS216",
        Level.ERROR if len(copies) >= _WHOLE * len(rows) else Level.WARNING,
        f"{share(len(copies), len(rows), noun)} have the label and the box of another object of "
        "their image, or nearly so",
        count=len(copies),
        example=object_at(truth, int(copies[0])),
    )


def _named_images(truth: Annotations) -> Iterator[tuple[NDArray[np.bool_], str]]:
    if truth.images.file_name is None:
        return
    names, suffix = truth.images.file_name.tolist(), str(truth.images.file_name[0])[-4:]
    # Counted in one text: NumPy's functions of strings take longer to import.
    ends = "\0".join([*names, ""]).count(f"{suffix}\0")
    one_suffix = len(suffix) == 4 and ends == len(names)
    # Names of one suffix differ if their stems do.
    stems = names if one_suffix else [_PICTURE.sub("", name) for name in names]
    if len(set(stems)) == len(stems) or not all(stems):
        return
    seen: set[str] = set()
    again = np.zeros(len(stems), np.bool_)
    for at, stem in enumerate(stems):
        again[at] = stem in seen
        seen.add(stem)
    yield again, "have the file name of another, but for the suffix"


def _equal_images(truth: Annotations) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """Images with the same objects, two at least, as another; frames that are grouped may."""
    if groups_of(truth.images) is None:
        again = _equal(truth.image, truth.label, truth.box, len(truth.images))
        if again is not None:
            yield again, "have exactly the objects of another"


def shown_twice(
    ids: NDArray[Any], image: NDArray[Any], label: NDArray[Any], box: NDArray[np.float64]
) -> Iterator[Finding]:
    """The same of images that came in batches, none of which can tell."""
    again = _equal(image, label, box, len(ids))
    if again is not None:
        count = int(np.count_nonzero(again))
        message = f"{share(count, len(ids), 'images')} have exactly the objects of another"
        example = f"image {ids[first(again)]}"
        yield Finding("OS425", Level.WARNING, message, count, example, *_BATCH_AGAIN)


def _equal(
    image: NDArray[Any], label: NDArray[Any], box: NDArray[np.float64], total: int
) -> NDArray[np.bool_] | None:
    """Which images have exactly the objects of another, if enough have."""
    key = hashes(label.astype(np.uint64), box)
    counts = np.bincount(image, minlength=total)
    # Sums of 24 bits are exact in floats, and do not depend on the order of objects.
    of_image = counts.astype(np.uint64)
    for part in (key & np.uint64(0xFFFFFF), key >> np.uint64(40)):
        sums = np.bincount(image, part.astype(np.float64), total)
        of_image = mixed(of_image, sums.astype(np.uint64))
    images = np.flatnonzero(counts >= 2)
    if repeats(of_image[images]) < max(_FEWEST, _IMAGES * total):
        return None
    again = counts >= 2
    again[images[np.unique(of_image[images], return_index=True)[1]]] = False
    return again


def detected_twice(case: Case) -> Iterator[Finding]:
    """Findings about detections that occur twice."""
    yield from [*_unknown_too(case)] or _exact(case)
    pairs = _neighbours(case.some, *_keys(case), case.detections.box)
    around = _neighbours(case.some, *_keys(case), case.detections.box, _CROWDED)
    copies, near = _copies(case, *pairs), _unsuppressed(case, *around)
    written = 2 * len(copies) > len(near)  # else copies are those boxes that differ least
    yield from (_rounded(case, copies) if written else _not_suppressed(case, near)) or (
        _come_again(case)
    )


def _unknown_too(case: Case) -> Iterator[Finding]:
    """Boxes of known classes that are there again as unknown, with the same score."""
    klass, k = case.joined.klass[case.some], len(case.vocabulary.known)
    known, unknown = (case.some[one] for one in ((klass >= 0) & (klass < k), klass == k))
    if min(len(known), len(unknown)) < _MANY or len(unknown) < _COPIED * len(known) / 2:
        return
    again = held(_regions(case, known), _regions(case, unknown))
    count = int(np.count_nonzero(again))
    if count >= _COPIED * len(known):
        yield Finding(
            "OS347",
            Level.WARNING,
            f"{share(count, len(known), 'boxes of known classes examined')} are there again as "
            "unknown, with the same score",
            count=count,
            example=case.where(int(known[first(again)])),
        )


def _regions(case: Case, rows: Rows) -> NDArray[np.uint64]:
    """A key of the image, box and score of detections."""
    box = case.detections.box.take(rows, axis=0)
    key = hashes(case.joined.image[rows].astype(np.uint64), box)
    return mixed(key, case.detections.score[rows].view(np.uint64))


def _exact(case: Case) -> Iterator[Finding]:
    """The same image, label and box, among the first 50 000 by image.

    A hash is sorted, which is not free: larger files are examined up to the last image that ends
    within the limit.
    """
    rows = _first_images(case)
    key = _written(case.joined.image[rows], case.detections, rows)
    count, again = _repeated(key)
    if count:
        whole = len(rows) == case.per_image[:-1].sum()
        what = share(count, len(rows), "detections" if whole else "detections examined")
        same = repeats(mixed(key, case.detections.score[rows].view(np.uint64)))
        row = int(rows[again])
        alike = 2 * same >= count or _rounded_scores(key, case.detections.score[rows])
        cause_fix = ("", "") if alike else _told_apart(case, row)
        sized = all_of(case.detections.box[rows, 2:] > 0)
        if 2 * repeats(key[sized]) < count:
            cause_fix = _FILLED_UP
        yield _again(what, "image, label and box", count, case.where(row), *cause_fix)


def written_twice(table: Detections) -> list[Finding]:
    """The finding that detections repeat another, its score too, whatever their images are."""
    _, image = np.unique(table.image, return_inverse=True)
    key = mixed(_written(image, table, slice(None)), table.score.view(np.uint64))
    count, again = _repeated(key)
    what, example = share(count, len(table), "detections"), f"image {table.image[again]}"
    return [_again(what, "image, label, box and score", count, example)] if count else []


def _written(image: NDArray[Any], table: Detections, rows: Rows | slice) -> NDArray[np.uint64]:
    """A key of the image, label and box of detections."""
    label = table.label[rows].astype(np.uint64)
    box = table.box if isinstance(rows, slice) else table.box.take(rows, axis=0)
    return hashes(mixed(image.astype(np.uint64), label), box)


def _repeated(key: NDArray[np.uint64]) -> tuple[int, int]:
    """How many keys repeat another, and where the first of these keys is."""
    count = repeats(key)  # by itself, since it is cheaper than knowing where
    if not count:
        return 0, 0
    _, index, times = np.unique(key, return_index=True, return_counts=True)
    return count, int(index[times > 1].min())


def _again(
    what: str, columns: str, count: int, example: str, cause: str = "", fix: str = ""
) -> Finding:
    message = f"{what} repeat the {columns} of another"
    return Finding("OS210", Level.WARNING, message, count, example, cause, fix)


def _rounded_scores(key: NDArray[np.uint64], score: NDArray[np.float64]) -> bool:
    """Whether boxes that are there again have their scores in fewer digits: written twice, too."""
    order = np.lexsort((score, key))
    again = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    low, high = score[order[again]], score[order[again + 1]]
    told = high > 0.1  # lower ones are within a hundredth of each other anyhow
    near = np.count_nonzero(high[told] - low[told] <= 0.01)
    return bool(near >= max(_FEWEST, 0.9 * np.count_nonzero(told)))


def _told_apart(case: Case, row: int) -> tuple[str, str]:
    """Cause and fix where scores differ: no file was written twice, labels were made one."""
    unknown = is_unknown_spelling(case.label_name(case.detections.label[row]))
    became = "relabelled 'unknown'" if unknown else "given one label afterwards"
    return (
        f"their scores differ: one region was detected as several classes, which were {became}",
        "keep the detection of each region with the highest score, or nothing, if it is intended",
    )


def _copies(case: Case, one: Rows, other: Rows) -> Rows:
    """The same detections with other digits: within a pixel, and in the score a hundredth."""
    box, score = case.detections.box, case.detections.score
    apart = np.abs(box.take(one, axis=0) - box.take(other, axis=0))
    near = all_of(apart <= 1) & any_of(apart > 0) & (np.abs(score[one] - score[other]) <= 0.01)
    # Boxes of a few pixels are within one of each other anyhow.
    near &= _large(case, one)
    return np.unique(other[near])


def _rounded(case: Case, copies: Rows) -> list[Finding]:
    if len(copies) < max(_FEWEST, _ROUNDED * len(case.some)):
        return []
    message = (
        f"{share(len(copies), len(case.some), 'detections examined')} repeat another of their "
    )
    message += "image and label within a pixel and 0.01 of the score"
    return [Finding("OS217", Level.WARNING, message, len(copies), case.where(int(copies[0])))]


def _come_again(case: Case) -> list[Finding]:
    """Images that the file comes back to, with the boxes that it had, in other digits.

    Exact copies are `_exact`; files that go through all their images again, `in_passes`.
    """
    image, start, length = case.runs
    there, at = np.unique(image, return_index=True)
    again = image >= 0
    again[at] = False
    images = np.unique(image[again])
    if not len(images) or 2 * np.count_nonzero(again) > len(there):
        return []
    later = runs_of_rows(start[again], length[again])
    first_of = np.isin(image, images) & ~again
    rows = np.concatenate([runs_of_rows(start[first_of], length[first_of]), later])
    one, other = _neighbours(rows, *_keys(case), case.detections.box)
    across = np.isin(other, later) & ~np.isin(one, later)
    copies = _copies(case, one[across], other[across])
    if len(copies) < max(_SEVERAL, _COPIED * np.count_nonzero(_large(case, later))):
        return []
    message = f"{share(len(images), len(there), 'images')} come again later in the file, with the "
    message += "boxes that they had, within a pixel and 0.01 of the score"
    example = case.where(int(copies[0]))
    return [Finding("OS217", Level.WARNING, message, len(copies), example, *_PADDED)]


def _large(case: Case, rows: Rows) -> NDArray[np.bool_]:
    return all_of(case.detections.box.take(rows, axis=0)[:, 2:] > _PIXELS)


def _unsuppressed(case: Case, one: Rows, other: Rows) -> Rows:
    """Boxes nearly on top of each other that score alike, as no suppression leaves them.

    A soft one leaves them too, with scores that fall.
    """
    box, score = case.detections.box, case.detections.score
    overlap = iou_of_pairs(box.take(one, axis=0), box.take(other, axis=0))
    low, high = np.minimum(score[one], score[other]), np.maximum(score[one], score[other])
    near = (overlap >= _ON_TOP) & (overlap < 1) & (low >= _ALIKE * high)
    return np.unique(other[near])


def _not_suppressed(case: Case, copies: Rows) -> list[Finding]:
    if len(copies) < max(_MANY, _UNSUPPRESSED * len(case.some)):
        return []
    message = (
        f"{share(len(copies), len(case.some), 'detections examined')} overlap another of their "
    )
    message += f"image and label at IoU {_ON_TOP:g}, with a score as high"
    return [Finding("OS437", Level.WARNING, message, len(copies), case.where(int(copies[0])))]


def objects_again(case: Case) -> Iterator[Finding]:
    """Detections that are objects of the ground truth, digit by digit; all, or beside others."""
    rows, truth, objects = case.some, case.truth, case.some_objects
    found, given = (
        hashes(image.astype(np.uint64), box)
        for image, box in (
            (case.joined.image[rows], case.detections.box.take(rows, axis=0)),
            (truth.image[objects], truth.box.take(objects, axis=0)),
        )
    )
    same = held(found, given)
    count = int(np.count_nonzero(same))
    if count >= max(_MANY, _COPIED * len(rows)):
        of = share(count, len(rows), "detections examined")
        said, cause, fix = f"{of} have exactly the box of an object of their image", "", ""
    else:
        large = (truth.box[objects, 2:] >= _LARGE).all(axis=1) & (truth.box[objects, :2] > 0).any(
            axis=1
        )
        again = large & held(given, found[same])
        count = int(np.count_nonzero(again))
        if count < max(_MANY, _ADDED * np.count_nonzero(large)):
            return
        of = share(count, int(np.count_nonzero(large)), "larger objects examined")
        said, (cause, fix) = f"detections have exactly the boxes of {of}, beside others", _MIXED
    yield Finding(
        "OS436",
        Level.WARNING,
        said,
        count=count,
        example=case.where(int(rows[first(same)])),
        cause=cause,
        fix=fix,
    )


def _keys(case: Case) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    return case.joined.image, case.detections.label


def _first_images(case: Case) -> Rows:
    until = int(np.searchsorted(case.per_image[:-1].cumsum(), _EXAMINED, side="right"))
    image, start, length = case.runs
    kept = (image >= 0) & (image < max(until, 1))
    return runs_of_rows(start[kept], length[kept])[:_EXAMINED]


def _neighbours(
    rows: Rows,
    image: NDArray[np.int32],
    label: NDArray[Any],
    box: NDArray[np.float64],
    most: int = _LAGS,
) -> tuple[Rows, Rows]:
    """Pairs of rows of one image and label whose boxes begin next to each other."""
    key = mixed(image[rows].astype(np.uint64), label[rows].astype(np.uint64))
    order = np.lexsort((box[rows, 0], key))
    rows, key = rows[order], key[order]
    lags = range(1, most + 1)
    same = [np.flatnonzero(key[:-lag] == key[lag:]) for lag in lags]
    one = rows[np.concatenate(same)]
    other = rows[np.concatenate([at + lag for at, lag in zip(same, lags, strict=True)])]
    return np.minimum(one, other), np.maximum(one, other)


def repeats(key: NDArray[np.uint64]) -> int:
    """How many keys repeat another.

    Of many, those that share their first bits with none are not sorted: most.
    """
    if len(key) > _ALL_SORTED:
        first_bits = (key >> np.uint64(64 - _BITS)).astype(np.intp)
        key = key[np.bincount(first_bits, minlength=1 << _BITS)[first_bits] > 1]
    order = np.sort(key)
    return int(np.count_nonzero(order[1:] == order[:-1]))


def held(keys: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which keys are among others, of which alone are sorted: NumPy sorts both."""
    if not len(others):
        return np.zeros(len(keys), np.bool_)
    order = np.sort(others)
    return order[np.searchsorted(order, keys).clip(max=len(order) - 1)] == keys


def hashes(key: NDArray[np.uint64], box: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A key of boxes and what else tells them apart, digit by digit."""
    for values in np.ascontiguousarray(box).view(np.uint64).T:
        key = mixed(key, values)
    return key


def mixed(key: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One key of two."""
    odd = np.uint64(0x9E3779B97F4A7C15)
    made = (key * odd) ^ values
    made *= odd  # in place, since columns may be long
    made ^= made >> np.uint64(29)
    return made
