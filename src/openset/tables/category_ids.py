"""Category ids: what the numbers (or names) mean with which detections say their labels.

They are the ids of the ground truth, unless it is stated otherwise: positions in its list of
categories, counted from 0 (``index``) or from 1 (``index1``), or a mapping, in memory or in a file,
from an id or a name to an id or a name of the ground truth; the ``categories`` of a COCO file are
one. Labels that a mapping does not list stay what they are. From then on detections say their
labels by name.

Not the roles of labels (see `openset.tables.vocabulary`), and never a guess.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
CategoryIds = str | Path | Mapping[Any, Any]
_SHOWN = 5


def category_ids_of(given: CategoryIds) -> Positions | Renamed:
    """What is stated: positions, a mapping, or a file with a mapping.

    >>> category_ids_of("index1")
    Positions(first=1)
    """
    if isinstance(given, Mapping):
        return Renamed.of(given, "category_ids=")
    if str(given) in POSITIONS:
        return Positions(POSITIONS[str(given)])
    path = Path(given)
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in {".json", ".csv"}:
        raise UsageError(f"category_ids={str(given)!r}: state 'index', 'index1', or a JSON or CSV")
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
    """Labels are positions in the categories of the ground truth.

    Attributes:
        first: What the first category is called: 0 or 1.
    """

    first: int

    def name(self, label: str, truth: Annotations) -> str | None:
        """The name of a category, None if there is no such position."""
        place = int(label) - self.first if label.removeprefix("-").isdecimal() else -1
        return truth.labels[place] if 0 <= place < len(truth.labels) else None


@dataclass(frozen=True)
class Renamed:
    """Labels of detections by labels of the ground truth, each an id or a name."""

    table: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[Any, Any], where: str) -> Renamed:
        """Refuse what is neither an id nor a name."""
        for pair in given.items():
            if not all(isinstance(one, int | str) and not isinstance(one, bool) for one in pair):
                example = f"{pair[0]!r}: {pair[1]!r}"
                raise refuse("OS108", f"{where} maps ids or names to such", example=example)
        return cls({normal(str(label)): str(means).strip() for label, means in given.items()})

    def name(self, label: str, truth: Annotations) -> str | None:
        """The name that a label stands for, itself if it is not listed; None for an alien id."""
        names = ids_of(truth)
        said = names.get(label, label)
        means = self.table.get(normal(label), self.table.get(normal(said), label))
        return names.get(means, None if means.removeprefix("-").isdecimal() else means)


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
    names = ["unknown" if label == unknown else stated.name(label, truth) for label in given]
    alien = [at for at, name in enumerate(names) if name is None]
    if alien:
        count = int(np.isin(index, alien).sum())
        row = int((index == alien[0]).argmax())
        listed = ", ".join(given[at] for at in alien[:_SHOWN])
        raise refuse(
            "OS317",
            f"{count} of {len(detections)} detections have a label that category_ids= does not "
            f"give a category: {listed}",
            count=count,
            example=f"image {detections.image[row]}, detection {row}, label {given[alien[0]]}",
        )
    labels = tuple(dict.fromkeys(name for name in names if name is not None))
    place = {name: at for at, name in enumerate(labels)}
    moved = np.array([place[name] for name in names if name is not None], np.int64)
    return replace(detections, labels=labels, label=moved[index])
