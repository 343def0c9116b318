"""merge: matches of disjoint shards of images, as if they had been matched together.

Matching is per image, so a shard's matches are final; what is global is the order of detections.
Shards are concatenated and ordered again. The numbers are identical to those of one pass over the
concatenated tables, ties included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.kernels import MatchColumns, class_order
from openset.matching.matcher import tie_keys
from openset.matching.matches import Matches, Objects


def merge(parts: Sequence[Matches], rows: Sequence[tuple[int, int]] | None = None) -> Matches:
    """Join the matches of shards that hold different images.

    Args:
        parts: Matches under one protocol and vocabulary; the order decides ties in protocols that
            break them by input order.
        rows: How many objects and detections the tables of each have, so that rows of the joined
            matches are those of the concatenated tables; by default up to the last that counts.
    """
    if len(parts) == 1:
        return parts[0]
    _check(parts)
    first = parts[0]
    ids = _concatenate_ids([part.image_ids for part in parts])
    if len(np.unique(ids)) < len(ids):
        raise UsageError("an image is in two shards")
    images = _offsets([part.n_images for part in parts])
    object_rows, detection_rows = (
        _offsets(sizes) for sizes in zip(*(rows or map(_rows, parts)), strict=True)
    )
    objects = _objects(parts, [part.objects for part in parts], images, object_rows)
    starts = _offsets([len(part.objects) for part in parts])
    klass = np.concatenate([part.klass for part in parts])
    score = np.concatenate([part.score for part in parts])
    image = _shifted(parts, "image", images)
    row = _shifted(parts, "row", detection_rows)
    wild = np.concatenate([part.wild for part in parts])
    keys = tie_keys(first.protocol, ids, wild)
    tie = row if keys is None else keys[image]
    order, class_start = class_order(klass, score, tie, first.n_known + 1)
    return replace(
        first,
        labels=_labels(parts)[0],
        image_ids=ids,
        wild=wild,
        objects=objects,
        excusing=_objects(parts, [part.excusing for part in parts], images, object_rows),
        image=image[order],
        score=score[order],
        row=row[order],
        tie=None if keys is None else tie[order],
        class_start=class_start,
        columns=_columns(parts, order, starts),
        unknownness=_unknownness(parts, order),
        ood=_joined(parts, "ood"),
        groups=_joined(parts, "groups"),
        excused=sum(part.excused for part in parts),
        _outcomes={},
        _parts={},
    )


def _check(parts: Sequence[Matches]) -> None:
    if not parts:
        raise UsageError("there are no shards to merge")
    first = parts[0]
    for part in parts[1:]:
        if part.protocol != first.protocol:
            raise UsageError("shards were matched under different protocols")
        if part.vocabulary.hash != first.vocabulary.hash:
            raise UsageError("shards were matched with different vocabularies")
        if (part.groups is None) != (first.groups is None):
            raise UsageError("some shards have groups and others do not")
        if (part.ood is None) != (first.ood is None):
            raise UsageError("some shards are of two sets and others are not")


def _offsets(sizes: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(sizes)[:-1].tolist()]


def _rows(part: Matches) -> tuple[int, int]:
    objects = np.concatenate([part.objects.row, part.excusing.row])
    return int(objects.max(initial=-1)) + 1, int(part.row.max(initial=-1)) + 1


def _shifted(parts: Sequence[Matches], name: str, offsets: Sequence[int]) -> NDArray[np.int32]:
    columns = [getattr(part, name) + at for part, at in zip(parts, offsets, strict=True)]
    return np.concatenate(columns).astype(np.int32)


def _concatenate_ids(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(str) for column in columns]
    return np.concatenate(columns)


def _labels(parts: Sequence[Matches]) -> tuple[tuple[str, ...], list[NDArray[np.int32]]]:
    """The union of the shards' labels, and where each shard's labels stand in it."""
    union = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    index = {label: at for at, label in enumerate(union)}
    return union, [np.array([index[x] for x in part.labels], np.int32) for part in parts]


def _objects(
    parts: Sequence[Matches],
    each: Sequence[Objects],
    images: Sequence[int],
    rows: Sequence[int],
) -> Objects:
    _, places = _labels(parts)
    label = [place[one.label] for place, one in zip(places, each, strict=True)]
    image = [one.image + at for one, at in zip(each, images, strict=True)]
    row = [one.row + at for one, at in zip(each, rows, strict=True)]
    return Objects(
        np.concatenate(image).astype(np.int32),
        np.concatenate([one.klass for one in each]),
        np.concatenate(label),
        np.concatenate([one.ignored for one in each]),
        np.concatenate([one.area for one in each]),
        np.concatenate(row).astype(np.int32),
        np.concatenate([one.box for one in each]),
        np.concatenate([one.copy for one in each]),
    )


def _columns(
    parts: Sequence[Matches], order: NDArray[np.int32], offsets: Sequence[int]
) -> MatchColumns:
    each = [part.columns for part in parts]
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    starts = _offsets([len(part) for part in parts])
    position = np.concatenate([place[c.position + at] for c, at in zip(each, starts, strict=True)])
    rising = np.argsort(position, kind="stable")

    def joined(name: str, rows: NDArray[Any]) -> NDArray[Any]:
        columns = [getattr(one, name) for one in each]
        if name.startswith("object"):
            pairs = zip(columns, offsets, strict=True)
            columns = [np.where(one >= 0, one + at, -1).astype(np.int32) for one, at in pairs]
        return np.concatenate(columns)[rows]

    similar = None if each[0].iou_similar is None else joined("iou_similar", order)
    overlaps = [
        f"{kind}_{who}" for who in ("same", "known", "unknown") for kind in ("iou", "object")
    ]
    return MatchColumns(
        rank=joined("rank", order),
        area=joined("area", order),
        **{name: joined(name, order) for name in overlaps},
        iou_similar=similar,
        position=position[rising],
        **{name: joined(name, rising) for name in ("matched", "ignored", "object")},
    )


def _joined(parts: Sequence[Matches], name: str) -> NDArray[Any] | None:
    """A column of images that all shards have, or none."""
    columns = [getattr(part, name) for part in parts if getattr(part, name) is not None]
    return np.concatenate(columns) if columns else None


def _unknownness(parts: Sequence[Matches], order: NDArray[np.int32]) -> NDArray[np.float64] | None:
    # A shard without detections has no unknownness to give, and none to miss.
    columns = [part.unknownness for part in parts if len(part)]
    present = [column for column in columns if column is not None]
    if not present:
        return None
    if len(present) < len(columns):
        raise UsageError("some shards have unknownness and others do not")
    return np.concatenate(present)[order]
