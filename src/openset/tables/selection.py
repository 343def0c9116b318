"""Selection: some classes and images of a table, and the rest of the images as another.

A ground truth keeps the ids, roles and super-classes of its labels; images that lose all objects
stay unless they are to go: an image without objects is a test, too. Detections keep every column.
What is asked for and not there is said, not passed over.

Shares are drawn by group of images where there are groups, so that frames of one video never stand
on both sides. Not a benchmark: `openset.benchmarks` builds those, with rules, tasks and an audit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, InputError, Level, UsageError
from openset.tables.annotations import Annotations, Images
from openset.tables.detections import Detections
from openset.tables.groups import groups_of, units
from openset.tables.names import file_names, named, stems
from openset.tables.union import on_images
from openset.tables.vocabulary import Vocabulary, normal

Mask = NDArray[np.bool_]
_FLAG = re.compile(r"\s+-?[01]$")  # of VOC's list of a class
T = TypeVar("T", Annotations, Detections)


@dataclass(frozen=True)
class Selection:
    """What to keep; what is None keeps all.

    Attributes:
        classes: Names of labels, in any spelling.
        roles: Roles of labels, under `vocabulary`.
        vocabulary: What gives labels their roles.
        images: Ids or file names of images, the latter with or without folder and ending.
        share: Of these images a share, between 0 and 1.
        seed: Which share.
        groups: Per image of the table, the name of its group, which a share never parts; where it
            is None, the groups that the table states.
        drop_empty: Whether images without an object of these labels go, too.
    """

    classes: Sequence[str] | None = None
    roles: Sequence[str] | None = None
    vocabulary: Vocabulary | None = None
    images: Sequence[str] | None = None
    share: float | None = None
    seed: int = 0
    groups: NDArray[Any] | None = None
    drop_empty: bool = False

    def labels(self, names: Sequence[str]) -> Mask:
        """Which labels are kept."""
        kept = np.ones(len(names), np.bool_)
        if self.classes is not None:
            asked = set(map(normal, self.classes))
            kept &= np.array([normal(name) in asked for name in names], np.bool_)
        if self.roles is not None:
            if self.vocabulary is None:
                raise UsageError("roles must be stated: by the ground truth, or with known=")
            roles = [str(self.vocabulary.role(name)) for name in names]
            kept &= np.isin(roles, list(self.roles))
        return kept

    def listed(self, names: Sequence[tuple[str, ...]]) -> Mask:
        """Which images are listed, by any of their names."""
        asked = None if self.images is None else set(self.images)
        found = [asked is None or not asked.isdisjoint(one) for one in names]
        return np.array(found, np.bool_)


@dataclass(frozen=True)
class Parted(Generic[T]):
    """A table in two.

    Attributes:
        kept: What was asked for.
        rest: The same classes on all other images.
        findings: What was asked for and is not there.
    """

    kept: T
    rest: T
    findings: tuple[Finding, ...]


def part_truth(truth: Annotations, wanted: Selection) -> Parted[Annotations]:
    """The objects of some labels on some images of a ground truth, and on all others."""
    names = _names(truth.images)
    wanted = _as_called(wanted, {name for one in names for name in one})
    chosen = wanted.listed(names)
    if wanted.share is not None:
        groups = groups_of(truth.images) if wanted.groups is None else wanted.groups
        unit = units(truth.images.id, groups)
        chosen[chosen] = drawn(unit[chosen], wanted.share, wanted.seed)
    classes = _absent("classes", wanted.classes, truth.labels, key=True)
    lost = _absent("images", wanted.images, (name for one in names for name in one))
    of_labels = _with_labels(truth, wanted.labels(truth.labels))
    if truth.labels and not of_labels.labels:
        raise _nothing(f"none of {len(truth.labels)} labels is left", [*classes, *lost])
    kept, rest = (on_images(of_labels, np.flatnonzero(mask)) for mask in (chosen, ~chosen))
    if wanted.drop_empty:
        kept, rest = (on_images(one, np.unique(one.image).astype(np.intp)) for one in (kept, rest))
    if not len(kept.images):
        raise _nothing(f"none of {len(truth.images)} images is left", [*classes, *lost])
    return Parted(kept, rest, (*classes, *lost))


def part_detections(
    found: Detections, wanted: Selection, truth: Annotations | None = None
) -> Parted[Detections]:
    """The detections of some labels on some images, and on all others.

    Args:
        found: The detections.
        wanted: What to keep.
        truth: Their ground truth, where they have ids and names are asked for.
    """
    if wanted.share is not None or wanted.drop_empty:
        raise UsageError(
            "a share is drawn of a ground truth, and so are empty images: select there first, and "
            "give what it wrote as the list of images"
        )
    keep, labels = np.ones(len(found), np.bool_), ()  # type: tuple[Mask, tuple[str, ...]]
    if wanted.classes is not None or wanted.roles is not None:
        labels, column = named(found, truth)
        keep = wanted.labels(labels)[column]
    ids, place = np.unique(found.image, return_inverse=True)
    more = {} if truth is None else {names[0]: names for names in _names(truth.images)}
    names = [more.get(str(id_), (str(id_),)) for id_ in ids.tolist()]
    wanted = _as_called(wanted, {name for one in names for name in one})
    chosen = wanted.listed(names)
    on = chosen[place] if len(found) else np.empty(0, np.bool_)
    kept = found.select(keep & on)
    # An image without a detection is nothing amiss: only classes can be absent.
    classes = _absent("classes", wanted.classes, labels, key=True)
    if not len(kept):
        raise _nothing(f"none of {len(found)} detections is left", classes)
    elsewhere = _elsewhere(wanted, chosen)
    return Parted(kept, found.select(keep & ~on), (*classes, *elsewhere))


_FEW = 0.1  # of the images of either side: those of one data set share far more


def _elsewhere(wanted: Selection, chosen: Mask) -> Iterator[Finding]:
    """The finding that hardly any image is on both sides, as of another data set's numbers."""
    asked, there, both = len(set(wanted.images or ())), len(chosen), np.count_nonzero(chosen)
    if wanted.images is None or both >= _FEW * min(asked, there):
        return
    message = f"{both} of {asked} images asked for have detections, of {there} images that have any"
    cause = "the images are of another data set, which numbers its own alike"
    fix = "give the images of these detections; nothing, if they are few by chance"
    yield Finding("OS382", Level.WARNING, message, asked - int(both), "", cause, fix)


def _as_called(wanted: Selection, there: Collection[str]) -> Selection:
    """Images as they are called here: lists have paths of other machines, quotes, flags of VOC."""
    if wanted.images is None:
        return wanted
    spelt = ((name, *_spellings(name)) for name in wanted.images)
    return replace(
        wanted, images=[next((one for one in each if one in there), each[0]) for each in spelt]
    )


def _spellings(name: str) -> Iterator[str]:
    r"""What an entry of a list may mean, the plainest last.

    >>> list(_spellings('"C:\\voc\\000001.jpg",')), list(_spellings("000001  -1"))
    (['C:\\voc\\000001.jpg', '000001.jpg', '000001'], ['000001', '000001', '000001'])
    """
    whole = _FLAG.sub("", name.strip(" \t\"',;"))
    last = re.split(r"[/\\]", whole)[-1]
    yield from (whole, last, last.rpartition(".")[0] or last)


def drawn(unit: NDArray[np.int32], share: float, seed: int) -> Mask:
    """About a share of images that are drawn in units, which are never cut.

    >>> int(drawn(np.arange(10), 0.2, seed=0).sum())
    2
    """
    if not 0 < share < 1:
        raise UsageError(f"a share lies between 0 and 1, not at {share:g}")
    _, place, size = np.unique(unit, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(size))
    # In random order, as long as another unit comes nearer to the share.
    after = np.cumsum(size[order])
    taken = np.zeros(len(size), np.bool_)
    taken[order[after - size[order] / 2 < share * len(unit)]] = True
    return np.asarray(taken[place])


def _names(images: Images) -> list[tuple[str, ...]]:
    """What each image may be called by: its id, its file name, and that without folder and end."""
    return list(zip(map(str, images.id.tolist()), file_names(images), stems(images), strict=True))


def _absent(
    what: str, asked: Sequence[str] | None, there: Iterable[str], *, key: bool = False
) -> list[Finding]:
    """What was asked for by name and is not there."""
    if asked is None:
        return []
    plain = normal if key else str
    names = {plain(name): name for name in there}
    lost = [name for name in asked if plain(name) not in names]
    if not lost:
        return []
    from difflib import get_close_matches

    message = f"{len(lost)} of {len(asked)} {what} asked for are not there"
    near = get_close_matches(plain(lost[0]), names, 1) if key else []
    cause = f"a slip of the pen: {names[near[0]]!r} is there" if near else ""
    return [Finding("OS382", Level.WARNING, message, len(lost), lost[0], cause)]


def _nothing(message: str, absent: Sequence[Finding]) -> InputError:
    """That nothing is left, and what was asked for and is not there, which then is why."""
    cause = f"{absent[0].message}: {absent[0].cause}" if absent else ""
    fix = absent[0].fix if absent else ""
    return InputError([Finding("OS383", Level.ERROR, message, cause=cause, fix=fix), *absent])


def _with_labels(truth: Annotations, kept: Mask) -> Annotations:
    """Only some labels, and their objects."""
    if kept.all():
        return truth
    assert truth.category_id is not None
    here = truth.select(kept[truth.label])
    rows = np.flatnonzero(kept).tolist()
    return replace(
        here,
        labels=tuple(truth.labels[at] for at in rows),
        label=(np.cumsum(kept) - 1)[here.label],
        category_id=truth.category_id[rows],
        supercategory=tuple(truth.supercategory[at] for at in rows),
        role=tuple(truth.role[at] for at in rows),
    )
