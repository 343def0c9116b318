"""Pairs: the first detector against another, with paired intervals, and what they split on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.deployed import Deployed
from openset.evaluation.numbers import number
from openset.evaluation.scoreboard import Scoreboard
from openset.metrics import table
from openset.report.gallery import is_right

MOST_CLASSES = 12
MOST_IMAGES = 10


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Objects that only one of two detectors gets right, by role.

    Attributes:
        role: ``known`` or ``unknown``.
        both: Objects both get right.
        first: Only the first.
        second: Only the second.
        neither: Neither.
    """

    role: str
    both: int
    first: int
    second: int
    neither: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two detectors.

    Attributes:
        first: Name of the reference.
        second: Name of the other.
        board: Headline metrics of both.
        splits: Objects by who gets them right.
        classes: Classes with the largest change of AP: name, first, second, difference.
        images: Images with the largest surplus of objects for either: name, first, second.
    """

    first: str
    second: str
    board: Scoreboard
    splits: tuple[Disagreement, ...]
    classes: tuple[tuple[str, str, str, float], ...]
    images: tuple[tuple[str, int, int], ...]


def pairs(
    models: Sequence[Deployed], board: Scoreboard, image_names: Sequence[str]
) -> tuple[Pair, ...]:
    """Every detector against the first, with the stars of the page's scoreboard."""
    first, *others = models
    return tuple(
        _pair(first, other, board.pair(at), image_names) for at, other in enumerate(others, start=1)
    )


def _pair(first: Deployed, second: Deployed, board: Scoreboard, image_names: Sequence[str]) -> Pair:
    right = is_right(first), is_right(second)
    return Pair(
        first=first.title,
        second=second.title,
        board=board,
        splits=_splits(first, *right),
        classes=_classes(first, second),
        images=_images(first, *right, image_names),
    )


def _splits(
    model: Deployed, first: NDArray[np.bool_], second: NDArray[np.bool_]
) -> tuple[Disagreement, ...]:
    objects = model.matches.objects
    unknown = objects.klass == model.matches.n_known
    splits = []
    for role, mask in (("known", ~unknown), ("unknown", unknown)):
        mask = mask & ~objects.ignored
        parts = (first & second, first & ~second, ~first & second, ~first & ~second)
        splits.append(Disagreement(role, *(int(np.count_nonzero(part & mask)) for part in parts)))
    return tuple(splits)


def _classes(first: Deployed, second: Deployed) -> tuple[tuple[str, str, str, float], ...]:
    """Classes by the size of their change in AP."""
    metric = table()["ap_known"]
    a, b = (model.evaluation.value("ap_known").parts for model in (first, second))
    both = [(name, a[name], b[name]) for name in a if None not in (a[name], b.get(name))]
    both.sort(key=lambda row: (-abs(row[2] - row[1]), row[0]))
    return tuple(
        (name, number(x, metric), number(y, metric), 100 * (y - x))
        for name, x, y in both[:MOST_CLASSES]
    )


def _images(
    model: Deployed,
    first: NDArray[np.bool_],
    second: NDArray[np.bool_],
    names: Sequence[str],
) -> tuple[tuple[str, int, int], ...]:
    """Images with the most objects that only one of the two gets right."""
    image, n = model.matches.objects.image, model.matches.n_images
    only_first = np.bincount(image[first & ~second], minlength=n)
    only_second = np.bincount(image[second & ~first], minlength=n)
    order = np.argsort(-(only_first + only_second), kind="stable")[:MOST_IMAGES].tolist()
    return tuple(
        (names[at], int(only_first[at]), int(only_second[at]))
        for at in order
        if only_first[at] + only_second[at]
    )
