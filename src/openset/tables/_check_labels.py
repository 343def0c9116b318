"""Checks of labels: do they exist, do they have roles, are they numbered the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.json_text import compact
from openset.tables._check_case import Case, first, object_at, share
from openset.tables._check_chance import chance_of
from openset.tables._check_no_label import detected_nothing, objects_of_nothing
from openset.tables._check_numbers import (
    NO_OBJECT,
    absent,
    images_of,
    names_of,
    numbering,
    on_nothing,
    on_objects,
    unnumbered,
)
from openset.tables._check_silent import missed_classes, undetected
from openset.tables.annotations import Annotations
from openset.tables.evidence import logit_classes
from openset.tables.join import ABSENT, IGNORED
from openset.tables.vocabulary import (
    Role,
    Vocabulary,
    is_unknown_spelling,
    normal,
    vocabularies,
)
from openset.wording import SLIP, some, spaced

_FEWEST, _HALF = 8, 0.5  # images, and their share, that tell what a name means
_MACHINE = ("/m/", "/g/", "/t/")  # how codes of Open Images begin
_NEAR = 0.85  # likeness from which a label is another that was misspelt

# What a list from elsewhere has beside a name: "0 dog", "1: dog", "- dog", "'dog',".
_BESIDE_NAME = re.compile(r"^[\s\-*]*(?:\d+\s*[.:)\]-]?\s*)?[\"']*|[\"',;\s]+$")


def truth_labels(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Findings about the labels of the ground truth and their roles."""
    classes = vocabulary.classes(truth.labels)
    yield from vocabulary_labels(truth, vocabulary, classes)
    yield from _spellings(truth.labels, "ground truth")
    yield from objects_of_nothing(truth, vocabulary)
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
    elif none and any(label.startswith(_MACHINE) for label in truth.labels):
        cause = "labels are Open Images' machine ids, and their names are in a file beside them"
        fix = "list machine ids in known=; or evaluate, from Python, openset.read(GT, "
        fix += "descriptions='class-descriptions-boxable.csv')"
    elif listed := _listed_otherwise(missing, truth):
        cause, fix = near, _ = listed
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


def _listed_otherwise(missing: list[str], truth: Annotations) -> tuple[str, str] | None:
    """Cause and fix where a list has numbers in place of names, or more than them in its lines."""
    assert truth.category_id is not None
    ids = dict(zip(map(str, truth.category_id.tolist()), truth.labels, strict=True))
    meant = [ids.get(name) for name in missing] if truth.numbered else []
    names = [name for name in meant if name is not None]
    if names and len(names) == len(meant):
        return "category ids were listed in place of names", f"write the names: {some(names)}"
    spelt = {normal(label): label for label in truth.labels}
    bare = {name: spelt.get(normal(_BESIDE_NAME.sub("", name))) for name in missing}
    found = [f"{label!r} for {name!r}" for name, label in bare.items() if label is not None]
    if 2 * len(found) < len(missing):
        return None
    cause = "numbers, dashes, quotes or commas stand beside the names of a list"
    return cause, f"write the names alone: {some(found, 3)}"


def _nearly(missing: list[str], labels: Sequence[str], vocabulary: Vocabulary) -> str:
    """Known labels that are absent beside unknown ones that are spelt nearly so.

    As they are spelt, too: the key of one that has synonyms is another word.
    """
    unknown = [label for label in labels if vocabulary.role(label) is Role.UNKNOWN]
    named = [label for label in unknown if not is_unknown_spelling(label)]
    keys = {of(label): label for of in (vocabulary.key, normal) for label in named}
    return some(f"{name!r} for {label!r}" for name, label in _close(missing, keys).items())


def _close(names: Sequence[str], keys: Mapping[str, str]) -> dict[str, str]:
    """Names beside the labels, by their spelling, that are spelt nearly so."""
    from difflib import get_close_matches

    pairs = [(name, get_close_matches(normal(name), keys, 1, _NEAR)) for name in names]
    return {name: keys[close[0]] for name, close in pairs if close}


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
    count = int(np.count_nonzero(there))
    crowds = np.count_nonzero(truth.crowd[there])
    mark = "iscrowd" if 2 * crowds >= count else "difficult or ignore"
    number = spaced(count)
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
    yield from detected_nothing(case)
    if not (case.detections.labels or case.truth.numbered):
        yield unnumbered(case)
        return
    numbered = [*numbering(case)]
    foreign = [*_foreignnames_of(case)]
    yield from numbered or absent(case)
    yield from foreign
    if all(one.level is not Level.ERROR for one in foreign):
        own = [] if foreign else [*_own_unknown(case)]
        yield from own
        yield from [*_exchanged(case), *([] if own else _leaked(case)), *_taught_more(case)]
    yield from undetected(case)


def _own_unknown(case: Case) -> Iterator[Finding]:
    """The one name that is no known class, is nowhere else and no class of data sets: its unknown.

    A class that was taught beside the known ones has a name that someone else has, too.
    """
    labels, vocabulary = case.detections.labels, case.vocabulary
    if not labels or not case.joined.leaked.any():
        return
    used, foreign = _names(case)
    beside = [one for one in used if vocabulary.role(one) is not Role.KNOWN]
    elsewhere = {vocabulary.key(name) for one in vocabularies().values() for name in one.known}
    said = len(used) < len(case.per_label[0])  # "unknown", as such
    if said or len(foreign) != 1 or beside != foreign or vocabulary.key(foreign[0]) in elsewhere:
        return
    rows, word = case.joined.leaked, foreign[0]
    nothing = chance_of(case, rows)
    cause = f"{word!r} is what the detector calls unknown; or a class more that it was taught"
    fix = (
        f"unknown_label={word!r} says so, and they count as unknown, as they do now; if it is "
        "a class, the detector was taught it: leaked='drop' removes them"
    )
    yield Finding(
        "OS306",
        Level.WARNING,
        f"{share(int(np.count_nonzero(rows)), len(case.detections), 'detections')} have a label "
        f'that the ground truth does not have, and none says "unknown": {word!r}'
        + on_nothing(nothing),
        count=int(np.count_nonzero(rows)),
        example=case.where(first(rows)),
        cause=cause if nothing is None else NO_OBJECT[0],
        fix=fix if nothing is None else f"{NO_OBJECT[1]}: leaked='drop' removes them",
    )


def _names(case: Case) -> tuple[list[str], list[str]]:
    """Names of the detections but for "unknown", and which of them are nowhere else."""
    labels, vocabulary = case.detections.labels, case.vocabulary
    names = {vocabulary.key(name) for name in (*case.truth.labels, *vocabulary.unknown)}
    names |= set(map(vocabulary.key, vocabulary.known))
    used = [labels[at] for at in case.per_label[0] if not is_unknown_spelling(labels[at])]
    return used, [label for label in used if vocabulary.key(label) not in names]


def _foreignnames_of(case: Case) -> Iterator[Finding]:
    """Names that neither the ground truth nor the vocabulary has, if no other but "unknown" is."""
    labels = case.detections.labels
    if not labels or not case.joined.leaked.any():
        return
    used, foreign = _names(case)
    if len(foreign) < len(used):
        yield from _spelt_otherwise(case, foreign) if foreign else ()
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


def _spelt_otherwise(case: Case, foreign: list[str]) -> Iterator[Finding]:
    """Names that are nowhere else, of known classes that are never named: a slip, or a synonym."""
    _, missed = missed_classes(case)
    known = [case.vocabulary.known[at] for at in missed]
    slips = _close(known, {normal(label): label for label in foreign})
    meant = {label: name for name, label in slips.items()}
    if not meant:
        meant = _by_objects(case, foreign, set(missed.tolist()))
    if not meant:
        return
    label = np.isin(np.array(case.detections.labels), [*meant])[case.detections.label]
    count = int(np.count_nonzero(label))
    table = some(f"{one!r} for {name!r}" for one, name in meant.items())
    yield Finding(
        "OS306",
        Level.ERROR if slips else Level.WARNING,
        f"{share(count, len(case.detections), 'detections')} have a label that the ground truth "
        f"does not have, as if for a known class that no label names: {table}",
        count=count,
        example=case.where(first(label)),
        cause="another spelling, or another name, of a known class",
        fix=f"write {compact(meant)} to a JSON file, if that is so: category_ids='FILE'"
        + ("; force=True counts them as unknown" if slips else ""),
    )


def _by_objects(case: Case, foreign: list[str], missed: set[int]) -> dict[str, str]:
    """Classes never named on whose objects nearly all boxes of a label lie."""
    said, on, image = on_objects(case)
    names, klass = names_of(case), case.vocabulary.classes(case.truth.labels)
    shape = len(names), len(case.vocabulary.known) + 1
    counts = images_of(said, klass[on].astype(np.int64), image, shape)
    best = counts.argmax(axis=1)
    clear = counts.max(axis=1) >= np.maximum(_FEWEST, _HALF * counts.sum(axis=1))
    return {
        name: case.vocabulary.known[best[at]]
        for at, name in enumerate(names)
        if clear[at] and name in foreign and int(best[at]) in missed
    }


def _exchanged(case: Case) -> Iterator[Finding]:
    """Detections that name classes, but no known one: known= may list what is unknown."""
    total, k = len(case.detections), len(case.vocabulary.known)
    if case.per_class[-ABSENT : k - ABSENT].any() or not case.joined.leaked.any():
        return
    if case.vocabulary.classes(case.truth.labels).min(initial=k) >= k:
        return  # known= is of another data set, which the ground truth's findings say
    count = int(np.count_nonzero(case.joined.leaked))
    named = [name for name in names_of(case) if name and not is_unknown_spelling(name)]
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
    times, labels = case.per_label[1], names_of(case)
    named = np.array([label != "" and not is_unknown_spelling(label) for label in labels])
    leaks = np.flatnonzero(named & (case.vocabulary.classes(labels) == k))
    order = leaks[np.argsort(-times[leaks], kind="stable")]
    names = [f"{labels[at]} ({spaced(int(times[at]))})" for at in order]
    count = int(times[leaks].sum())
    classes = "1 class that is" if len(names) == 1 else f"{len(names)} classes that are"
    slip = _slip(case, [labels[at] for at in order])
    cause, fix = (f"{SLIP} in the known classes: {slip}", "correct known=") if slip else ("", "")
    if not slip and len(order) == 1:
        cause, fix = _after_the_last(case, int(case.per_label[0][order[0]]))
    yield Finding(
        "OS305",
        Level.WARNING,
        f"{share(count, len(case.detections), 'detections')} are labelled with {classes} unknown "
        f"here: {some(names)}",
        count=count,
        example=case.where(first(case.joined.leaked)),
        cause=cause,
        fix=fix,
    )


def _after_the_last(case: Case, label: int) -> tuple[str, str]:
    """Cause and fix where the one class that leaks has the number after all classes."""
    lists = {len(case.vocabulary.known): "known class", len(case.truth.labels): "category"}
    ends = {number + more: name for number, name in lists.items() for more in (0, 1)}
    if case.detections.labels or label not in ends:
        return "", ""
    return (
        f"the detector was trained on it; or {label}, the number after that of the last "
        f"{ends[label]}, is what it calls unknown",
        f"unknown_label={label} if that is so; else leaked='unknown' counts them as unknown, "
        "leaked='drop' removes them; or add the class to known=",
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
