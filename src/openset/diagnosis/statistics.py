"""Statistics: what is in a ground truth before any detector is asked.

Labels with their roles, objects, images and sizes; images by which roles they show; which known
classes stand beside which unknown ones. Objects that no metric counts (crowds, difficult ones) are
counted apart and take part in nothing else.

An image is wild where it shows no known object; Elephant's definition adds those that show an
unknown one, so all kinds are counted and either can be added up. Not a check (`openset check` says
what is wrong), not an audit of a benchmark (`openset.benchmarks`), no question about a detector.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.matching.sizes import SIZE_RANGES
from openset.tables import Annotations, Role, Vocabulary

SIZES = ("small", "medium", "large")
KNOWN, UNKNOWN, _ = ROLES = tuple(map(str, Role))
MOST_PAIRS = 50
MOST_LABELS = 1000  # among which pairs are looked for: those on most images


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """A label and its objects.

    Attributes:
        label: Its name.
        role: Known, unknown or ignored; empty where no roles are stated.
        objects: Objects that count.
        images: Images that show one.
        small: Objects of less than 32² pixels.
        medium: Of less than 96².
        large: Of more.
        left_out: Crowds and difficult objects.
    """

    label: str
    role: str
    objects: int
    images: int
    small: int
    medium: int
    large: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Together:
    """Two labels on the same images.

    Attributes:
        known: A known label; without roles, the one that comes first.
        unknown: An unknown label; without roles, the other.
        images: Images that show both.
        lift: How many times as many as if they were independent.
    """

    known: str
    unknown: str
    images: int
    lift: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """A ground truth in numbers.

    Attributes:
        images: Images, by which roles they show.
        objects: Objects that count, by role, and by size within it.
        per_image: Mean, median and most objects of an image.
        labels: Labels, those with most objects first.
        pairs: Labels that stand together, most images first.
        more_pairs: How many further pairs there are.
    """

    images: dict[str, int]
    objects: dict[str, dict[str, int]]
    per_image: dict[str, float]
    labels: tuple[LabelCounts, ...]
    pairs: tuple[Together, ...]
    more_pairs: int

    def document(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def statistics(truth: Annotations, vocabulary: Vocabulary | None = None) -> Statistics:
    """Count a ground truth; without a vocabulary labels have no roles."""
    assert truth.crowd is not None
    assert truth.difficult is not None
    names = _roles(truth, vocabulary)
    counted = ~truth.crowd & ~truth.difficult
    sizes = _sizes(truth, counted)
    shown = _shown(truth, counted)
    pairs, more = _pairs(truth, names, shown)
    return Statistics(
        images=_images(names, shown, len(truth.images)),
        objects=_objects(names, sizes),
        per_image=_per_image(truth, counted),
        labels=_labels(truth, names, sizes, shown),
        pairs=pairs,
        more_pairs=more,
    )


def _roles(truth: Annotations, vocabulary: Vocabulary | None) -> NDArray[np.str_]:
    """The role of each label, empty without a vocabulary."""
    given = [str(vocabulary.role(label)) if vocabulary else "" for label in truth.labels]
    return np.array(given, np.str_)


def _sizes(truth: Annotations, counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Objects that count, by label and size."""
    assert truth.area is not None
    bounds = [SIZE_RANGES[size][1] for size in SIZES[:-1]]
    cell = truth.label * len(SIZES) + np.searchsorted(bounds, truth.area, "right")
    length = len(truth.labels) * len(SIZES)
    return np.bincount(cell[counted], minlength=length).reshape(-1, len(SIZES))


def _shown(truth: Annotations, counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Image and label of every two that stand together, each once, by image."""
    k = max(len(truth.labels), 1)
    cell = np.unique(truth.image[counted].astype(np.int64) * k + truth.label[counted])
    return np.stack(np.divmod(cell, k), axis=1)


def _images(names: NDArray[np.str_], shown: NDArray[np.int64], n: int) -> dict[str, int]:
    """All images, those without objects, and where there are roles, those that show which."""
    found = {"all": n, "empty": n - len(np.unique(shown[:, 0]))}
    if not names.any():
        return found
    role = names[shown[:, 1]]
    known, unknown = (np.isin(np.arange(n), shown[role == one, 0]) for one in (KNOWN, UNKNOWN))
    kinds = {
        "known only": known & ~unknown,
        "known and unknown": known & unknown,
        "unknown only": unknown & ~known,
        "wild": ~known,
    }
    return found | {kind: int(np.count_nonzero(mask)) for kind, mask in kinds.items()}


def _objects(names: NDArray[np.str_], sizes: NDArray[np.int64]) -> dict[str, dict[str, int]]:
    """Objects and labels that have any, by role and size."""
    of_role = {role: sizes[names == role] for role in ROLES} if names.any() else {"all": sizes}
    return {
        role: {
            "labels": int(np.count_nonzero(here.sum(axis=1))),
            "objects": int(here.sum()),
            **dict(zip(SIZES, here.sum(axis=0).tolist(), strict=True)),
        }
        for role, here in of_role.items()
    }


def _per_image(truth: Annotations, counted: NDArray[np.bool_]) -> dict[str, float]:
    each = np.bincount(truth.image[counted], minlength=len(truth.images))
    if not len(each):
        return {"mean": 0.0, "median": 0.0, "most": 0.0}
    return {"mean": float(each.mean()), "median": float(np.median(each)), "most": float(each.max())}


def _labels(
    truth: Annotations,
    names: NDArray[np.str_],
    sizes: NDArray[np.int64],
    shown: NDArray[np.int64],
) -> tuple[LabelCounts, ...]:
    total = sizes.sum(axis=1)
    images = np.bincount(shown[:, 1], minlength=len(total))
    left_out = np.bincount(truth.label, minlength=len(total)) - total
    return tuple(
        LabelCounts(
            label=truth.labels[at],
            role=str(names[at]),
            objects=int(total[at]),
            images=int(images[at]),
            **dict(zip(SIZES, sizes[at].tolist(), strict=True)),
            left_out=int(left_out[at]),
        )
        for at in np.argsort(-total, kind="stable").tolist()
    )


def _pairs(
    truth: Annotations, names: NDArray[np.str_], shown: NDArray[np.int64]
) -> tuple[tuple[Together, ...], int]:
    """Known labels beside unknown ones, without roles all pairs; and how many are left out."""
    often = np.bincount(shown[:, 1], minlength=len(truth.labels))
    labels = np.sort(np.argsort(-often, kind="stable")[:MOST_LABELS])
    table = _together(shown, labels)
    if names.any():
        table *= np.outer(names[labels] == KNOWN, names[labels] == UNKNOWN)
    else:
        table = np.triu(table, 1)
    a, b = np.nonzero(table)
    order = np.argsort(-table[a, b], kind="stable")
    found = []
    for at in order[:MOST_PAIRS].tolist():
        one, other, both = int(labels[a[at]]), int(labels[b[at]]), int(table[a[at], b[at]])
        lift = both * len(truth.images) / float(often[one] * often[other])
        found.append(Together(truth.labels[one], truth.labels[other], both, lift))
    return tuple(found), len(order) - len(found)


def _together(shown: NDArray[np.int64], labels: NDArray[np.intp]) -> NDArray[np.int64]:
    """Images that show both of two labels, of some labels in rising order."""
    here = shown[np.isin(shown[:, 1], labels)]
    place = np.searchsorted(labels, here[:, 1])
    table = np.zeros((len(labels), len(labels)), np.int64)
    for each in np.split(place, np.flatnonzero(np.diff(here[:, 0])) + 1):
        table[np.ix_(each, each)] += 1
    return table
