"""Labels that look exchanged: where boxes fit and labels do not, they may be numbered otherwise.

`openset.tables.misnaming` decides from how often each label is on objects of each class. What the
labels mean is said as far as the counts tell, and which of them they do not tell.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._known_for_unknown import known_for_unknown
from openset.evaluation._label_names import Names
from openset.evaluation._labels_meant import explained
from openset.evaluation._mixed_labels import mixed_labels
from openset.evaluation._one_class import one_class
from openset.evaluation._one_label import one_label
from openset.evaluation._seen import Seen, best_of_each
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.tables import Annotations, Detections
from openset.tables.misnaming import (
    FEWEST,
    MOST_LABELS,
    RATIO,
    exchanged,
    misnamed,
    misnamed_in_a_stretch,
    misnamed_in_part,
    one_off,
)
from openset.tables.numberings import fitting_numbering, on_meant
from openset.wording import some

_SHOWN = 3
_SUREST = 15  # boxes of a label


def suspicious_labels(
    matches: Matches,
    truth: Annotations | None,
    detections: Detections | None,
    called: Mapping[str, str],
) -> Finding | None:
    """The finding about labels that look exchanged, or are one for all; see `suspicions`."""
    names = Names(matches, detections, truth, called)
    numbered = _numbered(names) or _truth_numbered(names)
    one = numbered or _labels(names) or _one_off(names) or _unknown_exchanged(matches)
    one = one or one_label(matches) or one_class(matches)
    return one or known_for_unknown(matches)


def _numbered(names: Names) -> Finding | None:
    """Numbers that mean other classes throughout, by another list of them.

    Unlike below, classes that no label says play a part: the wrong list may name none of them.
    """
    matches, truth = names.matches, names.truth
    if truth is None or len(names.all) > MOST_LABELS or not names.numbers:
        return None
    ours = np.array([*names.numbers], np.int64)
    counts, numbers = names.counts[ours], [*names.numbers.values()]
    known, key = matches.vocabulary.known, matches.vocabulary.key
    found = fitting_numbering(counts, numbers, ours, names.place, key, truth, known)
    if found is None:
        return None
    means, meaning, fix = found.means, found.meaning, found.fix
    low = _one_low(names, counts, means) if names.called else None
    if low is not None:
        means, meaning, fix = low
    elif names.called:
        fix = _without_names(fix, names, means)
    own, other = on_meant(counts, ours), on_meant(counts, means)
    first = int((other - own).argmax())
    said = f"{names.all[ours[first]]} on {names.all[means[first]]}"
    return Finding(
        "OS316",
        Level.ERROR,
        f"{np.count_nonzero(other > own)} of {np.count_nonzero(counts.any(axis=1))} labels are put "
        f"on objects of one other class: {said} (in {other[first]} of {counts[first].sum()} "
        f"images), as {meaning} would be",
        count=int(np.count_nonzero(other > own)),
        example=said,
        cause=f"the labels are {meaning}",
        fix=fix,
    )


def _one_low(
    names: Names, counts: NDArray[np.int64], means: NDArray[np.int64]
) -> tuple[NDArray[np.int64], str, str] | None:
    """What numbers mean that are one too low, if that fits better than `means`.

    A list of names may have the background first, and the ground truth lack some of its classes:
    then positions among those that it has fit in part. Returns the class of each number, what the
    numbers are, and what mends them.
    """
    truth = names.truth
    assert truth is not None
    assert truth.category_id is not None
    place = dict(zip(truth.category_id.tolist(), names.places(truth.labels), strict=False))
    moved = np.array([place.get(n + 1, -1) for n in names.numbers.values()], np.int64)
    if on_meant(counts, moved).sum() <= on_meant(counts, means).sum():
        return None
    fix = "labels plus 1 in the detections: names= counts the background, and so does the ground "
    return moved, "numbers that are one too low", fix + "truth; force=True evaluates as it is"


def _without_names(fix: str, names: Names, means: NDArray[np.int64]) -> str:
    """What mends numbers that options name: numbers as they should be, or no names."""
    assert names.truth is not None
    assert names.truth.category_id is not None
    ids = dict(
        zip(names.places(names.truth.labels), names.truth.category_id.tolist(), strict=False)
    )
    meant = zip(names.numbers.values(), means.tolist(), strict=True)
    apart = {ids[klass] - number for number, klass in meant if klass in ids}
    plain = fix.replace(" reads", ", where names= is not needed, reads")
    if len(apart) != 1:
        return plain
    by = apart.pop()
    return f"labels {'plus' if by > 0 else 'less'} {abs(by)} in the detections, or {plain}"


def _truth_numbered(names: Names) -> Finding | None:
    """Objects whose numbers are positions in the list of categories, which has other ids.

    Where ids of the list follow each other, detections that are off by one look alike: they are
    spoken of below.
    """
    truth = names.truth
    if truth is None or not truth.numbered or len(names.all) > MOST_LABELS:
        return None
    assert truth.category_id is not None
    used, size = truth.category_id[np.unique(truth.label)], len(truth.labels)
    in_row = (np.diff(truth.category_id) == 1).all()
    if in_row or used.min(initial=0) < 0 or used.max(initial=0) > size:
        return None
    ours = names.places(truth.labels)[np.unique(truth.label)]
    used, ours = used[ours >= 0], ours[ours >= 0]
    counts, key = names.counts.T[ours], names.matches.vocabulary.key
    found = fitting_numbering(counts, used.tolist(), ours, names.place, key, truth, ())
    if found is None or found.left:
        return None
    own, other = on_meant(counts, ours), on_meant(counts, found.means)
    first = int((other - own).argmax())
    says, is_ = names.all[ours[first]], names.all[found.means[first]]
    return Finding(
        "OS316",
        Level.ERROR,
        f"objects of {np.count_nonzero(other > own)} of {len(ours)} categories are found as one "
        f"other class: objects named {says} as {is_} (in {other[first]} of {counts[first].sum()} "
        f"images), as {found.meaning} would be",
        count=int(np.count_nonzero(other > own)),
        example=f"category {used[first]}, {says}, found as {is_}",
        cause=f"the numbers of the objects are {found.meaning}, which has other ids",
        fix="in every annotation write the id of the category at that place in the list, from the "
        f"file before any object was removed (so that {used[first]} becomes the id of {is_}); "
        "force=True evaluates as it is",
    )


def _labels(names: Names) -> Finding | None:
    """Labels that mean other classes, in how many images they do."""
    matches = names.matches
    if len(names.all) > MOST_LABELS:
        return None
    seen = names.seen.on_any_of(names.heard)
    counts = seen.counts()
    found, level = misnamed(counts), Level.ERROR
    if not found:
        in_part = _labels_in_part(matches, names, seen) or mixed_labels(matches, seen)
        # Of few images, weak boxes of a class are on anything like it; the surest are not.
        counts = seen.first(_SUREST).counts()
        found, level = exchanged(counts), Level.WARNING
        if in_part is not None or not found:
            return in_part
    everything = names.counts
    found = _told_by_all(found, everything) or found
    said = [
        f"{names.all[d]} on {names.all[o]} (in {everything[d, o]} of {everything[d].sum()} images)"
        for d, o in found.items()
    ]
    labels = int(np.count_nonzero(counts.sum(axis=1)))
    cause, fix = explained(names, found, counts)
    return Finding(
        "OS316",
        level,
        f"{len(found)} of {labels} labels are put on objects of one other class: "
        + some(said, _SHOWN),
        count=len(found),
        example=said[0],
        cause=cause,
        fix=f"{fix}; force=True evaluates as it is",
    )


def _one_off(names: Names) -> Finding | None:
    """Labels that, from a place of the list of categories on, are those of the class beside."""
    truth = names.truth
    if truth is None or len(names.all) > MOST_LABELS:
        return None
    listed = names.places(truth.labels)
    of_objects = listed[truth.label]
    there = np.bincount(of_objects[of_objects >= 0], minlength=len(names.all)) >= FEWEST
    # Of a class without objects, as in a set of unknown ones alone, no label can be right.
    counts, listed = np.where(there[:, None], names.counts, 0), listed[:-1]
    found = one_off(counts, listed[listed >= 0])
    if not found:
        return None
    said = [
        f"{names.all[d]} on {names.all[o]} (in {counts[d, o]} of {counts[d].sum()} images)"
        for d, o in found.items()
    ]
    return Finding(
        "OS316",
        Level.ERROR,
        f"{len(found)} labels that follow each other in the list of categories are put on objects "
        f"of the class beside: {some(said, _SHOWN)}",
        count=len(found),
        example=said[0],
        cause="a class was removed from, or put into, the list of one side, whose later classes "
        "are one off",
        fix="number both sides by one list, with the names that numbers had when the objects were "
        "annotated and the detector was taught; force=True evaluates as it is",
    )


def _told_by_all(found: dict[int, int], counts: NDArray[np.int64]) -> dict[int, int]:
    """Pairs that hold among all classes: a label may mean one that no label says, and none else."""
    most = counts.argmax(axis=1)
    return {d: o for d, o in found.items() if most[d] == o and 2 * counts[d, o] > counts[d].sum()}


def _labels_in_part(matches: Matches, names: Names, seen: Seen) -> Finding | None:
    """Labels that mean other classes in some images, and what they say in the others."""
    found, images = misnamed_in_part(seen.image, seen.said, seen.on, seen.size)
    what = f"in {len(images)} images every label is put on objects of another class, and the same"
    if not found:
        found, images = misnamed_in_a_stretch(seen.image, seen.said, seen.on, seen.size)
        what = f"in {len(images)} images that follow each other {len(found)} labels are put on "
        what += "objects of one other class, and in the others they are right"
    if not found:
        return None
    said = [f"{names.all[d]} on {names.all[o]}" for d, o in found.items()]
    return Finding(
        "OS330",
        Level.ERROR,
        f"{what}: {some(said, _SHOWN)}",
        count=len(images),
        example=f"image {matches.image_ids[images[0]]}: {said[0]}",
    )


def _unknown_exchanged(matches: Matches) -> Finding | None:
    """A known label that is on unknown objects, and "unknown" on the objects of that class."""
    k = matches.n_known
    if k >= MOST_LABELS:
        return None
    rows = best_of_each(matches, 1)
    unknown = rows[rows >= matches.known_end]
    seen = Seen.of(matches, unknown, matches.class_at(unknown), matches.objects.klass, k + 1)
    on = seen.counts()[k]
    if on[:k].max(initial=0) < max(FEWEST, RATIO * on[k]):
        return None  # "unknown" means what it says: no need to look at the other labels
    counts = Seen.of(matches, rows, matches.class_at(rows), matches.objects.klass, k + 1).counts()
    found = misnamed(counts)
    klass = found.get(k, -1)
    if found.get(klass) != k:
        return None
    name = matches.vocabulary.known[klass]
    return Finding(
        "OS316",
        Level.ERROR,
        f"boxes labelled unknown are on {name} in {counts[k, klass]} of {counts[k].sum()} images, "
        f"and boxes labelled {name} on unknown objects in {counts[klass, k]} of "
        f"{counts[klass].sum()}",
        count=2,
        example=f"unknown on {name}",
        cause=f"the labels of unknown and of {name} are exchanged",
        fix="exchange them in a JSON or CSV file, if that is so: category_ids='FILE'; "
        "force=True evaluates as it is",
    )
