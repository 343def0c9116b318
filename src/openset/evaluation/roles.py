"""Roles: what a vocabulary states, as a result keeps it, and how those of two results differ.

A hash tells that vocabularies differ; people need to know in which classes. Not the vocabulary
itself (`openset.tables.Vocabulary`): a result read from a file has no labels to look up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from openset.tables import Role, Vocabulary
from openset.tables.vocabulary import SAME_CLASS
from openset.wording import some, spaced

Held = Mapping[str, Any]
Sides = tuple[str, str]
Key = Callable[[str], str]


def stated(vocabulary: Vocabulary) -> dict[str, Any]:
    """What a vocabulary states, in lists; the usual synonyms go unsaid.

    >>> stated(Vocabulary.of(["dog", "cat"]))
    {'tasks': [['dog', 'cat']], 'unknown': [], 'ignored': [], 'rest': 'unknown'}
    """
    held: dict[str, Any] = {
        "tasks": [list(task) for task in vocabulary.tasks],
        "unknown": sorted(vocabulary.unknown),
        "ignored": sorted(vocabulary.ignored),
        "rest": str(vocabulary.rest),
    }
    if vocabulary.synonyms != SAME_CLASS:
        held["synonyms"] = [list(group) for group in vocabulary.synonyms]
    return held


def differ(first: Held, second: Held, sides: Sides = ("the first", "the second")) -> str:
    """In which classes two vocabularies differ, in words; nothing if one was not kept.

    >>> differ(stated(Vocabulary.of(["dog", "cat"])), stated(Vocabulary.of(["dog"])))
    '1 class is known in the first and not listed, so unknown, in the second (cat)'
    """
    if not first or not second:
        return ""
    found = [*_other_roles(first, second, sides)] or [*_other_tasks(first, second, sides)]
    if first["rest"] != second["rest"]:
        pair = zip((first["rest"], second["rest"]), sides, strict=True)
        found.append("what is not listed is " + " and ".join(f"{x} in {side}" for x, side in pair))
    return "; ".join(found or ["other names count as one class"])


def _other_roles(first: Held, second: Held, sides: Sides) -> Iterator[str]:
    key = _key(first, second)
    mine, theirs = _roles(first, key), _roles(second, key)
    absent = [f"not listed, so {held['rest']}," for held in (first, second)]
    moved: dict[Sides, list[str]] = {}
    for name in {key(name): name for held in (second, first) for name in _names(held)}.values():
        pair = mine.get(key(name), absent[0]), theirs.get(key(name), absent[1])
        if pair[0] != pair[1]:
            moved.setdefault(pair, []).append(name)
    # Known classes first: who knows a class decides what is measured.
    for pair, labels in sorted(moved.items(), key=lambda item: _place(item[0])):
        yield _said(labels, pair, sides)


def _other_tasks(first: Held, second: Held, sides: Sides) -> Iterator[str]:
    key = _key(first, second)
    mine, theirs = (
        {key(name): f"of task {at}" for at, task in enumerate(held["tasks"], 1) for name in task}
        for held in (first, second)
    )
    moved: dict[Sides, list[str]] = {}
    for name in {key(name): name for task in first["tasks"] for name in task}.values():
        pair = mine[key(name)], theirs[key(name)]
        if pair[0] != pair[1]:
            moved.setdefault(pair, []).append(name)
    for pair, labels in moved.items():
        yield _said(labels, pair, sides)


def _place(pair: Sides) -> int:
    """Where a pair of roles is said: those that one of both knows first."""
    return pair.index(Role.KNOWN) if Role.KNOWN in pair else len(pair)


def _said(labels: list[str], roles: Sides, sides: Sides) -> str:
    number = f"{spaced(len(labels))} {'class is' if len(labels) == 1 else 'classes are'}"
    where = " and ".join(f"{role} in {side}" for role, side in zip(roles, sides, strict=True))
    return f"{number} {where} ({some(labels)})"


def _roles(held: Held, key: Key) -> dict[str, str]:
    """The role of each class that is listed, by what spellings of it share."""
    found = {key(name): str(Role.KNOWN) for task in held["tasks"] for name in task}
    return found | {key(name): role for role in ("unknown", "ignored") for name in held[role]}


def _names(held: Held) -> list[str]:
    known = [name for task in held["tasks"] for name in task]
    return [*known, *held["unknown"], *held["ignored"]]


def _key(*several: Held) -> Key:
    """What spellings of one class share, by the synonyms of all."""
    groups = [group for held in several for group in held.get("synonyms", SAME_CLASS)]
    return Vocabulary((), synonyms=tuple(map(tuple, groups))).key
