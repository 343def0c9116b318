"""Union: several tables as one, and one id per label.

Ground truths that share their labels, and files of one detector on different images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.tables.annotations import Annotations, Images
from openset.tables.detections import Detections

_COLUMNS = ("label", "box", "area", "crowd", "difficult")
_FOUND = ("box", "score", "unknownness", "embedding", "logits")


def concatenated(parts: Sequence[Annotations]) -> Annotations:
    """The images and objects of tables that share their labels and no image id.

    Further columns are those that all have.
    """
    starts = np.cumsum([0, *(len(part.images) for part in parts)])
    image = [part.image + start for part, start in zip(parts, starts, strict=False)]
    return _joined(parts, _images([part.images for part in parts]), image)


def _joined(parts: Sequence[Annotations], images: Images, image: Sequence[Any]) -> Annotations:
    """The objects of tables on images that they may share; `image` says where those of each are."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS
    }
    return replace(
        parts[0],
        images=images,
        image=np.concatenate(image).astype(np.int32),
        id=None,
        attributes=_attributes([part.attributes for part in parts]),
        **columns,
    )


def _images(parts: Sequence[Images]) -> Images:
    ids = [part.id for part in parts]
    if len({array.dtype.kind for array in ids}) > 1:
        ids = [array.astype(np.str_) for array in ids]
    names = [part.file_name for part in parts if part.file_name is not None]
    return Images(
        id=np.concatenate(ids),
        file_name=np.concatenate(names) if len(names) == len(parts) else None,
        width=np.concatenate([part.width for part in parts if part.width is not None]),
        height=np.concatenate([part.height for part in parts if part.height is not None]),
        attributes=_attributes([part.attributes for part in parts]),
    )


def _attributes(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    shared = set.intersection(*(set(part) for part in parts))
    return {name: np.concatenate([part[name] for part in parts]) for name in sorted(shared)}


def concatenated_detections(parts: Sequence[Detections]) -> Detections:
    """What one detector said on different images; one without detections has nothing to miss.

    Columns are those that all have, and labels those that any has.
    """
    full = [part for part in parts if len(part)] or [*parts[:1]]
    labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    names = {name: at for at, name in enumerate(labels)}
    image = [part.image for part in full]
    if len({ids.dtype.kind for ids in image}) > 1:
        image = [ids.astype(np.str_) for ids in image]
    columns: dict[str, Any] = {name: _shared(full, name) for name in _FOUND}
    if len({part.layout for part in full}) > 1:
        columns["logits"] = None
    lost = columns["logits"] is None and any(part.logits is not None for part in full)
    return replace(
        full[0],
        image=np.concatenate(image),
        label=np.concatenate([_renamed(part, names) for part in full]),
        labels=labels,
        attributes=_attributes([part.attributes for part in full]),
        layout=None if lost else full[0].layout,
        head=None if lost or columns["embedding"] is None else full[0].head,
        **columns,
    )


def _shared(parts: Sequence[Detections], name: str) -> NDArray[Any] | None:
    """A column that all have."""
    columns = [getattr(part, name) for part in parts]
    return None if any(column is None for column in columns) else np.concatenate(columns)


def _renamed(part: Detections, names: Mapping[str, int]) -> NDArray[np.int64]:
    if not part.labels:
        return part.label
    return np.array([names[name] for name in part.labels], np.int64)[part.label]


def given_ids(stated: Iterable[Mapping[str, int]], keys: Iterable[str]) -> dict[str, int]:
    """One id per class: the first that is stated and free, else one beyond all that are.

    >>> given_ids([{"cat": 17, "dog": 18}, {"cat": 1, "cow": 2, "emu": 18}], ["cow", "emu", "cat"])
    {'cat': 17, 'dog': 18, 'cow': 2, 'emu': 19}
    """
    given: dict[str, int] = {}
    taken: set[int] = set()
    sources = [*stated]
    for ids in sources:
        for key, id_ in ids.items():
            if key not in given and id_ not in taken:
                given[key] = id_
                taken.add(id_)
    fresh = max((id_ for ids in sources for id_ in ids.values()), default=0)
    for key in keys:
        if key not in given:
            fresh += 1
            given[key] = fresh
    return given


def merged(parts: Sequence[Annotations], labels: Sequence[str]) -> Annotations:
    """The objects of some labels on all images of tables that may share images, each image once.

    What several tables show of one image is put together: the splits of tasks show the objects of
    another task each.
    """
    own = [_relabelled(part, tuple(labels)) for part in parts]
    places: dict[Any, int] = {}
    images, image = [], []
    for part in own:
        ids = part.images.id.tolist()
        new = [at for at, key in enumerate(ids) if key not in places]
        images.append(part.images.select(np.array(new, np.intp)))
        places |= {ids[at]: place for place, at in enumerate(new, len(places))}
        image.append(np.array([places[key] for key in ids], np.int32)[part.image])
    return _joined(own, _images(images), image)


def on_images(table: Annotations, images: NDArray[Any]) -> Annotations:
    """Some images of a table, in this order, and the objects on them."""
    place = np.full(len(table.images), -1, np.int32)
    place[images] = np.arange(len(images), dtype=np.int32)
    there = table.select(place[table.image] >= 0)
    return replace(there, images=table.images.select(images), image=place[there.image])


def _relabelled(table: Annotations, labels: tuple[str, ...]) -> Annotations:
    """The objects of some labels, over these, whether the table names them or not."""
    place = {label: at for at, label in enumerate(labels)}
    column = np.array([place.get(label, -1) for label in table.labels], np.int32)
    there = table.select(column[table.label] >= 0 if len(table) else np.empty(0, np.bool_))
    return replace(
        there,
        labels=labels,
        label=column[there.label],
        category_id=None,
        supercategory=(),
        role=("known",) * len(labels),
    )
