"""match: join, prepare the geometry, order, and run the matching kernel. Once."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset import kernels
from openset.findings import refuse
from openset.matching import geometry
from openset.matching.matches import Matches
from openset.matching.objects import Objects
from openset.matching.protocol import Protocol
from openset.matching.sizes import SIZE_RANGES
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.columns import ranks
from openset.tables.groups import groups_of
from openset.tables.join import Joined, Leaked, join
from openset.tables.sets import ood_images

LISTED = "listed"  # the image column that says how often a benchmark's list names an image
AWAY = np.array([-1e6, -1e6, 1.0, 1.0])  # where no detection is: copies of objects are never found


def match(
    truth: Annotations,
    detections: Detections,
    vocabulary: Vocabulary,
    protocol: Protocol | str = "default",
    *,
    joined: Joined | None = None,
    leaked: Leaked = "unknown",
) -> Matches:
    """Match detections with objects under a protocol.

    Detections on images that the ground truth does not list, or with labels that it does not have,
    take no part (`check` reports them).

    Args:
        truth: The ground truth.
        detections: What the detector said.
        vocabulary: Roles of the labels.
        protocol: A preset's name or a protocol.
        joined: The result of `join`, if it is there already.
        leaked: What becomes of detections labelled with a class that is unknown here: they count
            as ``unknown``, or are dropped.
    """
    rules = Protocol.of(protocol)
    if not rules.synonyms:
        vocabulary, joined = replace(vocabulary, synonyms=()), None
    joined = join(truth, detections, vocabulary) if joined is None else joined
    inputs = _Inputs(truth, detections, vocabulary, joined, rules)
    keep = _again(_taking_part(joined, leaked), joined.image, times_listed(truth, rules))
    found = inputs.matched(keep)
    if not len(found.excusing) or not (excused := _excused(found, inputs)).any():
        return found
    # Without them, and not beside them: a box that does not count must not take a place either.
    again = inputs.matched(np.sort(found.row[~excused]))
    return replace(again, excused=int(np.count_nonzero(excused)))


@dataclass(frozen=True)
class _Inputs:
    """All that matching depends on but for which detections take part."""

    truth: Annotations
    detections: Detections
    vocabulary: Vocabulary
    joined: Joined
    rules: Protocol

    def columns(
        self, keep: NDArray[Any] | None
    ) -> tuple[NDArray[np.int32], kernels.BoxColumns | NDArray[np.float64], NDArray[np.float64]]:
        """Image, box and score of the detections in `keep`, as the protocol sees them."""
        boxes = geometry.detection_boxes(_take(self.detections.box, keep), self.rules)
        score = geometry.detection_scores(_take(self.detections.score, keep), self.rules)
        return _take(self.joined.image, keep), boxes, score

    def matched(self, keep: NDArray[Any] | None) -> Matches:
        """The detections in `keep`, or all of them, matched."""
        truth, vocabulary, rules = self.truth, self.vocabulary, self.rules
        times = times_listed(truth, rules)
        objects, excusing = (_repeated(one, times) for one in _objects(truth, vocabulary, rules))
        image, boxes, score = self.columns(keep)
        klass = _take(self.joined.klass, keep)
        if not np.isfinite(score).all():
            raise refuse("OS202", "detections with NaN or infinite scores cannot be ordered")
        n_classes = len(vocabulary.known) + 1
        ood = ood_images(truth.images)
        wild = _wild(objects, len(truth.images), n_classes - 1, rules) if ood is None else ood
        tie = tie_keys(rules, truth.images.id, wild)
        tie = None if tie is None else tie[image]
        order, class_start = kernels.class_order(klass, score, tie, n_classes)
        found = kernels.DetectionColumns(image, klass, boxes, order, class_start)
        columns = _run(truth, objects, found, vocabulary, rules)
        row = order if keep is None else keep[order].astype(np.int32)
        unknownness = self.detections.unknownness
        return Matches(
            protocol=rules,
            vocabulary=vocabulary,
            labels=truth.labels,
            image_ids=truth.images.id,
            wild=wild,
            objects=objects,
            excusing=excusing,
            image=kernels.take(image, order),
            score=kernels.take(score, order),
            row=row,
            tie=None if tie is None else kernels.take(tie, order),
            class_start=class_start,
            columns=columns,
            unknownness=None if unknownness is None else unknownness[row],
            ood=ood,
            groups=groups_of(truth.images),
        )


def _excused(found: Matches, inputs: _Inputs) -> NDArray[np.bool_]:
    """Detections, in class order, that lie on an object with an ignored label.

    What is right stays right, and what lies rather on an object that counts is judged by that.
    """
    image, boxes, score = inputs.columns(found.row)
    one = np.zeros(len(found), np.int32)
    order, start = kernels.class_order(one, score, None, 1)
    objects = replace(found.excusing, klass=np.zeros(len(found.excusing), np.int32))
    rules = inputs.rules.but(rule="coco", iou=inputs.rules.iou[:1], max_detections=None)
    lying = kernels.DetectionColumns(image, one, boxes, order, start)
    columns = _run(inputs.truth, objects, lying, Vocabulary(tasks=()), rules)
    assert inputs.truth.crowd is not None
    crowd = inputs.truth.crowd[objects.row] & rules.regions
    region = np.zeros(len(found), np.bool_)
    hit = columns.object[:, 0] >= 0  # crowds have no best overlap, but are claimed
    region[order[columns.position[hit]]] = crowd[columns.object[hit, 0]]
    overlap = np.empty(len(found))
    overlap[order] = columns.iou_same
    rival = found.best_any[0]
    nearer = ~found.overlaps(rival) | (overlap >= rival)
    return (found.overlaps(overlap) | region) & nearer & ~_right(found)


def _right(found: Matches) -> NDArray[np.bool_]:
    """Detections that are correct at any of the protocol's overlaps."""
    if found.protocol.rule != "coco":
        return found.outcome().correct
    right = np.zeros(len(found), np.bool_)
    right[found.columns.position] = found.columns.matched[:, 0] != 0
    return right


def _objects(
    truth: Annotations, vocabulary: Vocabulary, rules: Protocol
) -> tuple[Objects, Objects]:
    """The objects that take part, and those whose label is ignored."""
    classes = vocabulary.classes(truth.labels)
    klass = classes[truth.label] if len(truth) else np.empty(0, np.int32)
    beside = klass < 0
    ignored = beside.copy()
    for flag in rules.ignore:
        ignored |= getattr(truth, flag)
    if rules.ignored_labels == "unknown":
        klass, beside = np.where(beside, np.int32(len(vocabulary.known)), klass), beside & False
    assert truth.area is not None
    area = truth.area

    def taken(mask: NDArray[np.bool_]) -> Objects:
        row = np.flatnonzero(mask).astype(np.int32)
        image, label, copy = truth.image[row], truth.label[row], np.zeros(len(row), np.bool_)
        return Objects(image, klass[row], label, ignored[row], area[row], row, truth.box[row], copy)

    return taken(~beside), taken(beside)


def _taking_part(joined: Joined, leaked: Leaked) -> NDArray[np.intp] | None:
    """Rows of the detections that take part, or None for all of them."""
    keep = (joined.image >= 0) & (joined.klass >= 0)
    if leaked == "drop":
        keep &= ~joined.leaked
    return None if keep.all() else np.flatnonzero(keep)


def times_listed(truth: Annotations, rules: Protocol) -> NDArray[np.int64] | None:
    """How often each image counts, or None for once."""
    if rules.repeats == "once":
        return None
    times = truth.images.attributes.get(LISTED)
    if times is None:
        raise refuse(
            "OS411", f"protocol {rules.name} counts images as often as they are listed, but no list"
        )
    return np.asarray(times).astype(np.int64)


def _repeated(objects: Objects, times: NDArray[np.int64] | None) -> Objects:
    """The objects, and those of repeated images once more for every further line."""
    if times is None:
        return objects
    rows = np.repeat(np.arange(len(objects)), times[objects.image])
    columns = {item.name: getattr(objects, item.name)[rows] for item in fields(Objects)}
    return Objects(**columns | {"copy": np.diff(rows, prepend=-1) == 0})


def _again(
    keep: NDArray[np.intp] | None, image: NDArray[np.int32], times: NDArray[np.int64] | None
) -> NDArray[np.intp] | None:
    """Rows, each as often as its image is listed."""
    if times is None:
        return keep
    rows = np.arange(len(image)) if keep is None else keep
    return np.repeat(rows, times[image[rows]])


def _take(values: NDArray[Any], keep: NDArray[np.intp] | None) -> NDArray[Any]:
    return values if keep is None else values[keep]


def tie_keys(
    rules: Protocol, ids: NDArray[Any], wild: NDArray[np.bool_]
) -> NDArray[np.int32] | None:
    """By image, what equal scores go by before the order of the input; None for nothing."""
    if rules.ties == "image":
        return ranks(ids)
    return wild.astype(np.int32) if rules.ties == "closed-first" else None


def _wild(objects: Objects, n_images: int, n_known: int, rules: Protocol) -> NDArray[np.bool_]:
    known, unknown = np.zeros(n_images, np.bool_), np.zeros(n_images, np.bool_)
    known[objects.image[objects.klass < n_known]] = True
    unknown[objects.image[objects.klass == n_known]] = True
    return ~known if rules.wild == "no-known" else unknown | ~known


def _run(
    truth: Annotations,
    objects: Objects,
    found: kernels.DetectionColumns,
    vocabulary: Vocabulary,
    rules: Protocol,
) -> kernels.MatchColumns:
    assert truth.crowd is not None
    crowd = truth.crowd[objects.row]
    if rules.ignored_labels == "unknown":  # OSOD-III writes them as crowds
        crowd = crowd | (vocabulary.classes(truth.labels)[objects.label] < 0)
    regions = objects.ignored & crowd & rules.regions
    limit = rules.max_detections
    return kernels.match(
        found,
        kernels.ObjectColumns(
            image=objects.image,
            klass=objects.klass,
            boxes=geometry.object_boxes(np.where(objects.copy[:, None], AWAY, objects.box), rules),
            size=objects.area,
            ignore=objects.ignored,
            region=regions,
        ),
        n_images=len(truth.images),
        offset=geometry.offset(rules),
        unknown_class=len(vocabulary.known),
        thresholds=np.array(rules.iou),
        size_ranges=np.array(list(SIZE_RANGES.values())),
        max_detections=2**31 - 1 if limit is None else limit,
        prefer_later=rules.prefer_later,
        similar=vocabulary.similarity(),
        greedy=rules.rule == "coco",
    )
