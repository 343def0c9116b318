"""Gallery: which objects and boxes to show, by what went wrong with them.

Everything at the operating points of the detectors. Within a kind every pair of a label and what it
is called has its turn before one has a second, the most frequent pair first; and of a pair the most
instructive: boxes by falling score, missed objects by falling size, each of another image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.absorption import called_as
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import MISSED, NOTHING, RIGHT, UNKNOWN

LIMIT = 240
MAYBE = "maybe an object that nobody labelled"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing to look at.

    Attributes:
        name: Its key.
        title: How it is shown.
        note: What it means.
        share: Its share of the gallery, relative to the others.
        find: Boxes (positions) and objects, -1 for none; best first.
    """

    name: str
    title: str
    note: str
    share: float
    find: Callable[[Deployed], tuple[NDArray[np.intp], NDArray[np.intp]]]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to look at: a box, an object, or a box on an object."""

    model: int
    kind: str
    box: int
    object: int


def _on(
    model: Deployed, mask: NDArray[np.bool_], target: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Boxes of a mask by falling score, and the objects they speak of."""
    rows = np.flatnonzero(mask)
    rows = rows[np.argsort(-model.matches.score[rows], kind="stable")]
    return rows, target[rows].astype(np.intp)


def _is_unknown(model: Deployed, target: NDArray[np.int32]) -> NDArray[np.bool_]:
    padded = np.append(model.matches.objects.klass == model.matches.n_known, [False, False])
    return padded[target]


def _unknown_as_known(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    target = model.targets.known
    return _on(model, model.called.known & _is_unknown(model, target), target)


def _missed_unknown(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    objects = model.matches.objects
    rows = np.flatnonzero((model.fates == MISSED) & (objects.klass == model.matches.n_known))
    rows = rows[np.argsort(-objects.area[rows], kind="stable")]
    return np.full(len(rows), -1, np.intp), rows


def _known_on_nothing(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    target = model.targets.known
    return _on(model, model.called.known & (target == NOTHING), target)


def _unknown_on_nothing(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    target = model.targets.unknown
    return _on(model, model.called.unknown & (target == NOTHING), target)


def _known_as_unknown(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    target = model.targets.unknown
    lost = np.append((model.fates == UNKNOWN), [False, False])[target]
    return _on(model, model.called.unknown & lost & ~_is_unknown(model, target), target)


def _wrong_class(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    target, klass = model.targets.known, np.append(model.matches.objects.klass, [-1, -1])
    wrong = (target >= 0) & (klass[target] != model.matches.klass) & ~_is_unknown(model, target)
    return _on(model, model.called.known & wrong, target)


def _duplicate(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    target, klass = model.targets.known, np.append(model.matches.objects.klass, [-1, -1])
    again = (target >= 0) & (klass[target] == model.matches.klass)
    return _on(model, model.called.known & again & ~model.matches.outcome().correct, target)


def _unknown_found(model: Deployed) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    target = model.targets.unknown
    only = np.append((model.fates == UNKNOWN), [False, False])[target]
    return _on(model, model.called.unknown & only & _is_unknown(model, target), target)


KINDS = (
    Kind(
        "unknown-as-known",
        "Unknown called known",
        "An unknown object that the detector gives a known name: the open-set error.",
        5,
        _unknown_as_known,
    ),
    Kind(
        "missed-unknown",
        "Unknown missed",
        "An unknown object without any box, of each label the largest first.",
        2,
        _missed_unknown,
    ),
    Kind(
        "known-on-nothing",
        "Known on nothing",
        f"A confident known name where nothing is labelled: {MAYBE}.",
        1.5,
        _known_on_nothing,
    ),
    Kind(
        "unknown-on-nothing",
        "Unknown on nothing",
        f"Called unknown where nothing is labelled: {MAYBE}.",
        1,
        _unknown_on_nothing,
    ),
    Kind(
        "known-as-unknown",
        "Known called unknown",
        "A known object that is only called unknown.",
        1.5,
        _known_as_unknown,
    ),
    Kind(
        "wrong-class",
        "Wrong known class",
        "A known object under the name of another known class.",
        1,
        _wrong_class,
    ),
    Kind("duplicate", "Duplicate", "A second box on an object that has one.", 0.5, _duplicate),
    Kind(
        "unknown-found",
        "Unknown found",
        "An unknown object that is only called unknown, for balance.",
        2,
        _unknown_found,
    ),
)
DISAGREE = "models-disagree"


def choose(models: tuple[Deployed, ...], limit: int = LIMIT) -> list[Item]:
    """At most `limit` things to look at, every detector and every kind with its share."""
    spare = limit // 10 if len(models) > 1 else 0
    per_model = (limit - spare) // len(models)
    items = [item for model in models for item in _of(model, per_model)]
    return items + list(_disagreements(models, spare))


def _of(model: Deployed, limit: int) -> list[Item]:
    """The gallery of one detector; what one kind leaves over goes to the others."""
    queues = {kind.name: list(_turns(model, kind, limit)) for kind in KINDS}
    shares = {kind.name: kind.share for kind in KINDS}
    taken = dict.fromkeys(queues, 0)
    for _ in range(limit):
        open_ = [name for name in queues if taken[name] < len(queues[name])]
        if not open_:
            break
        taken[min(open_, key=lambda name: (taken[name] + 1) / shares[name])] += 1
    return [item for name, queue in queues.items() for item in queue[: taken[name]]]


def _turns(model: Deployed, kind: Kind, limit: int) -> Iterator[Item]:
    """The things of one kind, every pair of labels in its turn, and of a pair every image."""
    boxes, objects = kind.find(model)
    matches = model.matches
    label = np.append(matches.objects.label, -1)[np.maximum(objects, -1)]
    called = np.where(model.called.unknown, matches.n_known, matches.klass)
    name = np.where(boxes >= 0, np.append(called, -1)[boxes], -1)
    order = np.lexsort((_again(_images(model, boxes, objects)), _outdone(model, boxes, objects)))
    pair = (label.astype(np.int64) * (matches.n_known + 2) + name)[order]
    _, which, size = np.unique(pair, return_inverse=True, return_counts=True)
    order = order[np.lexsort((-size[which], _again(pair)))]
    for at in order[:limit].tolist():
        yield Item(model.index, kind.name, int(boxes[at]), int(objects[at]))


def per_image(model: Deployed, kind: Kind) -> NDArray[np.int64]:
    """How many things of a kind there are on each image."""
    return np.bincount(_images(model, *kind.find(model)), minlength=model.matches.n_images)


def _images(
    model: Deployed, boxes: NDArray[np.intp], objects: NDArray[np.intp]
) -> NDArray[np.int32]:
    """The images that boxes, or else objects, lie on."""
    on_box = np.append(model.matches.image, -1)[boxes]
    return np.where(boxes >= 0, on_box, np.append(model.matches.objects.image, -1)[objects])


def _outdone(
    model: Deployed, boxes: NDArray[np.intp], objects: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Boxes with a known name whose object goes by another one, that of a better-scored box."""
    name = np.append(called_as(model), -1)[np.maximum(objects, -1)]
    klass = np.append(np.where(model.called.known, model.matches.klass, -1), -1)[boxes]
    return np.asarray((name >= 0) & (klass >= 0) & (name != klass))


def _again(key: NDArray[np.integer]) -> NDArray[np.int64]:
    """How often each value has occurred before."""
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], key[order])
    again = np.empty(len(key), np.int64)
    again[order] = np.arange(len(key)) - first
    return again


def _disagreements(models: tuple[Deployed, ...], limit: int) -> Iterator[Item]:
    """Objects that one of the first two detectors gets right and the other does not."""
    if len(models) < 2 or not limit:
        return
    first, second = models[:2]
    area = first.matches.objects.area
    for good, bad in ((first, second), (second, first)):
        rows = np.flatnonzero(is_right(good) & ~is_right(bad))
        rows = rows[np.argsort(-area[rows], kind="stable")]
        rows = rows[np.argsort(_again(good.matches.objects.label[rows]), kind="stable")]
        for at in rows[: limit // 2].tolist():
            yield Item(good.index, DISAGREE, -1, at)


def is_right(model: Deployed) -> NDArray[np.bool_]:
    """Objects that a detector gets right: known ones by their class, unknown ones as unknown."""
    unknown = model.matches.objects.klass == model.matches.n_known
    return np.asarray(model.fates == np.where(unknown, UNKNOWN, RIGHT))
