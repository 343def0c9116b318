"""Checks of numbers for classes: are they ids of the ground truth, or positions in some list."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, first, share
from openset.tables._check_chance import Chance, chance_of
from openset.tables._look import LOOSE, Index, beside, by_file
from openset.tables.boxes import Convention
from openset.tables.columns import positions, tally
from openset.tables.join import ABSENT
from openset.tables.numberings import fitting_numbering
from openset.wording import some, spaced

_SAMPLE = 150, 20  # images, and boxes of each, that tell what ids mean
_FEWEST, _TIMES = 8, 3
NO_OBJECT = (
    "'no object', or background, was kept as a class: DETR's last column, of which the argmax is "
    "taken along with the others",
    "leave these boxes out of the file, or take the best of the other classes",
)
_BACKGROUND = (
    "0 is the detector's background, its unknown, or a class of its own",
    "leave the boxes of id 0 out of the file, or say what the id means: unknown_label=0, or "
    "category_ids='FILE'",
)
_NO_CLASS = -1  # as programs write what they have no id for
_ITS_UNKNOWN = (
    "{} is what the detector calls unknown, or a class of its own",
    "unknown_label={} counts them as unknown, if that is so; else leave them out of the file, or "
    "map the id: category_ids='FILE'",
)


def unnumbered(case: Case) -> Finding:
    """Category ids, although the ground truth knows names alone: a guess would join them."""
    total, labels = len(case.detections), case.truth.labels
    low, high = int(case.per_label[0][0]), int(case.per_label[0][-1])
    fits = "'index'" if low == 0 else "'index1'"
    return Finding(
        "OS315",
        Level.ERROR,
        f"{share(total, total, 'detections')} say their label by a number ({low}..{high}), but the "
        f"ground truth has names without ids: {some(map(repr, labels), 3)}",
        count=total,
        example=f"{case.where(0)}, category id {case.detections.label[0]}",
        fix=f"category_ids={fits} if they are positions in that list; else give a COCO file of "
        "these ids, or a JSON or CSV file that maps each to a name: category_ids='FILE'"
        if low >= 0 and high - low < len(labels)
        else "",
    )


def absent(case: Case) -> Iterator[Finding]:
    count, total = int(case.per_class[0]), len(case.detections)
    if count == 0:
        return
    absent = case.joined.klass == ABSENT
    ids, _ = tally(case.detections.label[absent])
    cause, fix = _absent_meant(case, ids.tolist()) if count < total else ("", "")
    nothing = chance_of(case, absent) if count < total else None
    if nothing is not None:
        cause, fix = NO_OBJECT
    yield Finding(
        "OS306",
        Level.ERROR if count == total else Level.WARNING,
        f"{share(count, total, 'detections')} have a category id that the ground truth does not "
        f"have: {some(map(str, ids.tolist()))}{on_nothing(nothing)}",
        count=count,
        example=f"{case.where(first(absent))}, category id {case.detections.label[first(absent)]}",
        cause=cause,
        fix=fix,
    )


def on_nothing(found: Chance | None) -> str:
    """That boxes lie on objects as by chance, as a part of a sentence."""
    if found is None:
        return ""
    return (
        f"; they overlap objects as those of other images do (mean best IoU {found.own:.2f} and "
        f"{found.other:.2f}, of {spaced(found.boxes)} boxes examined)"
    )


def _absent_meant(case: Case, ids: list[int]) -> tuple[str, str]:
    """Cause and fix where all ids but one are there, which is no class as a rule; -1 never is."""
    if len(ids) > 1 and _NO_CLASS not in ids:
        return "", ""
    id_ = ids[0] if len(ids) == 1 else _NO_CLASS
    leaked = int(np.count_nonzero(case.joined.leaked))  # which count as unknown, but do not say so
    if case.per_class[-ABSENT + len(case.vocabulary.known)] > leaked:  # "unknown" has a label
        return _BACKGROUND if id_ == 0 else ("", "")
    said = _BACKGROUND if id_ == 0 else _ITS_UNKNOWN
    return said[0].format(id_), said[1].format(id_)


def numbering(case: Case) -> Iterator[Finding]:
    if case.detections.labels or case.per_class[0] == 0:
        return
    assert case.truth.category_id is not None
    ids, times = case.per_label
    start = _first_number(ids, times, case.truth.category_id)
    if start is None:
        return
    said, on, image = on_objects(case)
    if _right_as_they_are(case, ids[said], on, start):
        return
    total = len(case.detections)
    given = some(map(str, np.sort(case.truth.category_id).tolist()))
    cause, fix = _position(
        case, start, images_of(said, on, image, (len(ids), len(case.truth.labels)))
    )
    yield Finding(
        "OS307",
        Level.ERROR,
        f"{share(total, total, 'detections')} have category ids in {ids[0]}..{ids[-1]}, numbered "
        f"from {start}; the ground truth has {given}",
        count=total,
        example=f"{case.where(0)}, category id {case.detections.label[0]}",
        cause=cause,
        fix=fix,
    )


def _position(case: Case, start: int, counts: NDArray[np.int64]) -> tuple[str, str]:
    """Of which list the numbers are positions, as objects tell or else of the ground truth's."""
    labels, key = case.truth.labels, case.vocabulary.key
    place = {key(name): at for at, name in reversed([*enumerate(labels)])}
    numbers = case.per_label[0]
    assert case.truth.category_id is not None
    ours = positions(case.truth.category_id, numbers).astype(np.int64)
    known = case.vocabulary.known
    found = fitting_numbering(counts, numbers.tolist(), ours, place, key, case.truth, known)
    if found is not None and found.option:
        return f"the detector writes {found.meaning}", found.fix
    fits = numbers[-1] - start < len(labels)
    reads = (
        f"category_ids='{'index1' if start else 'index'}' reads them; force=True evaluates as it is"
    )
    cause = f"the detector writes the position of the class, counted from {start}"
    return cause, reads if fits else ""


def on_objects(case: Case) -> tuple[Index, Index, Index]:
    """Boxes on objects, of some images: which label they have, which the object has, the image."""
    sample = by_file(case, *_SAMPLE)
    look = beside(case.truth, sample, sample.image)
    fits = look.overlap(Convention.of(case.written.boxes)) >= LOOSE
    by, on = look.by[fits], case.truth.label[look.objects[look.at[fits]]]
    said = np.searchsorted(case.per_label[0], case.detections.label[sample.row[by]])
    return said, on.astype(np.int64), sample.slot[by]


def images_of(said: Index, on: Index, image: Index, shape: tuple[int, int]) -> NDArray[np.int64]:
    """In how many images each label is on each class."""
    counts = np.zeros(shape, np.int64)
    pairs = np.unique(np.column_stack([said, on, image]), axis=0)
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    return counts


def _right_as_they_are(case: Case, said: Index, on: Index, start: int) -> bool:
    """Whether boxes lie on objects of the ids that they say, and not of the positions."""
    assert case.truth.category_id is not None
    right = int(np.count_nonzero(case.truth.category_id[on] == said))
    return right >= max(_FEWEST, _TIMES * int(np.count_nonzero(on == said - start)))


def _first_number(
    ids: NDArray[np.int64], times: NDArray[np.int64], given: NDArray[np.int64]
) -> int | None:
    """Where the detections' numbering starts, if it is another than that of the ground truth."""
    if len(given) == 0:
        return None
    k, low, high = len(given), int(ids[0]), int(ids[-1])
    if 0 not in given and low == 0 and (high < k or np.isin(ids + 1, given).all()):
        # A few boxes of class 0 among many are more likely a background class.
        return 0 if times[0] * 20 * k >= times.sum() else None
    sparse = high <= k < given.max()
    shifted = 0 in given and np.isin(ids - 1, given).all()
    return 1 if low >= 1 and (sparse or shifted) and len(ids) >= 0.5 * k else None


def names_of(case: Case) -> list[str]:
    """Names of the detections' labels, empty where the ground truth does not have the id."""
    values = case.per_label[0]
    if case.detections.labels:
        return [case.detections.labels[value] for value in values.tolist()]
    assert case.truth.category_id is not None
    labels = (*case.truth.labels, "")
    return [labels[at] for at in positions(case.truth.category_id, values).tolist()]
