"""Class openness: known and unknown classes are apart, both are met in the test, one is taught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from openset.benchmarks.bundle import Bundle, Part
from openset.benchmarks.principles import Check, failed, note, of_split, passed, principle, unknown
from openset.benchmarks.roles import overlaps
from openset.tables.vocabulary import Role, is_unknown_spelling

_APART = "known and unknown classes are apart"
_MET = {"test": ("known", "unknown"), "id": ("known",), "ood": ("unknown",)}
_OPEN = "some test images hold unknown objects"
_LISTED = "every label is in a list of classes"
_TESTED = "the test has objects of every known class"
_TAUGHT = "training images show no box of an unknown class"


@principle(
    "class_openness",
    "Class openness",
    1,
    fix="Keep every class in one list, show known classes only in training, and test on images of"
    " known and of unknown objects.",
)
def class_openness(bundle: Bundle) -> Iterable[Check]:
    """Known and unknown classes are apart, the test has both, and only known ones are taught."""
    both = [(name, *where) for name, *where in overlaps(bundle.roles) if "unknown" in where]
    if both:
        examples = [f"{name} is {here} and {there}" for name, here, there in both]
        yield failed(_APART, f"{len(both)} classes are both", len(both), examples)
    else:
        n = sum(map(len, bundle.roles.tasks))
        yield passed(_APART, f"{n} known classes, {len(bundle.roles.unknown)} stated unknown")
    tests = bundle.of_stage("test")
    if tests and all(part.kind == "id" for part in tests):
        yield failed(_OPEN, f"all {len(tests)} test splits are of known objects only", len(tests))
    for part in tests:
        yield from of_split(part.name, _met(bundle, part))
    for task in sorted({part.task for part in tests}):
        yield from of_split(f"task {task}", [_tested(bundle, task)])
    for part in tests:
        yield from of_split(part.name, _listed(bundle, part))
    for part in bundle.of_stage("train"):
        yield from of_split(part.name, [_taught(bundle, part)])


def _met(bundle: Bundle, part: Part) -> Iterator[Check]:
    """Whether a test split has objects of both kinds."""
    wanted = _MET[part.kind]
    what = f"the test has {' and '.join(wanted)} objects"
    if part.table is None:
        yield _could_be_met(bundle, part, what)
        return
    counts = Counter(part.roles(bundle.vocabulary(part.task)).tolist())
    lacking = [role for role in wanted if not counts[role]]
    said = ", ".join(f"{counts[role]} {role} objects" for role in ("known", "unknown"))
    if lacking == ["unknown"] and 1 < part.task == len(bundle.roles.tasks):
        yield passed(what, f"{said}; at the last task nothing is left to be unknown")
    elif lacking:
        yield failed(what, said, len(part.table.images))
    else:
        yield passed(what, said)
    yield _mixture(bundle, part)


def _could_be_met(bundle: Bundle, part: Part, what: str) -> Check:
    """Without boxes: whether annotators of its images looked for unknown classes at all."""
    vocabulary = bundle.vocabulary(part.task)
    sources = set(part.origin)
    if not sources <= bundle.universes.keys():
        return unknown(what, "neither boxes nor sources are at hand")
    if part.kind == "id":
        return unknown(what, "boxes are not at hand")
    if 1 < part.task == len(bundle.roles.tasks) and not vocabulary.unknown:
        return passed(what, "at the last task nothing is left to be unknown")
    labels = [label for source in sources for label in bundle.universes[source]]
    if not any(vocabulary.role(label) is Role.UNKNOWN for label in labels):
        said = f"all {len(part.names)} images are of {', '.join(sorted(sources))}, where nothing "
        return failed(what, said + "unknown is annotated", len(part.names), part.lines)
    return unknown(what, "boxes are not at hand")


def _mixture(bundle: Bundle, part: Part) -> Check:
    assert part.table is not None
    roles = part.roles(bundle.vocabulary(part.task))
    has = {role: np.zeros(len(part.table.images), np.bool_) for role in ("known", "unknown")}
    for role, flags in has.items():
        flags[part.table.image[roles == role]] = True
    known, other = has["known"], has["unknown"]
    said = (
        f"images with known objects only {int((known & ~other).sum())}, unknown only "
        f"{int((other & ~known).sum())}, both {int((known & other).sum())}, "
        f"neither {int((~known & ~other).sum())}"
    )
    return note("what test images hold", said)


def _tested(bundle: Bundle, task: int) -> Check:
    """Whether every class that is known at a task can be missed or found in its tests."""
    parts = [p for p in bundle.of_stage("test") if p.task == task and p.kind != "ood"]
    tables = [part.table for part in parts if part.table is not None]
    if not parts or len(tables) < len(parts):
        return unknown(_TESTED, "boxes are not at hand")
    vocabulary = bundle.vocabulary(task)
    there = {vocabulary.key(t.labels[i]) for t in tables for i in set(t.label.tolist())}
    lost = [name for name in vocabulary.known if vocabulary.key(name) not in there]
    if lost:
        return failed(_TESTED, f"{len(lost)} of {len(vocabulary.known)} have none", len(lost), lost)
    return passed(_TESTED, f"all {len(vocabulary.known)} classes")


def _listed(bundle: Bundle, part: Part) -> Iterator[Check]:
    """Whether the labels of objects are those that lists or annotators of the source name."""
    if part.table is None or not bundle.universes:
        return
    vocabulary = bundle.vocabulary(part.task)
    named = {vocabulary.key(k) for k in bundle.distinct.listed}
    named |= {vocabulary.key(k) for labels in bundle.universes.values() for k in labels}
    used = [part.table.labels[i] for i in sorted(set(part.table.label.tolist()))]
    odd = [k for k in used if vocabulary.key(k) not in named and not is_unknown_spelling(k)]
    if odd:
        said = f"{len(odd)} labels are in none; their objects count as {bundle.roles.rest}"
        yield failed(_LISTED, said, len(odd), odd)
    else:
        yield passed(_LISTED, f"{len(used)} labels")


def _taught(bundle: Bundle, part: Part) -> Check:
    what = _TAUGHT
    if part.table is None:
        if not part.keep:
            return unknown(what, "boxes are not at hand")
        if "unknown" in part.keep:
            said = f"its policy labels unknown objects on {len(part.names)} images"
            return failed(what, said, len(part.names), part.lines)
        shown = ", ".join(part.keep)
        return passed(what, f"boxes are of {shown} classes, by our definition and not by its files")
    rows = np.flatnonzero(part.roles(bundle.vocabulary(part.task)) == Role.UNKNOWN)
    if len(rows):
        examples = [part.example(int(row)) for row in rows[:5]]
        return failed(what, f"{len(rows)} boxes of unknown classes", len(rows), examples)
    return passed(what, f"none of {len(part.table)} boxes")
