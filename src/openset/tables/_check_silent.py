"""Checks of known classes that a detector never names: by chance, by a slip, or left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, share
from openset.tables._check_numbers import names_of, on_objects
from openset.tables.join import ABSENT
from openset.wording import some, spaced

_FEWEST = 8  # objects of a class
_LAST = 2  # classes
# Known classes that are never named: many, or one with many objects; detections for each class.
_MANY, _OBJECTS, _OFTEN, _EACH, _NAMED = 5, 20, 0.05, 20, 10
_FIRST_CLASS = (
    "{} is the first of its list: a test such as `if label:` drops class 0, or it is taken for "
    "background",
    "write the boxes of class 0 as well; nothing, if the detector does not find that class",
)
_FILTERED = (
    "the boxes of other classes were left out of the file (a filter such as --classes 0), or the "
    "detector was taught these few",
    "write the boxes of all classes, or list in known= what the detector was taught",
)
# Boxes on objects, the share of them that is of its class, and times as often as by chance.
_RIGHT, _MOSTLY, _OFTENER = 30, 0.5, 1.5


def missed_classes(case: Case) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """How many objects known classes have, and those classes that have some and no detection."""
    k = len(case.vocabulary.known)
    objects = np.bincount(case.vocabulary.classes(case.truth.labels)[case.truth.label] + 1)
    wanted = np.pad(objects[1:], (0, k + 2))[:k]
    missed = np.flatnonzero((wanted > 0) & (case.per_class[-ABSENT:][:k] == 0))
    return wanted, missed[np.argsort(-wanted[missed], kind="stable")]


def _never(objects: NDArray[np.int64], missed: NDArray[np.intp], total: int) -> bool:
    """Whether it is no chance that classes are never named: a frequent one, or many of them.

    A detector that names few classes says so by itself, and one of few boxes says nothing.
    """
    there = int(np.count_nonzero(objects))
    if total < _EACH * there or 2 * len(missed) >= there + 1:
        return False
    often = objects[missed].max(initial=0) >= max(_OBJECTS, _OFTEN * objects.sum())
    often &= there - len(missed) >= _NAMED
    return bool(often or len(missed) >= max(_MANY, there / 4))


def _first_only(case: Case, wanted: NDArray[np.int64], missed: NDArray[np.intp]) -> bool:
    """Whether the first class of a list is the only one that is never named."""
    first_of = {0, *case.vocabulary.classes(case.truth.labels[:1]).tolist()}
    there = int(np.count_nonzero(wanted))
    few = len(case.detections) < _EACH * there or there <= _NAMED or wanted[missed[0]] < _FEWEST
    return not few and len(missed) == 1 and int(missed[0]) in first_of


def _left_out_of_the_file(case: Case, wanted: NDArray[np.int64], missed: NDArray[np.intp]) -> bool:
    """Whether the few classes that are named are named rightly: others were detected and dropped.

    A detector that has hardly begun to learn names few classes as well, for all objects alike.
    """
    k, there = len(wanted), int(np.count_nonzero(wanted))
    named = there - len(missed)
    if (
        not 0 < 2 * named <= there
        or there < _NAMED
        or len(case.detections) < _EACH * max(named, _NAMED)
    ):
        return False
    said, on, _ = on_objects(case)
    klass = np.append(case.vocabulary.classes(case.truth.labels), -1)
    said_class = np.append(case.vocabulary.classes(names_of(case)), -1)[said]
    on_class, known = klass[on], (said_class >= 0) & (said_class < k)
    right = (said_class == on_class)[known]
    often = np.bincount(said_class[known], minlength=k) / max(1, int(np.count_nonzero(known)))
    by_chance = float((often * wanted).sum()) / len(case.truth)
    return len(right) >= _RIGHT and bool(right.mean() >= max(_MOSTLY, _OFTENER * by_chance))


def _a_file_each(name: str) -> str:
    return (
        f"where each class has a file, that of {name} is missing (comp4_det_test_{name}.txt); or "
        "the class is not in the detector's list"
    )


def _ended_before(case: Case, names: list[str]) -> tuple[str, str]:
    """Cause and fix where rows are in the order of classes, and those that lack would come last.

    One class may be so by chance; of two or more it is one order among many.
    """
    label, ids = case.detections.label, case.truth.category_id
    named = bool(case.detections.labels) or not len(label)
    if named or len(names) < _LAST or (np.diff(label) < 0).any():
        return "", ""
    assert ids is not None
    place = dict(zip(map(case.vocabulary.key, case.truth.labels), ids.tolist(), strict=True))
    last = int(label[-1])
    if any(place.get(case.vocabulary.key(name), last) <= last for name in names):
        return "", ""
    cause = f"rows are in the order of category ids and end with {last}, before those of these "
    cause += "classes: the file was cut off, or the detector stopped"
    return cause, "copy or write the file again; nothing, if the detector has no such classes"


def undetected(case: Case) -> Iterator[Finding]:
    k, total = len(case.vocabulary.known), len(case.detections)
    detected = case.per_class[-ABSENT:]
    wanted, missed = missed_classes(case)
    names = [case.vocabulary.known[at] for at in missed]
    what = f"{share(len(names), k, 'known classes')} have objects but no detection"
    level = Level.WARNING if _never(wanted, missed, total) else Level.NOTE
    cause, fix = _ended_before(case, names)
    if names and case.detections.labels:
        cause = _a_file_each(names[0])
    if len(missed) and _first_only(case, wanted, missed):
        causes = [*filter(None, [cause]), _FIRST_CLASS[0].format(names[0])]
        level, cause, fix = Level.WARNING, "; or ".join(causes), _FIRST_CLASS[1]
    elif level is Level.NOTE and len(missed) and _left_out_of_the_file(case, wanted, missed):
        level, (cause, fix) = Level.WARNING, _FILTERED
    if names:
        said = f"{what}: {some(names)}"
        yield Finding("OS308", level, said, len(names), names[0], cause=cause, fix=fix)
    if detected[k] == 0:
        yield Finding(
            "OS309",
            Level.NOTE,
            f'0 of {spaced(total)} detections are labelled "unknown"',
            count=total,
            example=case.where(0),
        )
