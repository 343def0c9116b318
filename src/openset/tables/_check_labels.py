"""Checks of labels: do they exist, do they have roles, are they numbered the same way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, first, object_at, share, tally
from openset.tables._look import LOOSE, beside, by_file
from openset.tables.annotations import Annotations
from openset.tables.boxes import Convention
from openset.tables.columns import positions
from openset.tables.evidence import logit_classes
from openset.tables.join import ABSENT, IGNORED
from openset.tables.vocabulary import Role, Vocabulary, is_unknown_spelling, normal
from openset.wording import SLIP, some, spaced

_SAMPLE = 150, 20  # images, and boxes of each, that tell what ids mean
_FEWEST, _TIMES = 8, 3
# Known classes that are never named: many, or one with many objects; detections for each class.
_MANY, _OBJECTS, _OFTEN, _EACH, _NAMED = 5, 20, 0.05, 20, 10
_BACKGROUND = (
    "0 is the detector's background, or a class of its own",
    "leave the boxes of id 0 out of the file, or map the id: category_ids='FILE'",
)
_NEAR = 0.85  # likeness from which a label is another that was misspelt


def truth_labels(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Findings about the labels of the ground truth and their roles."""
    classes = vocabulary.classes(truth.labels)
    yield from vocabulary_labels(truth, vocabulary, classes)
    yield from _spellings(truth.labels, "ground truth")
    yield from _merged(truth, vocabulary, classes)
    yield from _contradicted(truth, vocabulary)
    if len(truth):
        yield from _roles(truth, vocabulary, classes)


def vocabulary_labels(
    truth: Annotations, vocabulary: Vocabulary, classes: NDArray[np.int32]
) -> Iterator[Finding]:
    """Known labels that the ground truth does not have."""
    present = set(classes.tolist())
    missing = [name for at, name in enumerate(vocabulary.known) if at not in present]
    if not missing:
        return
    # A file of unknown objects alone has good reason to lack every known label.
    wild = all(is_unknown_spelling(label) or label in vocabulary.unknown for label in truth.labels)
    none = len(missing) == len(vocabulary.known) and not wild
    numbers = all(label.isdecimal() for label in truth.labels)
    near = _nearly(missing, truth.labels, vocabulary)
    cause, fix = f"{SLIP}: {near}" if near else "", ""
    if none and numbers:
        cause = "the classes are numbered, and nothing names them"
        fix = "names= says what the numbers are called"
    yield Finding(
        "OS310",
        Level.ERROR if none else Level.WARNING if near else Level.NOTE,
        f"{share(len(missing), len(vocabulary.known), 'known labels')} are absent from the ground "
        f"truth: {some(missing)}",
        count=len(missing),
        example=f"{missing[0]!r}; the ground truth has {some(map(repr, truth.labels), 3)}",
        cause=cause,
        fix=fix,
    )


def _nearly(missing: list[str], labels: Sequence[str], vocabulary: Vocabulary) -> str:
    """Known labels that are absent beside unknown ones that are spelt nearly so.

    As they are spelt, too: the key of one that has synonyms is another word.
    """
    from difflib import get_close_matches

    unknown = [label for label in labels if vocabulary.role(label) is Role.UNKNOWN]
    named = [label for label in unknown if not is_unknown_spelling(label)]
    keys = {of(label): label for of in (vocabulary.key, normal) for label in named}
    pairs = [(name, get_close_matches(normal(name), keys, 1, _NEAR)) for name in missing]
    return some(f"{name!r} for {keys[close[0]]!r}" for name, close in pairs if close)


def _contradicted(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Labels that known= lists and the ground truth itself states to be unknown."""
    pairs = zip(truth.labels, truth.role, strict=True)
    both = [
        label
        for label, role in pairs
        if role == Role.UNKNOWN and vocabulary.role(label) is Role.KNOWN
    ]
    listed = share(len(both), len(vocabulary.known), "labels")
    what = f"known= lists {listed} that the ground truth states to be unknown"
    yield from _listed("OS327", Level.ERROR, what, both)


def _listed(code: str, level: Level, what: str, names: list[str]) -> Iterator[Finding]:
    """The finding that names the first few, if there is any."""
    if names:
        yield Finding(code, level, f"{what}: {some(names)}", count=len(names), example=names[0])


def _spellings(labels: tuple[str, ...], where: str) -> Iterator[Finding]:
    spelt = sorted({label for label in labels if is_unknown_spelling(label)})
    if len(spelt) > 1:
        names = ", ".join(map(repr, spelt))
        yield Finding(
            "OS311",
            Level.WARNING,
            f'{len(spelt)} spellings of "unknown" in the {where} were merged: {names}',
            count=len(spelt),
            example=names,
        )


def _merged(
    truth: Annotations, vocabulary: Vocabulary, classes: NDArray[np.int32]
) -> Iterator[Finding]:
    known = classes[(classes >= 0) & (classes < len(vocabulary.known))]
    values, times = np.unique(known, return_counts=True)
    if len(values) == len(known):
        return
    groups = [
        " = ".join(repr(truth.labels[at]) for at in np.flatnonzero(classes == value))
        for value in values[times > 1]
    ]
    what = "known classes have several labels in the ground truth, which were merged"
    yield from _listed("OS313", Level.WARNING, f"{len(groups)} {what}", groups)


def _roles(
    truth: Annotations, vocabulary: Vocabulary, classes: NDArray[np.int32]
) -> Iterator[Finding]:
    k = len(vocabulary.known)
    assert truth.crowd is not None
    assert truth.difficult is not None
    klass = classes[truth.label]
    counts = np.bincount(klass[~(truth.crowd | truth.difficult)] + 1, minlength=k + 2)
    known, unknown = int(counts[1:-1].sum()), int(counts[-1])
    if unknown == 0:
        cause, fix = _left_out(truth, klass == k, "unknown")
        found = _no_objects("OS302", Level.WARNING, truth, "unknown")
        yield replace(found, cause=cause or found.cause, fix=fix or found.fix)
    if known == 0:
        level = Level.WARNING if unknown else Level.ERROR
        cause, fix = _left_out(truth, (klass >= 0) & (klass < k), "known")
        yield replace(_no_objects("OS303", level, truth, "known"), cause=cause, fix=fix)
    present = set(classes.tolist())
    empty = [
        name for at, name in enumerate(vocabulary.known) if at in present and not counts[at + 1]
    ]
    what = f"{share(len(empty), k, 'known classes')} have no object"
    yield from _listed("OS304", Level.NOTE, what, empty)
    ignored = klass == IGNORED
    if ignored.any():
        yield _ignored(truth, ignored)


def _no_objects(code: str, level: Level, truth: Annotations, role: str) -> Finding:
    total = len(truth)
    message = f"none of {spaced(total)} objects is {role}: metrics that need them are None"
    example = f"the labels are {some(map(repr, truth.labels))}"
    return Finding(code, level, message, count=total, example=example)


def _left_out(truth: Annotations, there: NDArray[np.bool_], role: str) -> tuple[str, str]:
    """Cause and fix where objects of a role are there, and all are marked to be left out."""
    if not there.any():
        return "", ""
    assert truth.crowd is not None
    mark = "iscrowd" if truth.crowd[there].any() else "difficult"
    number = spaced(int(np.count_nonzero(there)))
    cause = f"all {number} objects of {role} classes are marked to be left out ({mark})"
    return cause, f"write {mark} of those objects alone that should not count"


def _ignored(truth: Annotations, ignored: NDArray[np.bool_]) -> Finding:
    count = int(np.count_nonzero(ignored))
    names = some(truth.labels[at] for at in np.unique(truth.label[ignored]))
    return Finding(
        "OS312",
        Level.NOTE,
        f"{share(count, len(truth), 'objects')} have an ignored label: {names}",
        count=count,
        example=object_at(truth, first(ignored)),
    )


def detected_labels(case: Case) -> Iterator[Finding]:
    """Findings about the labels of the detections."""
    if len(case.detections) == 0:
        return
    yield from _spellings(case.detections.labels, "detections")
    if not (case.detections.labels or case.truth.numbered):
        yield _unnumbered(case)
        return
    numbering = [*_numbering(case)]
    foreign = [*_foreign_names(case)]
    yield from numbering or _absent(case)
    yield from foreign or [*_exchanged(case), *_leaked(case), *_taught_more(case)]
    yield from _undetected(case)


def _unnumbered(case: Case) -> Finding:
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


def _absent(case: Case) -> Iterator[Finding]:
    count, total = int(case.per_class[0]), len(case.detections)
    if count == 0:
        return
    absent = case.joined.klass == ABSENT
    ids, _ = tally(case.detections.label[absent])
    yield Finding(
        "OS306",
        Level.ERROR if count == total else Level.WARNING,
        f"{share(count, total, 'detections')} have a category id that the ground truth does not "
        f"have: {some(map(str, ids.tolist()))}",
        count=count,
        example=f"{case.where(first(absent))}, category id {case.detections.label[first(absent)]}",
        cause=_BACKGROUND[0] if ids.tolist() == [0] else "",
        fix=_BACKGROUND[1] if ids.tolist() == [0] else "",
    )


def _foreign_names(case: Case) -> Iterator[Finding]:
    """Names that neither the ground truth nor the vocabulary has, if no other but "unknown" is."""
    labels, vocabulary = case.detections.labels, case.vocabulary
    if not labels or not case.joined.leaked.any():
        return
    names = {vocabulary.key(name) for name in (*case.truth.labels, *vocabulary.unknown)}
    names |= set(map(vocabulary.key, vocabulary.known))
    used = [labels[at] for at in case.per_label[0] if not is_unknown_spelling(labels[at])]
    if any(vocabulary.key(label) in names for label in used):
        return
    count, row = int(np.count_nonzero(case.joined.leaked)), first(case.joined.leaked)
    yield Finding(
        "OS306",
        Level.ERROR,
        f"{share(count, len(case.detections), 'detections')} have a label that the ground truth "
        f"does not have: {some(map(repr, used))}",
        count=count,
        example=f"{case.where(row)}, label {labels[case.detections.label[row]]!r}",
    )


def _numbering(case: Case) -> Iterator[Finding]:
    if case.detections.labels or case.per_class[0] == 0:
        return
    assert case.truth.category_id is not None
    ids, times = case.per_label
    start = _first_number(ids, times, case.truth.category_id)
    if start is None or _right_as_they_are(case, start):
        return
    total = len(case.detections)
    given = some(map(str, np.sort(case.truth.category_id).tolist()))
    reads = "index1" if start else "index"
    fits = ids[-1] - start < len(case.truth.category_id)
    yield Finding(
        "OS307",
        Level.ERROR,
        f"{share(total, total, 'detections')} have category ids in {ids[0]}..{ids[-1]}, numbered "
        f"from {start}; the ground truth has {given}",
        count=total,
        example=f"{case.where(0)}, category id {case.detections.label[0]}",
        cause=f"the detector writes the position of the class, counted from {start}",
        fix=f"category_ids='{reads}' reads them; force=True evaluates as it is" if fits else "",
    )


def _right_as_they_are(case: Case, start: int) -> bool:
    """Whether boxes lie on objects of the ids that they say, and not of the positions."""
    assert case.truth.category_id is not None
    sample = by_file(case, *_SAMPLE)
    look = beside(case.truth, sample, sample.image)
    fits = look.overlap(Convention.of(case.written.boxes)) >= LOOSE
    said, on = sample.row[look.by[fits]], case.truth.label[look.objects[look.at[fits]]]
    said = case.detections.label[said]
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


def _exchanged(case: Case) -> Iterator[Finding]:
    """Detections that name classes, but no known one: known= may list what is unknown."""
    total, k = len(case.detections), len(case.vocabulary.known)
    if case.per_class[-ABSENT : k - ABSENT].any() or not case.joined.leaked.any():
        return
    if case.vocabulary.classes(case.truth.labels).min(initial=k) >= k:
        return  # known= is of another data set, which the ground truth's findings say
    count = int(np.count_nonzero(case.joined.leaked))
    named = [name for name in _names(case) if name and not is_unknown_spelling(name)]
    yield Finding(
        "OS327",
        Level.ERROR,
        f"0 of {spaced(total)} detections name a known class, {spaced(count)} name classes that "
        f"are unknown here: {some(named)}",
        count=count,
        example=f"{case.where(first(case.joined.leaked))}; known are {some(case.vocabulary.known)}",
    )


def _leaked(case: Case) -> Iterator[Finding]:
    if not case.joined.leaked.any():
        return
    k = len(case.vocabulary.known)
    times, labels = case.per_label[1], _names(case)
    named = np.array([label != "" and not is_unknown_spelling(label) for label in labels])
    leaks = np.flatnonzero(named & (case.vocabulary.classes(labels) == k))
    order = leaks[np.argsort(-times[leaks], kind="stable")]
    names = [f"{labels[at]} ({spaced(int(times[at]))})" for at in order]
    count = int(times[leaks].sum())
    classes = "1 class that is" if len(names) == 1 else f"{len(names)} classes that are"
    slip = _slip(case, [labels[at] for at in order])
    yield Finding(
        "OS305",
        Level.WARNING,
        f"{share(count, len(case.detections), 'detections')} are labelled with {classes} unknown "
        f"here: {some(names)}",
        count=count,
        example=case.where(first(case.joined.leaked)),
        cause=f"{SLIP} in the known classes: {slip}" if slip else "",
        fix="correct known=" if slip else "",
    )


def _taught_more(case: Case) -> Iterator[Finding]:
    """Logits of classes that are unknown here, though no box is labelled with one."""
    if case.joined.leaked.any():
        return  # said by `_leaked`
    k, truth = len(case.vocabulary.known), case.truth.labels
    columns = [name for name in logit_classes(case.detections) if not is_unknown_spelling(name)]
    key = case.vocabulary.key
    there = {key(name) for name in truth} if (case.vocabulary.classes(columns) == k).any() else ()
    leaks = [n for n in columns if case.vocabulary.role(n) is Role.UNKNOWN and key(n) in there]
    if leaks:
        yield Finding(
            "OS333",
            Level.WARNING,
            f"the logits have {len(columns)} classes, and {len(leaks)} of them are unknown here: "
            f"{some(leaks)}",
            count=len(leaks),
            example=repr(leaks[0]),
        )


def _slip(case: Case, leaked: list[str]) -> str:
    """Leaked classes that known= may mean under another spelling, which no object has."""
    present = set(case.vocabulary.classes(case.truth.labels).tolist())
    known = enumerate(case.vocabulary.known)
    missing = [name for at, name in known if at not in present]
    return _nearly(missing, leaked, case.vocabulary) if missing else ""


def _names(case: Case) -> list[str]:
    """Names of the detections' labels, empty where the ground truth does not have the id."""
    values = case.per_label[0]
    if case.detections.labels:
        return [case.detections.labels[value] for value in values.tolist()]
    assert case.truth.category_id is not None
    labels = (*case.truth.labels, "")
    return [labels[at] for at in positions(case.truth.category_id, values).tolist()]


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


def _a_file_each(name: str) -> str:
    return (
        f"where each class has a file, that of {name} is missing (comp4_det_test_{name}.txt); or "
        "the class is not in the detector's list"
    )


def _undetected(case: Case) -> Iterator[Finding]:
    k, total = len(case.vocabulary.known), len(case.detections)
    detected = case.per_class[-ABSENT:]
    objects = np.bincount(case.vocabulary.classes(case.truth.labels)[case.truth.label] + 1)
    wanted = np.pad(objects[1:], (0, k + 2))[:k]
    missed = np.flatnonzero((wanted > 0) & (detected[:k] == 0))
    missed = missed[np.argsort(-wanted[missed], kind="stable")]
    names = [case.vocabulary.known[at] for at in missed]
    what = f"{share(len(names), k, 'known classes')} have objects but no detection"
    level = Level.WARNING if _never(wanted, missed, total) else Level.NOTE
    for one in _listed("OS308", level, what, names):
        yield replace(one, cause=_a_file_each(names[0]) if case.detections.labels else one.cause)
    if detected[k] == 0:
        yield Finding(
            "OS309",
            Level.NOTE,
            f'0 of {spaced(total)} detections are labelled "unknown"',
            count=total,
            example=case.where(0),
        )
