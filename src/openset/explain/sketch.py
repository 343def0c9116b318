"""Sketches: the tiny test sets on which worked examples are computed.

One line is one image, objects left of the bar and detections right of it, so that a reader can
follow a number by hand and a program can compute it:

    dog, zebra | dog .9 on 1, cat .8 on 2 at .6, unknown .3 on nothing

The first detection says dog with score 0.9 and fits the first object exactly; the second overlaps
the second object with an IoU of 0.6; the third lies on no object. An object may be ``crowd`` or
``difficult``; ``u .4`` after a score is the detection's unknownness; an image that begins with
``twice:`` is on two lines of the benchmark's list.

Not a file format: sketches exist to be read (see `openset.formats` for files).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.matching import Matches
    from openset.tables import Annotations, Detections, Vocabulary

_OBJECT = re.compile(r"(?P<label>\w+)( (?P<flag>crowd|difficult))?")
_DETECTION = re.compile(
    r"(?P<label>\w+) (?P<score>[\d.]+)( u (?P<unknownness>[\d.]+))? "
    r"on (?P<place>\d+|nothing)( at (?P<iou>[\d.]+))?"
)
_TWICE = "twice: "
_SIDE = 100.0  # of every object, in pixels; objects stand 200 pixels apart


@dataclass(frozen=True, slots=True)
class Sketch:
    """Images, objects and detections, small enough to read.

    Attributes:
        name: How examples refer to it.
        about: What is in it, in a sentence.
        tasks: Known labels by task; every other label is unknown.
        similar: Groups of similar known labels.
        images: One line per image.
    """

    name: str
    about: str
    tasks: tuple[tuple[str, ...], ...]
    images: tuple[str, ...]
    similar: tuple[tuple[str, ...], ...] = ()

    def lines(self) -> list[str]:
        """The images, numbered."""
        return [f"image {number}: {line}" for number, line in enumerate(self.images, 1)]

    def tables(self) -> tuple[Annotations, Detections, Vocabulary]:
        """The same as ground truth, detections and roles of labels."""
        from openset.tables import Vocabulary

        halves = [line.removeprefix(_TWICE).partition("|")[::2] for line in self.images]
        listed = [1 + line.startswith(_TWICE) for line in self.images]
        objects = [_parsed(_OBJECT, left) for left, _ in halves]
        found = [_parsed(_DETECTION, right) for _, right in halves]
        vocabulary = Vocabulary(tasks=self.tasks, similar=self.similar)
        labels = tuple(dict.fromkeys([*vocabulary.known, *_labels(objects), *_labels(found)]))
        truth = _annotations(objects, labels, listed)
        return truth, _detections(objects, found, labels), vocabulary

    def matches(self, protocol: str = "default") -> Matches:
        """The sketch, matched under a protocol."""
        from openset.matching import match

        return match(*self.tables(), protocol)


Record = dict[str, Any]


def _parsed(pattern: re.Pattern[str], text: str) -> list[Record]:
    items = [item.strip() for item in text.split(",") if item.strip()]
    return [_fields(pattern, item) for item in items]


def _fields(pattern: re.Pattern[str], item: str) -> Record:
    found = pattern.fullmatch(item)
    if found is None:
        raise UsageError(f"a sketch says {item!r}, which is neither an object nor a detection")
    return found.groupdict()


def _labels(images: Sequence[Sequence[Record]]) -> list[str]:
    return [record["label"] for image in images for record in image]


def _annotations(
    objects: Sequence[Sequence[Record]], labels: tuple[str, ...], listed: Sequence[int]
) -> Annotations:
    import numpy as np

    from openset.tables import Annotations, Images

    rows = [
        (i, place, record)
        for i, image in enumerate(objects)
        for place, record in enumerate(image, 1)
    ]
    return Annotations(
        Images(np.arange(1, len(objects) + 1), attributes={"listed": np.array(listed, np.int64)}),
        labels,
        np.array([image for image, _, _ in rows], np.int32),
        np.array([labels.index(record["label"]) for *_, record in rows], np.int32),
        np.array([_box(place) for _, place, _ in rows], np.float64).reshape(-1, 4),
        crowd=np.array([record["flag"] == "crowd" for *_, record in rows], np.bool_),
        difficult=np.array([record["flag"] == "difficult" for *_, record in rows], np.bool_),
    )


def _detections(
    objects: Sequence[Sequence[Record]], found: Sequence[Sequence[Record]], labels: tuple[str, ...]
) -> Detections:
    import numpy as np

    from openset.tables import Detections

    rows = [(number, record) for number, image in enumerate(found, 1) for record in image]
    boxes = [_detected_box(record, len(objects[number - 1])) for number, record in rows]
    scored = rows and all(record["unknownness"] for _, record in rows)
    return Detections(
        np.array([number for number, _ in rows]),
        np.array([labels.index(record["label"]) for _, record in rows], np.int64),
        np.array(boxes, np.float64).reshape(-1, 4),
        np.array([float(record["score"]) for _, record in rows]),
        labels,
        unknownness=np.array([float(r["unknownness"]) for _, r in rows]) if scored else None,
    )


def _box(place: int, share: float = 1.0) -> list[float]:
    """The box of a place; a part of it of some width has that share as its IoU with the whole."""
    return [2 * _SIDE * place, _SIDE, _SIDE * share, _SIDE]


def _detected_box(record: Record, n_objects: int) -> list[float]:
    if record["place"] == "nothing":
        return _box(n_objects + 1)
    place = int(record["place"])
    if not 1 <= place <= n_objects:
        raise UsageError(f"a sketch has a detection on object {place} of {n_objects}")
    return _box(place, float(record["iou"] or 1))
