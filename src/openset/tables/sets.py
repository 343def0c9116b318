"""Sets: an in-distribution and an out-of-distribution set as one ground truth.

Work on OOD object detection (VOS, FMIYC) tests on two sets: images of known objects, and images
that hold none. AUROC and FPR95 compare the detections on both; what becomes of unknown objects is a
question to the OOD set alone, and precision of known classes one to the ID set. Here the two are
one table whose image column `SET` says which set an image is of, so that they are checked, matched
and resampled once. A detector's output on them is one file, or a `Pair` of files.

Ids of images may be the same numbers in both sets: then they are told apart by the name of the set.
Category ids are those of the ID set, which is what a detector was trained on; the OOD set's are
those of labels that the ID set lacks.

Not strata, and not a benchmark with known and unknown objects in one image, which is one set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.tables.annotations import Annotations, Images
from openset.tables.columns import Attributes
from openset.tables.detections import Detections
from openset.tables.image_ids import READINGS
from openset.tables.made_alike import refuse_made_otherwise
from openset.tables.union import concatenated, concatenated_detections, given_ids
from openset.tables.vocabulary import Vocabulary

T = TypeVar("T")
Which = Literal["id", "ood"]
SETS: tuple[Which, ...] = get_args(Which)
ID, OOD = SETS
SET = "id_or_ood"  # the image column
_KEY = Vocabulary(tasks=()).key


@dataclass(frozen=True)
class Pair(Generic[T]):
    """Two of a kind: one of the in-distribution set, one of the out-of-distribution set."""

    id: T
    ood: T


def ood_images(images: Images) -> NDArray[np.bool_] | None:
    """Which images are of the OOD set; None where there are not two sets."""
    column = images.attributes.get(SET)
    return None if column is None else np.asarray(column == OOD)


def together(truth: Pair[Annotations]) -> Annotations:
    """Two ground truths as one."""
    _refuse_shared_images(truth)
    labels = list(truth.id.labels)
    index = {_KEY(label): at for at, label in enumerate(labels)}
    for label in truth.ood.labels:
        if _KEY(label) not in index:
            index[_KEY(label)] = len(labels)
            labels.append(label)
    given = given_ids([_stated(one) for one in (truth.id, truth.ood)], map(_KEY, labels))
    shared: dict[str, Any] = {
        "labels": tuple(labels),
        "category_id": np.array([given[_KEY(label)] for label in labels], np.int64),
        "numbered": bool(truth.id.numbered and truth.ood.numbered),
        "supercategory": tuple(_first(truth, "supercategory", label) for label in labels),
        "role": _roles(truth, labels),
        "info": {k: v for k, v in truth.id.info.items() if k == "openset"},
    }
    apart = bool(_in_both(truth))
    parts = []
    for which, one, other in ((ID, truth.id, truth.ood), (OOD, truth.ood, truth.id)):
        remap = np.array([index[_KEY(label)] for label in one.labels], np.int32)
        images = _of_set(one.images, other.images, which, apart=apart)
        rows = remap[one.label] if len(remap) else one.label
        parts.append(replace(one, images=images, label=rows, **shared))
    return concatenated(parts)


def _of_set(images: Images, other: Images, which: Which, *, apart: bool) -> Images:
    """Images of a set, with all columns that those of either have."""
    columns = {**_blank(other.attributes, len(images)), **images.attributes}
    columns[SET] = np.full(len(images), which)
    return replace(images, id=_named(images.id, which) if apart else images.id, attributes=columns)


def _blank(columns: Attributes, length: int) -> dict[str, NDArray[Any]]:
    """Columns of text without a word; others have no value that would mean none."""
    text = {name: values for name, values in columns.items() if values.dtype.kind in "UT"}
    return {name: np.full(length, "", values.dtype) for name, values in text.items()}


def _named(ids: NDArray[Any], which: Which) -> NDArray[np.str_]:
    """Ids with the name of their set; numbers of one width, so that their order stays."""
    width = len(str(ids.max())) if ids.dtype.kind in "iu" and len(ids) else 0
    return np.array([f"{which}/{str(one).zfill(width)}" for one in ids.tolist()], np.str_)


def in_other_set(images: Images, ids: NDArray[Any]) -> NDArray[np.int32]:
    """Where images of the same number in the other set are: two files may be exchanged.

    Only where both sets have the same numbers; else images join in any order of the files.
    """
    place = {_part(str(name)): at for at, name in enumerate(images.id.tolist())}
    given = [_part(str(name)) for name in ids.tolist()]
    other: dict[str, str] = {ID: OOD, OOD: ID}
    rows = [place.get((other.get(which, ""), number), -1) for which, number in given]
    return np.array(rows, np.int32)


def _part(name: str) -> tuple[str, str]:
    """The set and the number of an id that `together`, or `found_together`, has made."""
    which, _, number = name.replace(" ", "/", 1).partition("/")
    return which, number.lstrip("0") if number.isdecimal() else number


def _in_both(truth: Pair[Annotations]) -> list[str]:
    """Ids that images of both sets have."""
    one, other = (set(map(str, table.images.id.tolist())) for table in (truth.id, truth.ood))
    return sorted(one & other)


def _refuse_shared_images(truth: Pair[Annotations]) -> None:
    """Images of one id and one file name are one image."""
    if truth.id.images.file_name is None or truth.ood.images.file_name is None:
        return
    one, other = (_id_and_name(table.images) for table in (truth.id, truth.ood))
    both = [pair for pair in one if pair in other]
    if both:
        raise refuse(
            "OS443",
            f"{len(both)} images are in the ID set and in the OOD set",
            count=len(both),
            example=f"image {both[0][0]}, {both[0][1]}",
        )


def _id_and_name(images: Images) -> dict[tuple[str, str], None]:
    assert images.file_name is not None
    pairs = zip(map(str, images.id.tolist()), images.file_name.tolist(), strict=True)
    return dict.fromkeys(pair for pair in pairs if pair[1])


def _stated(table: Annotations) -> dict[str, int]:
    """Category ids by class, if the file states them."""
    assert table.category_id is not None
    ids = zip(map(_KEY, table.labels), table.category_id.tolist(), strict=True)
    return dict(ids) if table.numbered else {}


def _first(truth: Pair[Annotations], name: str, label: str) -> str:
    """What the files say of a label, the ID set's first."""
    said = (_said(table, name).get(_KEY(label), "") for table in (truth.id, truth.ood))
    return next(filter(None, said), "")


def _said(table: Annotations, name: str) -> Mapping[str, str]:
    return dict(zip(map(_KEY, table.labels), getattr(table, name), strict=True))


def _roles(truth: Pair[Annotations], labels: list[str]) -> tuple[str, ...]:
    """The roles that either file states; refused where they differ."""
    one, other = _said(truth.id, "role"), _said(truth.ood, "role")
    pairs = {label: (one.get(_KEY(label), ""), other.get(_KEY(label), "")) for label in labels}
    torn = [label for label, (here, there) in pairs.items() if here and there and here != there]
    if torn:
        here, there = pairs[torn[0]]
        raise refuse(
            "OS441",
            f"{len(torn)} labels have another role in the OOD set than in the ID set",
            count=len(torn),
            example=f"{torn[0]!r} is {here} in the ID set and {there} in the OOD set",
        )
    return tuple(here or there for here, there in pairs.values())


def found_together(
    found: Detections | Pair[Detections],
    truth: Pair[Annotations],
    *,
    image_ids: str = "id",
    mapped: bool = False,
) -> Detections:
    """A detector's output on both sets, by the ids that `together` gives to images.

    Args:
        found: One file for both sets, or one for each.
        truth: The ground truths as they were read.
        image_ids: What detections call images by (see `openset.tables.image_ids`).
        mapped: Whether it is said otherwise what category ids mean.
    """
    parts = [found.id, found.ood] if isinstance(found, Pair) else [found]
    for one in parts if not mapped else ():
        _refuse_two_meanings(one, truth)
    both = _in_both(truth)
    if isinstance(found, Pair):
        _refuse_names_beside_ids(found)
        refuse_made_otherwise(
            {f"the {w.upper()} set": one for w, one in zip(SETS, parts, strict=True)}
        )
        return concatenated_detections(
            [
                _under_ids(found.id, truth.id, ID, image_ids, apart=bool(both)),
                _under_ids(found.ood, truth.ood, OOD, image_ids, apart=bool(both)),
            ]
        )
    if image_ids == "id" and both:
        raise refuse(
            "OS440",
            f"{len(both)} image ids are in both sets, and one file of detections speaks of both",
            count=len(both),
            example=f"image {both[0]}",
        )
    return found


def _under_ids(
    found: Detections, truth: Annotations, which: Which, reading: str, *, apart: bool
) -> Detections:
    """Detections on a set under the ids of its images; what has no image there keeps its own."""
    if reading == "id" and not apart:
        return found
    rows = READINGS[reading](truth, found.image)
    ids = _named(truth.images.id, which) if apart else truth.images.id.astype(np.str_)
    lost = np.array([f"{which} {one}" for one in found.image.tolist()], np.str_)
    named = np.where(rows >= 0, np.append(ids, "")[rows], lost)
    return replace(found, image=named if apart or (rows < 0).any() else truth.images.id[rows])


def _refuse_two_meanings(found: Detections, truth: Pair[Annotations]) -> None:
    """Category ids that mean one class in the ID set and another in the OOD set."""
    one, other = ({i: k for k, i in _stated(table).items()} for table in (truth.id, truth.ood))
    torn = [id_ for id_ in one.keys() & other.keys() if one[id_] != other[id_]]
    if found.labels or not torn:
        return
    rows = np.flatnonzero(np.isin(found.label, torn))
    if len(rows):
        id_ = int(found.label[rows[0]])
        raise refuse(
            "OS442",
            f"{len(rows)} detections have a category id that means two classes",
            count=len(rows),
            example=f"{id_} is {one[id_]!r} in the ID set and {other[id_]!r} in the OOD set",
        )


def _refuse_names_beside_ids(found: Pair[Detections]) -> None:
    one, other = found.id, found.ood
    if bool(one.labels) != bool(other.labels) and len(one) and len(other):
        raise refuse("OS442", "one file of detections has names of labels, the other category ids")
