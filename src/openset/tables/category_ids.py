"""Category ids: what the numbers (or names) mean with which detections say their labels.

They are the ids of the ground truth, unless it is stated otherwise: positions in its list of
categories, counted from 0 (``index``) or from 1 (``index1``), or in the list of known classes
(``known``, ``known1``), or a mapping, in memory or in a file, from an id or a name to an id or a
name of the ground truth; the ``categories`` of a COCO file are one. Labels that a mapping does not
list stay what they are. From then on detections say their labels by name.

Not the roles of labels (see `openset.tables.vocabulary`), and never a guess.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from openset.files import load, load_text
from openset.findings import UsageError, refuse
from openset.json_text import decode
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections
from openset.tables.vocabulary import normal

POSITIONS = {"index": 0, "index1": 1}
LISTED = {"known": 0, "known1": 1}
_STATED = ", ".join(map(repr, (*POSITIONS, *LISTED)))
CategoryIds = str | Path | Mapping[Any, Any]
_SHOWN = 5


def category_ids_of(given: CategoryIds) -> Positions | Renamed:
    """What is stated: positions, a mapping, or a file with a mapping.

    >>> category_ids_of("index1")
    Positions(first=1, known=False, among=(), groups=True)
    """
    if isinstance(given, Mapping):
        return Renamed.of(given, "category_ids=")
    if str(given) in POSITIONS:
        return Positions(POSITIONS[str(given)])
    if str(given) in LISTED:
        return Positions(LISTED[str(given)], known=True)
    path = Path(given)
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in {".json", ".csv"}:
        raise UsageError(f"category_ids={str(given)!r}: state {_STATED}, or a JSON or CSV")
    if suffix == ".json":
        document = decode(load(path), str(path))
        if not isinstance(document, dict):
            raise refuse("OS104", f"{path} is JSON, but not {{label: label, ...}}")
        return Renamed.of(_categories(document, path), str(path))
    rows = [row for row in csv.reader(load_text(path).splitlines()) if row]
    odd = next((row for row in rows if len(row) != 2), None)
    if odd is not None:
        raise refuse("OS104", f"{path} is CSV, but a row is not label,label", example=",".join(odd))
    return Renamed.of(dict(rows), str(path))


def _categories(document: dict[str, Any], path: Path) -> dict[Any, Any]:
    """A mapping as it is, or that of the ids of a COCO file to its names."""
    listed = document.get("categories")
    if not isinstance(listed, list):
        return document
    try:
        return {one["id"]: one["name"] for one in listed}
    except (TypeError, KeyError) as error:
        raise refuse("OS104", f"a category of {path} has no id or no name") from error


@dataclass(frozen=True)
class Positions:
    """Labels are positions in the categories of the ground truth, or in the known classes.

    Attributes:
        first: What the first of them is called: 0 or 1.
        known: Whether they are positions among the known classes.
        among: The known classes, once it is told which they are.
        groups: Whether a first category that is the group of all others counts (`classes_of`).
    """

    first: int
    known: bool = False
    among: tuple[str, ...] = ()
    groups: bool = True

    def names(self, labels: Sequence[str], truth: Annotations) -> list[str | None]:
        """The names of categories, None where there is no such position."""
        every = truth.labels if self.groups else classes_of(truth)
        listed = self.among if self.known else every
        places = [int(one) - self.first if _is_number(one) else -1 for one in labels]
        return [listed[place] if 0 <= place < len(listed) else None for place in places]

    @property
    def meaning(self) -> str:
        """What labels are, in words."""
        listed = "list of known classes" if self.known else "list of categories"
        return f"positions in the {listed}, counted from {self.first}"


def classes_of(truth: Annotations) -> tuple[str, ...]:
    """The labels, but for a first one that no object has and that is the group of all others.

    Roboflow begins the categories of its COCO files with such a one, and its YOLO files do not.
    """
    rest = truth.labels[1:]
    group = bool(rest) and set(truth.supercategory[1:]) == {truth.labels[0]}
    return rest if group and not (truth.label == 0).any() else truth.labels


@dataclass(frozen=True)
class Renamed:
    """Labels of detections by labels of the ground truth, each an id or a name."""

    table: Mapping[str, str]
    said: str = field(default="category_ids=", compare=False)  # the option that says it

    @classmethod
    def of(cls, given: Mapping[Any, Any], where: str) -> Renamed:
        """Refuse what is neither an id nor a name."""
        for pair in given.items():
            if not all(isinstance(one, int | str) and not isinstance(one, bool) for one in pair):
                example = f"{pair[0]!r}: {pair[1]!r}"
                raise refuse("OS108", f"{where} maps ids or names to such", example=example)
        table = {normal(str(label)): str(means).strip() for label, means in given.items()}
        return cls(table, where if where.endswith("=") else "category_ids=")

    def names(self, labels: Sequence[str], truth: Annotations) -> list[str | None]:
        """What labels stand for, themselves if they are not listed; None for an alien id."""
        named = ids_of(truth)
        means = [self._meant(label, named.get(label, label)) for label in labels]
        return [named.get(one, None if _is_number(one) else one) for one in means]

    def _meant(self, label: str, name: str) -> str:
        """What the table has for a label, or for its name; else the label itself."""
        return self.table.get(normal(label), self.table.get(normal(name), label))


def _is_number(label: str) -> bool:
    return label.removeprefix("-").isdecimal()


def told(stated: Positions | Renamed, known: Sequence[str]) -> Positions | Renamed:
    """What is stated, told which classes are known."""
    if isinstance(stated, Positions) and stated.known:
        return replace(stated, among=tuple(known))
    return stated


def ids_of(truth: Annotations) -> dict[str, str]:
    """Names by the ids that the ground truth states, as text; none if it knows names alone."""
    if not truth.numbered:
        return {}
    assert truth.category_id is not None
    return dict(zip(map(str, truth.category_id.tolist()), truth.labels, strict=True))


def with_names(
    detections: Detections,
    truth: Annotations,
    stated: Positions | Renamed,
    *,
    unknown: str | None = None,
) -> Detections:
    """Detections that say labels by the names of the ground truth, by what is stated.

    Args:
        detections: As their file says them.
        truth: Whose names they get.
        stated: What their labels mean.
        unknown: Their label for "unknown", which often is the number after all others.

    >>> from openset.tables import Images
    >>> truth = Annotations(Images([1]), ("cat", "dog"), [0], [1], [[0, 0, 9, 9]])
    >>> found = Detections([1, 1], [1, 0], [[0, 0, 9, 9]] * 2, [0.9, 0.8])
    >>> with_names(found, truth, Positions(0)).labels
    ('cat', 'dog')
    """
    values, index = np.unique(detections.label, return_inverse=True)
    given = [detections.labels[value] if detections.labels else str(value) for value in values]
    if isinstance(stated, Renamed):
        _refuse_reversed(stated, given, truth)
    named = zip(given, stated.names(given, truth), strict=True)
    names = ["unknown" if label == unknown else name for label, name in named]
    alien = [at for at, name in enumerate(names) if name is None]
    if alien:
        count = int(np.isin(index, alien).sum())
        row = int((index == alien[0]).argmax())
        listed = ", ".join(given[at] for at in alien[:_SHOWN])
        left = [label for label in given if label != unknown]
        said = stated.said if isinstance(stated, Renamed) else "category_ids="
        cause, fix = _from_one(left, stated) or (
            "",
            _instead(left, [given[at] for at in alien], truth, stated),
        )
        raise refuse(
            "OS317",
            f"{count} of {len(detections)} detections have a label that {said} does not give a "
            f"category: {listed}",
            count=count,
            example=f"image {detections.image[row]}, detection {row}, label {given[alien[0]]}",
            cause=cause,
            fix=fix,
        )
    labels = tuple(dict.fromkeys(name for name in names if name is not None))
    place = {name: at for at, name in enumerate(labels)}
    moved = np.array([place[name] for name in names if name is not None], np.int64)
    return replace(detections, labels=labels, label=moved[index])


def _from_one(labels: list[str], stated: Positions | Renamed) -> tuple[str, str] | None:
    """Cause and fix where labels are counted from 1, and a list of names from 0."""
    if not isinstance(stated, Renamed) or stated.said != "names=":
        return None
    last = len(stated.table)
    whole = all(label.isdecimal() for label in labels)
    if {*stated.table} != {*map(str, range(last))} or not whole:
        return None
    numbers = {*map(int, labels)}
    if min(numbers) < 1 or max(numbers) != last:
        return None
    return (
        "the labels are counted from 1 (0 is background), and names= from 0",
        "give each label less 1; or, where the ground truth names its classes itself, "
        "category_ids='index1' in place of names=",
    )


def _instead(
    labels: list[str], alien: list[str], truth: Annotations, stated: Positions | Renamed
) -> str:
    """What else numbers may be, if all of them are that; or that the last one is unknown."""
    numbers = all(map(_is_number, labels))
    if not numbers or isinstance(stated, Renamed):  # a mapping is to be mended by who wrote it
        return ""
    others = {f"category_ids={name!r}": Positions(first) for name, first in POSITIONS.items()}
    known: dict[str, Positions | Renamed] = {"omitting category_ids=": Renamed({}), **others}
    fits = [
        option
        for option, one in known.items()
        if one != stated and all(name in truth.labels for name in one.names(labels, truth))
    ]
    fits += [f"unknown_label={alien[0]} beside it"] if len(alien) == 1 and alien[0] != "0" else []
    return f"{' or '.join(fits)} gives every label a category" if fits else ""


def _refuse_reversed(stated: Renamed, given: list[str], truth: Annotations) -> None:
    """Refuse a mapping from the ground truth to the detections: it is wanted the other way round.

    It lists what the ground truth calls its classes, gives some of them a label that it does not
    have, and all labels of the detections.
    """
    ours = {*map(normal, truth.labels), *ids_of(truth)}
    means, labels = {normal(one) for one in stated.table.values()}, {normal(one) for one in given}
    reversed_ = stated.table.keys() <= ours and not means <= ours
    if not reversed_ or not labels <= means:
        return
    alien = sorted(means - ours)
    label = next(key for key, one in stated.table.items() if normal(one) == alien[0])
    raise refuse(
        "OS374",
        f"category_ids= maps to {len(alien)} labels that the ground truth does not have, and from "
        "labels of the ground truth alone",
        count=len(alien),
        example=f"{label}: {alien[0]}",
    )
