"""Cast: which objects, regions and detections take part where TIDE judges, matched.

TIDE keeps the best 100 detections of an image over *all* classes, takes ignored objects out of
the matching altogether, and afterwards lets what is unmatched and mostly inside an ignore region
go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._regions import ANY_CLASS, IgnoreRegions, swallowed
from openset.matching import Matches, Protocol, match
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.join import Joined, join

Unknown = Literal["class", "drop", "ignore"]
Difficult = Literal["object", "ignore"]
Mask = NDArray[np.bool_]
MAX_DETECTIONS = 100


@dataclass(frozen=True, slots=True)
class Cast:
    """Matches and what TIDE knows beside them.

    Attributes:
        matches: Matched without ignored objects.
        row: Per detection in class order, its row in the detections given.
        object_row: Per object, its row in the annotations given.
        ignored: Per detection, whether an ignore region swallows it.
    """

    matches: Matches
    row: NDArray[np.intp]
    object_row: NDArray[np.intp]
    ignored: Mask


def cast(
    truth: Annotations,
    detections: Detections,
    vocabulary: Vocabulary,
    *,
    unknown: Unknown,
    difficult: Difficult,
    iou: float,
) -> Cast:
    """Match as TIDE does. Arguments as in `openset.diagnosis.tide.tide`."""
    rules = Protocol.of("tide").but(iou=(iou,))
    known = len(vocabulary.known)
    klass = vocabulary.classes(truth.labels)[truth.label] if len(truth) else truth.label
    counted, regions = _split(truth, klass, known, unknown, difficult)
    objects = np.flatnonzero(counted | (klass < 0))  # matching lets go what lies on the ignored
    joined = join(truth, detections, vocabulary)
    rows = _taking_part(joined, detections.score, known if unknown == "class" else known - 1)
    bare = replace(detections, logits=None, layout=None, embedding=None, attributes={}).select(rows)
    part = truth.select(objects)
    matches = match(part, bare, vocabulary, rules, joined=joined.select(rows))
    return Cast(
        matches=matches,
        row=rows[matches.row],
        object_row=objects[matches.objects.row],
        ignored=_swallowed(matches, bare, regions, iou),
    )


def _split(
    truth: Annotations,
    klass: NDArray[np.int32],
    known: int,
    unknown: Unknown,
    difficult: Difficult,
) -> tuple[Mask, IgnoreRegions]:
    """The objects that count, and the regions that the others leave."""
    assert truth.crowd is not None and truth.difficult is not None
    region = truth.crowd | truth.difficult if difficult == "ignore" else truth.crowd.copy()
    is_unknown = klass == known
    taking = klass >= 0
    if unknown == "drop":
        taking &= ~is_unknown
    elif unknown == "ignore":
        region |= is_unknown
    swallows = np.where(is_unknown & (unknown == "ignore"), ANY_CLASS, klass).astype(np.int32)
    at = np.flatnonzero(region & taking)
    return taking & ~region, IgnoreRegions(truth.image[at], swallows[at], truth.box[at])


def _taking_part(joined: Joined, score: NDArray[np.float64], last_class: int) -> NDArray[np.intp]:
    """Rows of the best detections of each image, in the order given."""
    rows = np.flatnonzero((joined.image >= 0) & (joined.klass >= 0) & (joined.klass <= last_class))
    image = joined.image[rows]
    sizes = np.bincount(image)
    if sizes.max(initial=0) <= MAX_DETECTIONS:
        return rows
    order = np.lexsort((-score[rows], image))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(rows[order[rank < MAX_DETECTIONS]])


def _swallowed(
    matches: Matches, detections: Detections, regions: IgnoreRegions, iou: float
) -> Mask:
    ignored = np.zeros(len(matches), np.bool_)
    if len(regions):
        free = np.flatnonzero(~matches.outcome().correct)
        ignored[free] = swallowed(
            matches.image[free],
            matches.klass[free],
            detections.box[matches.row[free]],
            regions,
            n_images=matches.n_images,
            share=iou,
        )
    return ignored
