"""merge: matches of disjoint shards of images, as if they had been matched together.

Matching is per image, so a shard's matches are final; what is global is the order of detections.
The columns of all shards are gathered, and ordered again column by column and a few classes at a
time: a class stands together in every shard, so that beside the columns nothing grows with the data
but their order. Columns go to files once they are many (`openset.matching.spilling`). The numbers
are identical to those of one pass over the concatenated tables, ties included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.engines import Engine, find
from openset.findings import UsageError
from openset.kernels import MatchColumns, class_order, take
from openset.matching import spilling
from openset.matching.blocks import class_blocks
from openset.matching.lean import Lean
from openset.matching.matcher import tie_keys
from openset.matching.matches import Matches
from openset.matching.near import KINDS, Near
from openset.matching.objects import Objects
from openset.matching.spilling import Column, forget
from openset.wording import spaced

_OF_IMAGES = ("image_ids", "wild", "ood", "groups")
_OF_CANDIDATES = ("position", "matched", "ignored", "object")
_OF_MATCHES = ("image", "score", "row", "tie", "class_start", "unknownness")
_OF_LEAN = ("place", "size", "apart")
_NAMING = ("object_same", "object_known", "object_unknown", "object")  # objects, by their index
MOST = np.iinfo(np.int32).max  # rows are counted in 32 bits
Columns = dict[str, NDArray[Any]]


def merge(parts: Sequence[Matches], rows: Sequence[tuple[int, int]] | None = None) -> Matches:
    """Join the matches of shards that hold different images.

    Args:
        parts: Matches under one protocol and vocabulary; the order decides ties in protocols that
            break them by input order.
        rows: How many objects and detections the tables of each have, so that rows of the joined
            matches are those of the concatenated tables; by default up to the last that counts.
    """
    merging = Merging()
    for part, of in zip(parts, rows or map(_rows, parts), strict=True):
        merging.add(part, of)
    return merging.matches()


class _Sizes(NamedTuple):
    """How much was taken so far: where the next shard begins."""

    images: int = 0
    objects: int = 0
    object_rows: int = 0
    detections: int = 0
    detection_rows: int = 0
    excused: int = 0


class Merging:
    """Shards that come one after another; of each but the first only the columns are kept."""

    def __init__(self) -> None:
        self._first: Matches | None = None
        self._sizes = _Sizes()
        self._starts: dict[str, list[NDArray[np.int64]]] = {}  # of the classes of each shard
        self._images: dict[str, list[NDArray[Any]]] = {}
        self._labels: dict[str, int] = {}
        self._columns: dict[str, Column] = {}
        self._lean: Lean | None = None  # of all so far, but for columns

    def add(self, part: Matches, rows: tuple[int, int]) -> None:
        """Take the columns of a shard, whose tables have so many objects and detections."""
        if self._first is None:
            self._first, self._lean = part, part.lean
        elif self._lean is not None and part.lean is not None:
            self._lean = self._lean.then(part.lean)
        _refuse_unlike(part, self._first)
        self._refuse_without_unknownness(part)
        at = self._sizes
        _refuse_many(at, rows)
        for name in _OF_IMAGES:
            if getattr(part, name) is not None:
                # A copy: a view would keep all that came with it, where that is a mapped file.
                self._images.setdefault(name, []).append(getattr(part, name).copy())
        self._take("objects", _shifted(part.objects, self._label_places(part), at))
        self._take("excusing", _shifted(part.excusing, self._label_places(part), at))
        self._start("detections", part.class_start)
        self._take("detections", _of_detections(part, at))
        for kind, columns in _of_some(part).items():
            self._start(kind, np.searchsorted(columns["position"], part.class_start))
            columns["position"] = columns["position"] + np.int32(at.detections)
            self._take(kind, _renamed(columns, at.objects))
        more = (part.n_images, len(part.objects), rows[0], len(part), rows[1], part.excused)
        self._sizes = _Sizes(*np.add(at, more).tolist())
        if self._is_large:
            for column in self._columns.values():
                column.spill()

    @property
    def _is_large(self) -> bool:
        return sum(column.nbytes for column in self._columns.values()) > spilling.LIMIT

    def _start(self, kind: str, starts: NDArray[np.integer]) -> None:
        """Note where the classes of a shard begin, behind those of the shards before."""
        before = self._starts.setdefault(kind, [])
        before.append(starts + (before[-1][-1] if before else np.int64(0)))

    def _take(self, kind: str, columns: Columns) -> None:
        for name, values in columns.items():
            key = f"{kind}.{name}"
            if key not in self._columns:
                self._columns[key] = Column(spilled=self._is_large)
            self._columns[key].add(values)

    def _label_places(self, part: Matches) -> NDArray[np.int32]:
        """Where the labels of a shard stand in the union of all."""
        places = [self._labels.setdefault(label, len(self._labels)) for label in part.labels]
        return np.array(places, np.int32)

    def _refuse_without_unknownness(self, part: Matches) -> None:
        # A shard without detections has no unknownness to give, and none to miss.
        had = "detections.unknownness" in self._columns
        if len(part) and self._sizes.detections and had != (part.unknownness is not None):
            raise UsageError("some shards have unknownness and others do not")

    def matches(self, engine: Engine | None = None) -> Matches:
        """All shards as one; what was taken is used up.

        Args:
            engine: Where columns are ordered, which threads must share; by default here.
        """
        if self._first is None:
            raise UsageError("there are no shards to merge")
        if len(self._starts["detections"]) == 1:
            return self._first
        images = {name: _concatenated(columns) for name, columns in self._images.items()}
        ids = images["image_ids"]
        different, times = np.unique(ids, return_counts=True)
        if len(different) < len(ids):
            raise UsageError(
                f"an image is in two shards, or batches: {different[times.argmax()]}; give each "
                "image once, and reset() an Evaluator before its images come again, as after the "
                "batches that a loop tries first"
            )
        keys = tie_keys(self._first.protocol, ids, images["wild"])
        tables = self._ordered(keys, engine or find("local"))
        found = tables.pop("detections") | tables.pop("candidates")
        lean = self._lean
        if lean is not None:
            ordered: dict[str, Any] = {name: found.pop(name) for name in _OF_LEAN}
            ordered |= {kind: Near(**columns) for kind, columns in tables.items()}
            lean = lean._replace(**ordered)
        bare = self._first.columns._asdict()
        columns = MatchColumns(**{name: found.pop(name, bare[name]) for name in bare})
        own: dict[str, Any] = {name: found.pop(name, None) for name in _OF_MATCHES}
        if lean is not None:
            own["row"] = self._first.row  # none
        of_images: dict[str, Any] = {name: images.get(name) for name in _OF_IMAGES}
        merged = replace(
            self._first,
            labels=tuple(self._labels),
            objects=Objects(**self._whole("objects")),
            excusing=Objects(**self._whole("excusing")),
            columns=columns,
            excused=self._sizes.excused,
            lean=lean,
            _outcomes={},
            _parts={},
            **of_images,
            **own,
        )
        vars(merged).update(found)  # what was computed per image, and would be on first use
        return merged

    def _ordered(self, keys: NDArray[np.int32] | None, engine: Engine) -> dict[str, Columns]:
        """Everything about detections, and some of them, in class order; `tie` if there are keys.

        Args:
            keys: By image, what equal scores go by; None for the order of the input.
            engine: Where columns are ordered.
        """
        large = self._is_large
        held = {kind: self._whole(kind) for kind in self._starts}
        shards = _Shards(np.stack(self._starts.pop("detections")), large)
        whole = held.pop("detections")
        by = partial(shards.order, score=whole["score"], image=whole["image"], keys=keys)
        orders = engine.map(by, shards.blocks)
        found = {"detections": _in_order(whole, shards, orders, engine)}
        some = {
            kind: _Shards(np.stack(self._starts.pop(kind)), large, shards.blocks) for kind in held
        }
        places = [(some[kind], columns.pop("position")) for kind, columns in held.items()]
        placed = engine.map(partial(_positions, shards, orders), places)
        for (kind, columns), (position, rising) in zip(held.items(), placed, strict=True):
            found[kind] = {"position": shards.joined(position)}
            found[kind] |= _in_order(columns, some[kind], rising, engine)
        every = found["detections"]
        every["class_start"] = shards.class_start
        if keys is not None and self._lean is None:
            image, edges = every["image"], shards.class_start
            every["tie"] = shards.joined(
                keys[image[edges[first] : edges[last]]] for first, last in shards.blocks
            )
        return found

    def _whole(self, kind: str) -> Columns:
        """The columns of a kind, shard after shard."""
        prefix = f"{kind}."
        names = [name for name in self._columns if name.startswith(prefix)]
        return {name.removeprefix(prefix): self._columns.pop(name).array() for name in names}


class _Shards:
    """Columns in which shards follow one another, and each shard has its classes in order.

    Attributes:
        starts: Where each class of each shard begins, and its end.
        class_start: Where each class begins once all shards are one.
        blocks: First and last class of what is ordered at a time.
    """

    def __init__(
        self,
        starts: NDArray[np.int64],
        is_large: bool,
        blocks: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        sizes = np.diff(starts, axis=1).sum(axis=0)
        self.starts, self._is_large = starts, is_large
        self.class_start = np.append(0, np.cumsum(sizes))
        self.blocks = list(class_blocks(self.class_start)) if blocks is None else blocks

    def sizes(self, block: tuple[int, int]) -> NDArray[np.int64]:
        """How many rows of a block each shard has."""
        return self.starts[:, block[1]] - self.starts[:, block[0]]

    def of(self, block: tuple[int, int], column: NDArray[Any]) -> NDArray[Any]:
        """The values of some classes, shard after shard."""
        edges = self.starts[:, list(block)].tolist()
        return np.concatenate([column[start:end] for start, end in edges])

    def order(
        self,
        block: tuple[int, int],
        score: NDArray[np.float64],
        image: NDArray[np.int32],
        keys: NDArray[np.int32] | None,
    ) -> NDArray[np.int32]:
        """The order of the detections of some classes, ties by the keys of their images.

        Ties of these stay as they are: each shard has them in order, and shards follow another.
        """
        first, last = block
        each = np.diff(self.starts[:, first : last + 1], axis=1)
        classes = np.tile(np.arange(last - first, dtype=np.int32), len(each))
        klass = np.repeat(classes, each.ravel())
        ties = None if keys is None else keys[self.of(block, image)]
        order, _ = class_order(klass, self.of(block, score), ties, last - first)
        forget((score, image))
        return order

    def ordered(self, column: NDArray[Any], orders: Sequence[NDArray[np.int32]]) -> NDArray[Any]:
        """A column in class order, by the order of every block."""
        return self.joined(
            self._taken(block, column, order)
            for block, order in zip(self.blocks, orders, strict=True)
        )

    def _taken(
        self, block: tuple[int, int], column: NDArray[Any], order: NDArray[np.int32]
    ) -> NDArray[Any]:
        taken = take(self.of(block, column), order)
        forget((column,))
        return taken

    def joined(self, pieces: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """Pieces as one column."""
        column = Column(spilled=self._is_large)
        for piece in pieces:
            column.add(piece)
        return column.array()


def _in_order(
    table: Columns, shards: _Shards, orders: Sequence[NDArray[np.int32]], engine: Engine
) -> Columns:
    """The columns of a table in class order; what they were made from is gone."""
    names = list(table)
    order = partial(_popped, table, shards, orders)
    return dict(zip(names, engine.map(order, names), strict=True))


def _popped(
    table: Columns, shards: _Shards, orders: Sequence[NDArray[np.int32]], name: str
) -> NDArray[Any]:
    """A column of a table in class order; what it was made from is gone."""
    return shards.ordered(table.pop(name), orders)


def _positions(
    shards: _Shards,
    orders: Sequence[NDArray[np.int32]],
    near: tuple[_Shards, NDArray[np.int32]],
) -> tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]]:
    """By block, where candidates stand in class order, rising; and which candidate it is."""
    some, position = near
    places, rising = [], []
    for block, order in zip(shards.blocks, orders, strict=True):
        sizes, first = shards.sizes(block), block[0]
        before = np.cumsum(sizes) - sizes - shards.starts[:, first]
        at = some.of(block, position) + np.repeat(before, some.sizes(block))
        which = np.full(len(order), -1, np.int32)
        which[at] = np.arange(len(at), dtype=np.int32)
        which = take(which, order)
        place = np.flatnonzero(which >= 0)
        places.append((place + shards.class_start[first]).astype(np.int32))
        rising.append(which[place])
    return places, rising


def _of_detections(part: Matches, at: _Sizes) -> Columns:
    """The columns of a shard's detections, counted on from those before."""
    columns = {"image": part.image + np.int32(at.images), "score": part.score}
    if part.unknownness is not None and len(part):
        columns["unknownness"] = part.unknownness
    if part.lean is not None:
        return columns | {"rank": part.columns.rank, **_columns_of(part.lean, _OF_LEAN)}
    columns["row"] = part.row + np.int32(at.detection_rows)
    columns["place"] = part.place
    every = part.columns._asdict()
    own = {k: v for k, v in every.items() if v is not None and k not in _OF_CANDIDATES}
    return {**columns, **_renamed(own, at.objects)}


def _of_some(part: Matches) -> dict[str, Columns]:
    """The columns of those detections of a shard that are candidates, or near an object."""
    found = {"candidates": _columns_of(part.columns, _OF_CANDIDATES)}
    if part.lean is not None:
        found |= {kind: getattr(part.lean, kind)._asdict() for kind in KINDS}
    return found


def _columns_of(table: Any, names: Iterable[str]) -> Columns:
    return {name: getattr(table, name) for name in names}


def _renamed(columns: Columns, before: int) -> Columns:
    """Columns that name objects, counted on from those of the shards before."""
    shift = np.int32(before)
    named = {k: columns[k] for k in _NAMING if k in columns}
    return {**columns, **{k: np.where(v >= 0, v + shift, np.int32(-1)) for k, v in named.items()}}


def _shifted(objects: Objects, places: NDArray[np.int32], at: _Sizes) -> Columns:
    """The columns of a shard's objects, counted on from those before."""
    columns = {item.name: getattr(objects, item.name) for item in fields(Objects)}
    columns["image"] = objects.image + np.int32(at.images)
    columns["row"] = objects.row + np.int32(at.object_rows)
    columns["label"] = places[objects.label]
    return columns


def _refuse_many(at: _Sizes, rows: tuple[int, int]) -> None:
    """Refuse more rows than 32 bits can count."""
    if max(at.object_rows + rows[0], at.detection_rows + rows[1]) > MOST:
        raise UsageError(
            f"one evaluation holds at most {spaced(MOST)} detections: leave out low scores "
            "(minimum_score), or evaluate fewer images at a time"
        )


def _refuse_unlike(part: Matches, first: Matches) -> None:
    if part.protocol != first.protocol:
        raise UsageError("shards were matched under different protocols")
    if part.vocabulary != first.vocabulary and part.vocabulary.hash != first.vocabulary.hash:
        raise UsageError("shards were matched with different vocabularies")
    if (part.groups is None) != (first.groups is None):
        raise UsageError("some shards have groups and others do not")
    if (part.lean is None) != (first.lean is None):
        raise UsageError("some shards are for metrics alone and others are not")
    if (part.ood is None) != (first.ood is None):
        raise UsageError("some shards are of two sets and others are not")


def _rows(part: Matches) -> tuple[int, int]:
    objects = np.concatenate([part.objects.row, part.excusing.row])
    return int(objects.max(initial=-1)) + 1, int(part.row.max(initial=-1)) + 1


def _concatenated(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(str) for column in columns]
    return np.concatenate(columns)
