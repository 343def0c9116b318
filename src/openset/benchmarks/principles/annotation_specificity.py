"""Annotation specificity: training shows new classes, validation known ones, the test all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.bundle import Bundle, Part
from openset.benchmarks.pool import group_mask
from openset.benchmarks.principles import Check, failed, note, of_split, passed, principle, unknown

_STAGE = {"train": "training", "finetune": "fine-tuning", "val": "validation"}
_ALLOWED = {"train": ("new",), "finetune": ("known",), "val": ("known",)}


@principle(
    "annotation_specificity",
    "Annotation specificity",
    3,
    fix="Show new classes in training and known ones in validation (`boxes` of a split), and "
    "state in a test file the roles of its task.",
)
def annotation_specificity(bundle: Bundle) -> Iterable[Check]:
    """Training shows boxes of new classes only, validation and fine-tuning of known ones only."""
    for part in bundle.parts:
        yield from of_split(part.name, _of_part(bundle, part))


def _of_part(bundle: Bundle, part: Part) -> Iterator[Check]:
    if part.kind in _ALLOWED:
        yield _allowed(bundle, part)
    elif part.table is not None:
        yield _stated(bundle, part)
    hidden = part.dropped.get("unknown", 0)
    if part.stage == "train" and hidden:
        said = f"{hidden} boxes of unknown classes lie on its images and are not shown: they "
        yield note("unknown objects as background", said + "teach background")


def _allowed(bundle: Bundle, part: Part) -> Check:
    groups = _ALLOWED[part.kind]
    what = f"{_STAGE[part.kind]} shows boxes of {groups[0]} classes only"
    if part.table is None:
        return _by_policy(part, what, groups[0])
    shown = group_mask(bundle.vocabulary(part.task), part.table.labels, (*groups, "ignored"))
    rows = np.flatnonzero(~shown[part.table.label])
    if not len(rows):
        return passed(what, f"all {len(part.table)} boxes")
    images = len(np.unique(part.table.image[rows]))
    said = f"{len(rows)} boxes on {images} images are of other classes"
    if _all_previous(bundle, part, rows):
        said += ", all of previous tasks: RE-OWOD allows that, this is stricter"
    return failed(what, said, len(rows), [part.example(int(row)) for row in rows[:5]])


def _all_previous(bundle: Bundle, part: Part, rows: NDArray[np.intp]) -> bool:
    """Whether what a training shows too much are classes of earlier tasks alone."""
    assert part.table is not None
    before = group_mask(bundle.vocabulary(part.task), part.table.labels, ("previous",))
    return part.kind == "train" and bool(before[part.table.label[rows]].all())


def _by_policy(part: Part, what: str, allowed: str) -> Check:
    if not part.keep:
        return unknown(what, "boxes are not at hand")
    fine = {"new"} if allowed == "new" else {"new", "previous", "known"}
    # With one task, known and new are the same.
    fine |= {"known"} if part.task == 1 else set()
    wrong = [group for group in part.keep if group not in fine | {"ignored"}]
    if wrong:
        said = f"its policy shows {', '.join(wrong)} classes on {len(part.names)} images"
        return failed(what, said, len(part.names), part.lines)
    said = f"boxes are of {', '.join(part.keep)} classes, by our definition and not by its files"
    return passed(what, said)


def _stated(bundle: Bundle, part: Part) -> Check:
    """Roles that a test file states must be those of the benchmark at its task."""
    what = "a test file states the roles of its task"
    assert part.table is not None
    vocabulary = bundle.vocabulary(part.task)
    pairs = [
        (label, role, str(vocabulary.role(label)))
        for label, role in zip(part.table.labels, part.table.role, strict=True)
    ]
    wrong = [
        f"{label}: {said}, should be {role}"
        for label, said, role in pairs
        if said not in ("", role)
    ]
    if wrong:
        return failed(what, f"{len(wrong)} labels have another role", len(wrong), wrong)
    stated = sum(bool(said) for _, said, _ in pairs)
    return passed(what, f"{stated} of {len(pairs)} labels state a role, all the right one")
