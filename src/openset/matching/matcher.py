"""match: join, prepare the geometry, order, and run the matching kernel. Once."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset import kernels
from openset.findings import refuse
from openset.matching import geometry
from openset.matching.matches import SIZE_RANGES, Matches, Objects
from openset.matching.protocol import Protocol
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.columns import ranks
from openset.tables.groups import groups_of
from openset.tables.join import Joined, Leaked, join

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
    times = times_listed(truth, rules)
    objects = _repeated(_objects(truth, vocabulary, rules), times)
    joined = join(truth, detections, vocabulary) if joined is None else joined
    keep = _again(_taking_part(joined, leaked), joined.image, times)
    image, klass = _take(joined.image, keep), _take(joined.klass, keep)
    boxes = geometry.detection_boxes(_take(detections.box, keep), rules)
    score = geometry.detection_scores(_take(detections.score, keep), rules)
    if not np.isfinite(score).all():
        raise refuse("OS202", "detections with NaN or infinite scores cannot be ordered")
    n_classes = len(vocabulary.known) + 1
    wild = _wild(objects, len(truth.images), n_classes - 1, rules)
    tie = tie_keys(rules, truth.images.id, wild)
    tie = None if tie is None else tie[image]
    order, class_start = kernels.class_order(klass, score, tie, n_classes)
    found = kernels.DetectionColumns(image, klass, boxes, order, class_start)
    columns = _run(truth, objects, found, vocabulary, rules)
    row = order if keep is None else keep[order].astype(np.int32)
    unknownness = detections.unknownness
    return Matches(
        protocol=rules,
        vocabulary=vocabulary,
        labels=truth.labels,
        image_ids=truth.images.id,
        wild=wild,
        objects=objects,
        image=kernels.take(image, order),
        score=kernels.take(score, order),
        row=row,
        tie=None if tie is None else kernels.take(tie, order),
        class_start=class_start,
        columns=columns,
        unknownness=None if unknownness is None else unknownness[row],
        groups=groups_of(truth.images),
    )


def _objects(truth: Annotations, vocabulary: Vocabulary, rules: Protocol) -> Objects:
    """The objects that take part: those whose label is not ignored."""
    classes = vocabulary.classes(truth.labels)
    klass = classes[truth.label] if len(truth) else np.empty(0, np.int32)
    row = np.flatnonzero(klass >= 0).astype(np.int32)
    ignored = np.zeros(len(truth), np.bool_)
    for flag in rules.ignore:
        ignored |= getattr(truth, flag)
    assert truth.area is not None
    image, label, area, box = truth.image[row], truth.label[row], truth.area[row], truth.box[row]
    copy = np.zeros(len(row), np.bool_)
    return Objects(image, klass[row], label, ignored[row], area, row, box, copy)


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
    regions = objects.ignored & truth.crowd[objects.row] & rules.regions
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
