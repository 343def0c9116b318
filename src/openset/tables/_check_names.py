"""Checks of what labels are called: names that say that they are no class, and names of others.

Roles go by names, and so do detections of most formats. A region that nobody annotated is often
written as a category of its own ("DontCare"), whose "objects" would count as unknown ones. And a
list of names that was sorted, while numbers and annotations stayed, gives every class the name of
another: nothing but what else a file says of its categories tells.

What a label means that is spelt nearly like another is asked elsewhere (`_check_labels`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import first, object_at, share
from openset.tables.annotations import Annotations
from openset.tables.vocabulary import Role, Vocabulary, normal
from openset.wording import some, spaced

# As letters and digits alone.
_REGIONS = ("ignore", "ignored", "crowd", "dontcare", "donotcare", "notlabeled", "notlabelled")
_NO_CLASS = {
    *(f"{kind}{of}" for kind in _REGIONS for of in ("", "s", "region", "regions", "area", "areas")),
    *("unlabeled", "unlabelled", "nolabel", "noclass", "na", "nan", "none", "null", "void"),
    *("background", "bg"),
}
_PERHAPS = {"other", "others", "misc", "miscellaneous"}  # honest classes are called so, too
_UNKNOWN = "unknown objects"
_LETTERS = re.compile(r"[\W_]+")

# COCO's classes in the order of its numbers, which leave some of 1 to 90 out, by super-class.
_ABOVE = {
    "person": "person",
    "vehicle": "bicycle, car, motorcycle, airplane, bus, train, truck, boat",
    "outdoor": "traffic light, fire hydrant, stop sign, parking meter, bench",
    "animal": "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe",
    "accessory": "backpack, umbrella, handbag, tie, suitcase",
    "sports": "frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, "
    "skateboard, surfboard, tennis racket",
    "kitchen": "bottle, wine glass, cup, fork, knife, spoon, bowl",
    "food": "banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake",
    "furniture": "chair, couch, potted plant, bed, dining table, toilet",
    "electronic": "tv, laptop, mouse, remote, keyboard, cell phone",
    "appliance": "microwave, oven, toaster, sink, refrigerator",
    "indoor": "book, clock, vase, scissors, teddy bear, hair drier, toothbrush",
}
_GAPS = frozenset((12, 26, 29, 30, 45, 66, 68, 69, 71, 83))
_FEWEST, _KINDS = 5, 3  # names that are contradicted, and super-classes that are given
_HALF = 0.5  # of the names that can be judged


def truth_names(truth: Annotations, vocabulary: Vocabulary | None) -> Iterator[Finding]:
    """Findings about what the labels of a ground truth are called.

    Args:
        truth: The ground truth.
        vocabulary: The roles of its labels, None where nobody has said them.
    """
    if len(truth):
        yield from _no_class(truth, vocabulary)
        yield from _of_others(truth)


def _no_class(truth: Annotations, vocabulary: Vocabulary | None) -> Iterator[Finding]:
    """Labels that say that they are no class, or are stated to be ignored, and count all the same.

    "Other" and "misc" are honest names of what is unknown, and said as a note.
    """
    counts = _counting(truth)
    named = [
        _LETTERS.sub("", label).lower() if label.strip() else "nolabel" for label in truth.labels
    ]
    said = frozenset(map(vocabulary.key, vocabulary.unknown)) if vocabulary else frozenset()
    held = [at for at, _ in enumerate(named) if counts[at] and _counts(truth, at, vocabulary, said)]
    stated = {at for at in held if vocabulary and truth.role[at] == Role.IGNORED}
    certain = [at for at in held if at in stated or named[at] in _NO_CLASS]
    perhaps = [at for at in held if at not in certain and named[at] in _PERHAPS]
    for level, labels in ((Level.WARNING, certain), (Level.NOTE, perhaps)):
        for role in dict.fromkeys(_role(truth, at, vocabulary) for at in labels):
            of_role = [at for at in labels if _role(truth, at, vocabulary) == role]
            if level is Level.WARNING or role == _UNKNOWN:
                yield _counted(truth, of_role, counts, (level, role))


def _counting(truth: Annotations) -> NDArray[np.int64]:
    """How many objects of each label are not marked to be left out."""
    assert truth.crowd is not None and truth.difficult is not None
    return np.bincount(truth.label[~(truth.crowd | truth.difficult)], minlength=len(truth.labels))


def _counts(
    truth: Annotations, at: int, vocabulary: Vocabulary | None, unknown: frozenset[str]
) -> bool:
    """Whether objects of a label count, and nobody has said that they should."""
    label, role = truth.labels[at], truth.role[at]
    if vocabulary is None:
        return role != Role.IGNORED
    if vocabulary.role(label) is Role.IGNORED:
        return False
    listed = vocabulary.key(label) in unknown
    return not (listed and (role == Role.UNKNOWN or not any(truth.role)))


def _role(truth: Annotations, at: int, vocabulary: Vocabulary | None) -> str:
    if vocabulary is None:
        return "objects of a class"
    known = vocabulary.role(truth.labels[at]) is Role.KNOWN
    return "objects of a known class" if known else _UNKNOWN


def _counted(
    truth: Annotations, labels: list[int], counts: NDArray[np.int64], said: tuple[Level, str]
) -> Finding:
    level, role = said
    names = [truth.labels[at] for at in labels]
    count = int(counts[labels].sum())
    rows = np.isin(truth.label, labels)
    why, cause = "whose name says that it is no class", ""
    if all(truth.role[at] == Role.IGNORED for at in labels):
        why = "that the ground truth states to be ignored"
        cause = "known= says all roles: those that the ground truth states are not read beside it"
    elif level is Level.NOTE:
        why = "whose name may say that it is no class"
    return Finding(
        "OS334",
        level,
        f"{share(count, len(truth), 'objects')} have a label {why}, and count as {role}: "
        + some(
            f"{truth.labels[at].strip() or '(blank)'} ({spaced(int(counts[at]))})" for at in labels
        ),
        count=count,
        example=f"{object_at(truth, first(rows))}, label {names[0]!r}",
        cause=cause,
        fix="write iscrowd=1 for these objects; or give the known classes in a vocabulary file "
        f"(TOML) with known = [...] and ignored = {names}; nothing, if it is a class",
    )


def _of_others(truth: Annotations) -> Iterator[Finding]:
    """Categories whose number, or super-class, in COCO is that of another name."""
    wrong, judged, said = _by_number(truth) or _by_super_class(truth)
    if wrong:
        yield Finding(
            "OS336",
            Level.ERROR if len(wrong) >= _HALF * judged else Level.WARNING,
            f"{share(len(wrong), judged, 'categories')} of COCO have the name of another: {said}",
            count=len(wrong),
            example=f"category {_number(truth, wrong[0])} is called {truth.labels[wrong[0]]!r}",
        )


def _number(truth: Annotations, at: int) -> int:
    assert truth.category_id is not None
    return int(truth.category_id[at])


def _by_number(truth: Annotations) -> tuple[list[int], int, str] | None:
    """Names that are not those of their numbers, where names and numbers are all those of COCO."""
    names = ", ".join(_ABOVE.values()).split(", ")
    own = [normal(name) for name in truth.labels]
    if not truth.numbered or sorted(own) != sorted(map(normal, names)):
        return None
    held = [_number(truth, at) for at in range(len(own))]
    meant = dict(zip((at for at in range(1, 91) if at not in _GAPS), names, strict=True))
    if sorted(held) != [*meant]:
        return None
    wrong = [at for at, number in enumerate(held) if normal(meant[number]) != own[at]]
    pairs = (f"{held[at]} is {truth.labels[at]!r}, in COCO {meant[held[at]]!r}" for at in wrong)
    return wrong, len(own), some(pairs, 3)


def _by_super_class(truth: Annotations) -> tuple[list[int], int, str]:
    """Names whose super-class is one of COCO, and not theirs, where several of these are given."""
    above = {normal(name): of for of, names in _ABOVE.items() for name in names.split(", ")}
    given = dict(enumerate(truth.supercategory))
    judged = [at for at in given if given[at] in _ABOVE and normal(truth.labels[at]) in above]
    wrong = [at for at in judged if given[at] != above[normal(truth.labels[at])]]
    kinds = len({given[at] for at in judged})
    if kinds < _KINDS or len(wrong) < max(_FEWEST, _HALF * len(judged)):
        return [], 0, ""
    said = some((f"{truth.labels[at]!r} is under {given[at]!r}" for at in wrong), 3)
    return wrong, len(judged), said
